package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/plainly"
)

// leave says where a demo that named no directory has left its crawl, and how to look at it and remove it. Whoever asked
// for the verdict only is left nothing, unless there is something to look into.
func leave(o *options, well bool, std cli.Streams) error {
	if o.quiet && well {
		return os.RemoveAll(o.dir)
	}
	dir := plainly.Lines(plainly.Argument(o.dir))
	_, err := fmt.Fprintf(std.Err, "\nThe crawl is in %[1]s. Inspect it, then remove it:\n"+
		"  curtsy audit %[1]s\n  curtsy report %[1]s\n  rm -r %[1]s\n", dir)
	return err
}

// demoSeed makes the demo's web the same everywhere.
const demoSeed = 1

// demoWait is how long the demo waits for hosts that rest: long enough for a Retry-After of seconds, not for the host
// whose robots.txt is out of order.
const demoWait = 5 * time.Second

func NewDemo(std cli.Streams) *cobra.Command {
	var o options
	cmd := cli.Command("demo")
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, _ []string, std cli.Streams) error { return demo(cmd.Context(), &o, std) })
	cmd.Flags().StringVar(&o.dir, "dir", "", "`DIR` directory for the crawl (default: a temporary one, which --quiet removes)")
	o.pageFlag(cmd.Flags())
	o.logFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print the verdict only")
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func demo(ctx context.Context, o *options, std cli.Streams) (err error) {
	if err := o.page.Listen(ctx); err != nil {
		return err
	}
	defer o.page.End()
	web := crawltest.Demo(demoSeed)
	if err := web.Start(); err != nil {
		return fmt.Errorf("the demo's web: %w", err)
	}
	defer web.Close()
	s := crawldir.Defaults()
	s.OwnSite, s.MaxWait = []string{crawldir.OwnNone}, demoWait
	s.AllowNet = []string{web.Net().String()}
	seeds, err := crawldir.SeedURLs(web.Seeds()...)
	if err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "curtsy-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, leave(o, err == nil, std)) }()
	}
	if err := crawldir.CreateUnchecked(ctx, o.dir, &s, seeds); err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(std.Err, "Crawling %d hosts of a small web on loopback, at most one request per second to each.\n", len(web.Hosts()))
	}
	err = runCrawl(ctx, &s, o, World{Resolve: web.Resolve, Dial: web.Dial}, std)
	var e *cli.Error
	if err != nil && !(errors.As(err, &e) && e.Code == cli.ExitIncomplete) {
		return err // the demo has a host that is out of order: incomplete is how it ends
	}
	verdict := web.Referee().Judge(crawltest.Rules{Token: s.Agent, Pace: crawler.Floor})
	fmt.Fprintln(std.Out, "\nResult, as the servers measured it:")
	if err := verdict.WriteTable(std.Out); err != nil {
		return err
	}
	if !verdict.OK() {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}
