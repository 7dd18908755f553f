package crawlcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// NewUpdate crawls anew what was crawled before.
func NewUpdate(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	var o options
	cmd := cli.Command("update")
	cmd.Long += "\n\n" + inherits
	config.Flags(&s, cmd.Flags())
	o.flags(cmd.Flags())
	cli.Often(cmd.Flags(), "vanished")
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		o.dir = args[0]
		return update(cmd.Context(), cmd.Flags(), &s, &o, std)
	})
	return cmd
}

func update(ctx context.Context, flags *pflag.FlagSet, s *crawldir.Settings, o *options, std cli.Streams) error {
	if err := prepareResume("update", flags, s, o, std); err != nil {
		return err
	}
	if err := crawldir.Opens(s, time.Now()); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, o.dir); err == nil {
		return fmt.Errorf("the crawl in %s is running: it can be updated when it has ended; see curtsy status %s", o.dir, plainly.Argument(o.dir))
	}
	if err := o.page.Listen(ctx); err != nil {
		return err
	}
	defer o.page.End()
	was, err := config.Of(o.dir)
	if err != nil {
		return err
	}
	var g budget.Generation
	err = cli.UntilSignal(ctx, func(ctx context.Context) (err error) {
		g, err = crawldir.Update(ctx, o.dir, was, s)
		return err
	})
	if err != nil {
		return cli.InUse(err, o.dir)
	}
	o.generation, o.again = g.Number, true
	return runCrawl(ctx, s, o, World{}, std)
}

// changesText is the table for people.
func changesText(c *crawldir.Changes) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nURLs since the previous generation\n")
	for _, r := range []struct{ word, name string }{
		{string(storage.ChangeNew), "new"}, {string(storage.ChangeChanged), "changed"}, {string(storage.ChangeUnchanged), "unchanged (304 or same content)"},
		{string(storage.ChangeFresh), "fresh, no request"}, {string(storage.ChangeGone), "gone (404, 410)"}, {crawldir.Unknown, "not known now"}, {crawldir.OptedOut, "opted out"},
		{crawldir.Unlinked, "no longer linked"},
	} {
		n, known := c.Counts[r.word]
		switch {
		case r.word == crawldir.OptedOut && n == 0:
		case known:
			fmt.Fprintf(&b, "  %-32s %d\n", r.name, n)
		default:
			fmt.Fprintf(&b, "  %-32s not known before the update is finished\n", r.name)
		}
	}
	fmt.Fprintf(&b, "changes  %s\n", plainly.OneLine(filepath.Clean(c.File)))
	return b.String()
}
