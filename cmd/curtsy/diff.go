package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/changes"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage/htmlpage"
	"curtsy/storage/plainly"
)

type diffOptions struct {
	from, to    int64
	html        string
	json, found bool
	quiet       bool
}

func diffCommand(std cli.Streams) *cobra.Command {
	var o diffOptions
	cmd := cli.Command("diff", cli.Flags{"from": &o.from, "to": &o.to, "html": &o.html, "exit-code": &o.found, "quiet": &o.quiet, "json": &o.json})
	flags := cmd.Flags()
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error {
		for name, n := range map[string]int64{"from": o.from, "to": o.to} {
			if flags.Lookup(name).Changed && n < 1 {
				return cli.Usagef("--%s %d: generations are counted from 1", name, n)
			}
		}
		return o.run(ctx, args[0], std)
	})
	return cmd
}

// optedOut returns whether the opt-out lists of a crawl name a URL.
func optedOut(dir string) (func(canon.URL) bool, error) {
	s, err := config.Of(dir)
	if err != nil {
		return nil, err
	}
	if err := s.OpenLists(dir, nil); err != nil {
		return nil, err
	}
	return func(u canon.URL) bool { return s.Lists().URL(u) != nil }, nil
}

func (o *diffOptions) run(ctx context.Context, dir string, std cli.Streams) error {
	if err := cli.MayWrite("--html", o.html, userfile.Kind{Name: "a page of changes", Mark: htmlpage.Mark("curtsy changes")}); err != nil {
		return err
	}
	if err := mustHold(dir, crawldir.LedgerName); err != nil {
		return err
	}
	_, err := control.Connect(ctx, dir)
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		return err
	}
	options := changes.Options{From: o.from, To: o.to, Running: err == nil}
	if options.OptedOut, err = optedOut(dir); err != nil {
		fmt.Fprintf(std.Err, "pages that an opt-out list names count as no longer linked: %s\n", plainly.OneLine(err.Error()))
	}
	var r *changes.Result
	err = progress.While(ctx, std.Err, o.quiet, progress.NewWork("diff", "text"), func(ctx context.Context) (err error) {
		r, err = changes.Compare(ctx, dir, options)
		return err
	})
	shown := plainly.Argument(dir)
	switch {
	case errors.Is(err, changes.ErrOne):
		return fmt.Errorf("the crawl in %s was made once, and there is nothing to compare it with: crawl it again with curtsy update %s", dir, shown)
	case errors.Is(err, changes.ErrGeneration):
		return cli.Usagef("%w", err)
	case err != nil:
		return err
	}
	if o.html != "" {
		if err := durable.Output(o.html, func(w io.Writer) error { return text.WriteChangesPage(w, r) }); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if o.json {
		err = cli.WriteJSON(std.Out, r)
	} else {
		_, err = io.WriteString(std.Out, text.Changes(r))
	}
	if err == nil && o.found && r.Says() {
		return cli.Silent(cli.ExitFound)
	}
	return err
}
