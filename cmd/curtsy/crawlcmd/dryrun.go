package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// dryRun asks the seeds' hosts for robots.txt, in a directory that is thrown away, and shows what they say. A host
// whose robots.txt cannot be had is asked once.
func dryRun(ctx context.Context, s *crawldir.Settings, o *options, seeds []frontier.Candidate, std cli.Streams) (err error) {
	tmp, err := os.MkdirTemp("", "curtsy-dry-run-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	o.dir = filepath.Join(tmp, "crawl")
	s.MaxWait = 2 * time.Second
	if err := crawldir.Create(ctx, o.dir, s, crawldir.Given(seeds)); err != nil {
		return err
	}
	display := progress.New(std.Err, o.quiet, o.dryRun)
	result, sig, err := runIn(ctx, s, o, World{}, display)
	display.Finish()
	switch {
	case err != nil:
		return err
	case sig != nil:
		return cli.Interrupted(sig)
	case o.json:
		return cli.WriteJSON(std.Out, result.Answers)
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tSEEDS\tPACE\tROBOTS.TXT")
	for _, a := range result.Answers {
		fmt.Fprintf(table, "%s\t%d\t%v\t%s\n", plainly.OneLine(a.Host), a.Seeds, a.Pace, plainly.OneLine(a.Robots))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	least, address := status.SeedsTake(result.Answers, s.IPDelay)
	why := ""
	if address != "" {
		why = fmt.Sprintf(", since the %s share one exchange in %v", address, plainly.Duration(s.IPDelay))
	}
	_, err = fmt.Fprintf(std.Out, "\nAbout %v for the %s alone%s; what they link to is not known yet.\n",
		least.Round(time.Second), plainly.Count(int64(len(seeds)), "seed"), why)
	return err
}
