package frontiercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

func newCompact(std cli.Streams) *cobra.Command {
	var forget, quiet bool
	cmd := &cobra.Command{
		Use:     "compact [flags] DIR",
		Short:   "Make the frontier of a stopped crawl smaller",
		Long:    "Write the frontier of a stopped crawl anew without what no longer counts. The\nnew file takes the place of the old one in one step; until then both need room.",
		Example: "  curtsy frontier compact news\n  curtsy frontier compact --forget news",
		Args:    cli.OneDir,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if err := crawldir.Require(dir); err != nil {
				return err
			}
			if err := mustNotRun(cmd.Context(), dir, "compact"); err != nil {
				return err
			}
			var before, after int64
			err := cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return progress.While(ctx, std.Err, quiet, progress.NewWork("compact", "record"), func(ctx context.Context) (err error) {
					before, after, err = engine.Compact(ctx, dir, forget)
					return err
				})
			})
			if err != nil {
				return cli.InUse(err, dir)
			}
			_, err = fmt.Fprintf(std.Out, "%s before, %s after\n", text.RoughSize(before), text.RoughSize(after))
			return err
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "also forget the texts of URLs that were fetched or redirected, where no others stand among them: they are not fetched again, but ls and export no longer name them")
	cli.Group(cmd.Flags(), "What to drop")
	cli.QuietFlag(cmd.Flags(), &quiet)
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func newCheck(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "check DIR",
		Short:   "Say what is wrong with a frontier, if anything is",
		Long:    "Read the whole frontier and say what is wrong with it: its pages, and what must\nhold between its parts. Nothing is changed. Exit code 3 says that something is\nwrong. Of a running crawl a snapshot is checked.",
		Example: "  curtsy frontier check news",
		Args:    cli.OneDir,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			return cli.FrontierFile(cmd.Context(), dir, func(_ context.Context, path string) error {
				found, err := engine.Check(path)
				if errors.Is(err, frontier.ErrDamaged) {
					found, err = append(found, plainly.Error(err)), nil
				}
				if err != nil {
					return cli.InUse(err, dir)
				}
				short, err := engine.CutShort(path)
				if err != nil {
					return err
				}
				if short && len(found) == 0 {
					fmt.Fprintln(std.Err, "A commit was cut short, as by a power cut: what it was about to say is not there.")
				}
				return checked(found, dir, std)
			})
		},
	}
}

// checked reports findings.
func checked(found []string, dir string, std cli.Streams) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(std.Out, "the frontier is in order")
		return err
	}
	for _, f := range found {
		if _, err := fmt.Fprintln(std.Out, plainly.OneLine(f)); err != nil {
			return err
		}
	}
	fmt.Fprintf(std.Err, "The frontier is damaged. Keep a copy of %s; then curtsy frontier rebuild %s saves what is readable.\nIf it happens again, look at the disk and the memory of this machine.\n",
		plainly.Lines(filepath.Join(dir, crawldir.FrontierName)), plainly.Lines(plainly.Argument(dir)))
	return cli.Silent(cli.ExitFound)
}

