package evidencecmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text/changestext"
	"curtsy/crawler/changes"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/export"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

type diffOptions struct {
	from, to    int64
	html        string
	json, found bool
	quiet       bool
}

// Diff is curtsy diff.
func Diff(std cli.Streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] DIR",
		Short: "Compare two generations of a crawl",
		Long: "Compare two generations of a crawl, which are the crawl itself and each update\n" +
			"of it: which pages are new, changed, moved or gone, with a diff of their texts.\n" +
			"Only ledger and archive are read: nobody is asked for anything, and the crawl\n" +
			"may be running. A page whose text is the same is told apart from one that says\n" +
			"something else, and so is one that changed around its main text alone.\n" +
			"Exit code 0, whatever changed; with --exit-code 3 where something did.",
		Example: "  curtsy diff news\n  curtsy diff --from 1 --to 4 --html changes.html news",
		Args:    cli.OneDir,
	}
	flags := cmd.Flags()
	flags.Int64Var(&o.from, "from", 0, "the older generation: `N`, from 1 (default: the one before the newer)")
	flags.Int64Var(&o.to, "to", 0, "the newer generation: `N` (default: the last)")
	flags.StringVar(&o.html, "html", "", "also write a page for people to `FILE`")
	flags.BoolVar(&o.found, "exit-code", false, "end with exit code 3 where a page is new, gone, or says\nsomething else")
	cli.QuietFlag(flags, &o.quiet)
	cli.JSONFlag(cmd, &o.json, "print one JSON object")
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

func (o *diffOptions) run(ctx context.Context, dir string, std cli.Streams) error {
	if err := cli.MayWrite("--html", o.html, userfile.Kind{Name: "a page of changes", Mark: changestext.PageMark}); err != nil {
		return err
	}
	if err := mustHoldLedger(dir); err != nil {
		return err
	}
	_, err := control.Connect(ctx, dir)
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		return err
	}
	options := changes.Options{From: o.from, To: o.to, Running: err == nil}
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
	case errors.Is(err, export.ErrNoIndex):
		return err
	case err != nil:
		return err
	}
	if o.html != "" {
		if err := durable.Output(o.html, func(w io.Writer) error { return changestext.WritePage(w, r) }); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if o.json {
		err = cli.WriteJSON(std.Out, r)
	} else {
		_, err = io.WriteString(std.Out, changestext.Text(r))
	}
	if err == nil && o.found && r.Says() {
		return cli.Silent(cli.ExitFound)
	}
	return err
}
