package crawlcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// reachedNobody reports whether no connection to any host came about, so that nothing was asked of anybody: most often a
// name, a port or a scheme was mistyped. A host that asked another crawl to wait is there.
func reachedNobody(s crawler.Summary) bool {
	parked, retired := frontier.Parked.String(), frontier.Retired.String()
	return s.EndedBy == crawler.EndedWaiting && s.Status.Bytes == 0 && s.Status.Exchanges == 0 && len(s.Status.Resting) > 0 &&
		!slices.ContainsFunc(s.Status.Resting, func(r status.Resting) bool {
			return r.Condition != parked && r.Condition != retired || crawler.AskedAnother(r.Reason)
		})
}

// withdraw takes a directory away that this command made and that has no answer in it, so that the corrected command finds
// it free.
func withdraw(o *options, s crawler.Summary, std cli.Streams) error {
	entries, err := os.ReadDir(o.dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(o.dir, e.Name())))
	}
	if err == nil {
		_ = os.Remove(o.dir) // not where the user is, or what is mounted there
	}
	for i, r := range s.Status.Resting {
		if !o.quiet {
			break // each was said when it came to pass
		}
		if i == text.MaxShown {
			fmt.Fprintf(std.Err, "… and %s\n", plainly.Count(int64(len(s.Status.Resting)-i), "other"))
			break
		}
		fmt.Fprintf(std.Err, "%s: %s\n", plainly.OneLine(r.Host), plainly.OneLine(plainly.Reason(r.Reason)))
	}
	fmt.Fprintf(std.Err, "curtsy: no host was reached, and nothing is kept in %s: check the URLs and the network, then run the command again\n", plainly.Lines(o.dir))
	if o.json {
		err = errors.Join(err, cli.WriteJSON(std.Out, s))
	}
	return errors.Join(err, cli.Silent(cli.ExitIncomplete))
}