func newRebuild(std cli.Streams) *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "rebuild [flags] DIR",
		Short: "Save what is readable of a damaged frontier",
		Long: "Make a new frontier of what is readable of a damaged one, and of the ledger,\n" +
			"which says how URLs ended. The earlier file is kept under another name. What\n" +
			"was fetched and is not known to be so any more is fetched again.",
		Example: "  curtsy frontier rebuild news",
		Args:    cli.OneDir,
		RunE:    cli.Interruptible(func(ctx context.Context, args []string) error { return rebuild(ctx, args[0], quiet, std) }),
	}
	cli.QuietFlag(cmd.Flags(), &quiet)
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func rebuild(ctx context.Context, dir string, quiet bool, std cli.Streams) error {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	if err := mustNotRun(ctx, dir, "rebuild"); err != nil {
		return err
	}
	path := filepath.Join(dir, crawldir.FrontierName)
	beside := filepath.Join(dir, crawldir.RebuiltName)
	if err := errors.Join(os.RemoveAll(beside), crawldir.RemoveLeftOvers(dir)); err != nil { // of a rebuild that was killed
		return fmt.Errorf("crawl directory: %w", err)
	}
	var salvage engine.Salvage
	var lines ledgerEnds
	err := progress.While(ctx, std.Err, quiet, progress.NewWork("rebuild", "page"), func(ctx context.Context) (err error) {
		salvage, lines, err = rebuildOnce(ctx, dir, beside)
		return err
	})
	if err != nil {
		if errors.Is(err, frontier.ErrInUse) {
			return cli.InUse(err, dir)
		}
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	kept := path + ".damaged-" + time.Now().UTC().Format("20060102T150405Z")
	if err := os.Rename(path, kept); err != nil {
		return fmt.Errorf("rebuild: keep the earlier file: %w; the new one is %s", err, beside)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("rebuild: %w; the new frontier is %s, rename it to %s", err, beside, path)
	}
	if err := durable.Names(dir); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, salvage)
	if lines.err != nil {
		fmt.Fprintf(std.Err, "the ledger is readable up to a fault only: %v\n", plainly.Lines(plainly.Error(lines.err)))
	}
	fmt.Fprintf(std.Err, "the earlier file is kept as %s\n", plainly.Lines(kept))
	goOn(std, dir, false)
	return nil
}

// rebuildOnce makes a frontier beside the damaged one.
func rebuildOnce(ctx context.Context, dir, beside string) (engine.Salvage, ledgerEnds, error) {
	salvage, lines, err := rebuildBeside(ctx, dir, beside, 0)
	if err != nil {
		return salvage, lines, err
	}
	// The endings of an earlier generation say nothing of this one. Which it is, is known when it was read once.
	g, err := GenerationIn(ctx, beside)
	if err != nil || g.Lines == 0 {
		return salvage, lines, err
	}
	if err := os.Remove(beside); err != nil {
		return salvage, lines, err
	}
	return rebuildBeside(ctx, dir, beside, g.Lines)
}

// rebuildBeside makes a frontier of a damaged one and of the ledger's lines but the first skip.
func rebuildBeside(ctx context.Context, dir, beside string, skip int64) (engine.Salvage, ledgerEnds, error) {
	next, stop := iter.Pull2(ledger.Read(filepath.Join(dir, crawldir.LedgerName)))
	defer stop()
	lines := ledgerEnds{next: next, skip: skip}
	salvage, err := engine.Rebuild(ctx, dir, beside, lines.read)
	return salvage, lines, err
}

// GenerationIn reads which generation the frontier at path is of.
func GenerationIn(ctx context.Context, path string) (totals.Generation, error) {
	f, err := engine.OpenReadOnly(path)
	if err != nil {
		return totals.Generation{}, err
	}
	st, err := f.Stats(ctx)
	return totals.GenerationOf(st.Counts), errors.Join(err, f.Close())
}

// ledgerEnds reads how URLs ended from a ledger.
type ledgerEnds struct {
	next func() (storage.Line, error, bool)
	skip int64 // lines to pass over yet
	err  error // what ended the reading before the end
}

// read returns the next ending. A ledger that is damaged itself ends there: what stands before helps all the same.
func (e *ledgerEnds) read() (engine.Ended, error) {
	for {
		l, err, ok := e.next()
		if err != nil {
			e.err = err
		}
		if err != nil || !ok {
			return engine.Ended{}, io.EOF
		}
		if e.skip > 0 {
			e.skip--
			continue
		}
		if l.Decision == storage.DecisionRefuse { // never was a task; found again it is refused again
			continue
		}
		u, err := canon.Parse(l.URL)
		if err != nil {
			continue
		}
		for o := frontier.Fetched; o <= frontier.Held; o++ {
			if o.String() == string(l.Outcome) {
				return engine.Ended{URL: u, Outcome: o, Reason: l.Reason}, nil
			}
		}
	}
}
