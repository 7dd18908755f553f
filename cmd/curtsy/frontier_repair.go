package main

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
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// repair is what the flags of frontier repair ask for.
type repair struct{ dry, compact, forget, quiet bool }

func newRepair(std cli.Streams) *cobra.Command {
	var o repair
	cmd := cli.Command("frontier repair", cli.Flags{"dry-run": &o.dry, "compact": &o.compact, "forget": &o.forget, "quiet": &o.quiet})
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return o.run(ctx, args[0], std) })
	return cmd
}

func (o *repair) run(ctx context.Context, dir string, std cli.Streams) error {
	if o.dry && (o.compact || o.forget) {
		return cli.Usagef("--dry-run only checks: use only one of --dry-run, --compact and --forget")
	}
	if !o.dry {
		if err := mayRepair(ctx, dir); err != nil {
			return err
		}
	}
	found, err := frontierCheck(ctx, dir, std)
	if err != nil {
		return err
	}
	to := std.Err
	if o.dry {
		to = std.Out
	}
	for _, f := range found {
		if _, err := fmt.Fprintln(to, plainly.OneLine(f)); err != nil {
			return err
		}
	}
	switch {
	case o.dry && len(found) > 0:
		fmt.Fprintf(std.Err, "The frontier is damaged. Keep a copy of %s; then curtsy frontier repair %s saves the readable part.\nIf it happens again, check the disk and the memory of this machine.\n",
			plainly.Lines(filepath.Join(dir, crawldir.FrontierName)), plainly.Lines(plainly.Argument(dir)))
		return cli.Silent(cli.ExitFound)
	case len(found) > 0:
		return rebuild(ctx, dir, o.quiet, std)
	case o.compact || o.forget:
		return o.compactFile(ctx, dir, std)
	}
	_, err = fmt.Fprintln(std.Out, "the frontier is in order")
	return err
}

// mayRepair refuses a crawl that runs, and removes what a repair that was killed left.
func mayRepair(ctx context.Context, dir string) error {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		return fmt.Errorf("the crawl in %s is running: frontier repair needs it stopped. Interrupt it (Ctrl-C, or a SIGTERM: it finishes its requests), run the command again, and continue with curtsy resume %s", dir, plainly.Argument(dir))
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, crawldir.RebuiltName)), crawldir.RemoveLeftOvers(dir)); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// frontierCheck returns what is wrong with a frontier.
func frontierCheck(ctx context.Context, dir string, std cli.Streams) (found []string, err error) {
	err = cli.FrontierFile(ctx, dir, func(_ context.Context, path string) error {
		found, err = engine.Check(path)
		if errors.Is(err, frontier.ErrDamaged) {
			found, err = append(found, plainly.Error(err)), nil
		}
		if err != nil {
			return cli.InUse(err, dir)
		}
		short, err := engine.CutShort(path)
		if short && len(found) == 0 {
			fmt.Fprintln(std.Err, "A commit is incomplete, as after a power failure: its changes are lost.")
		}
		return err
	})
	return found, err
}

func (o *repair) compactFile(ctx context.Context, dir string, std cli.Streams) error {
	var before, after int64
	err := progress.While(ctx, std.Err, o.quiet, progress.NewWork("compact", "record"), func(ctx context.Context) (err error) {
		before, after, err = engine.Compact(ctx, dir, o.forget)
		return err
	})
	if err != nil {
		return cli.InUse(err, dir)
	}
	_, err = fmt.Fprintf(std.Out, "%s before, %s after\n", plainly.RoughSize(before), plainly.RoughSize(after))
	return err
}

func rebuild(ctx context.Context, dir string, quiet bool, std cli.Streams) error {
	path := filepath.Join(dir, crawldir.FrontierName)
	beside := filepath.Join(dir, crawldir.RebuiltName)
	var salvage engine.Salvage
	var lines ledgerEnds
	err := progress.While(ctx, std.Err, quiet, progress.NewWork("repair", "page"), func(ctx context.Context) (err error) {
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
		return fmt.Errorf("repair: keep the earlier file: %w; the new one is %s", err, beside)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("repair: %w; the new frontier is %s, rename it to %s", err, beside, path)
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
	g, err := generationIn(ctx, beside)
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

// generationIn reads which generation the frontier at path is of.
func generationIn(ctx context.Context, path string) (budget.Generation, error) {
	f, err := engine.OpenReadOnly(path)
	if err != nil {
		return budget.Generation{}, err
	}
	st, err := f.Stats(ctx)
	return budget.GenerationOf(st.Counts), errors.Join(err, f.Close())
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
