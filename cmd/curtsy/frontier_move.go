package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/frontier/ndjson"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

type additions struct {
	seeds         string
	json, verbose bool
}

func newAdd(std cli.Streams) *cobra.Command {
	var o additions
	cmd := cli.Command("frontier add", cli.Flags{"seeds": &o.seeds, "verbose": &o.verbose, "json": &o.json})
	cmd.Args = dirFirst(0, -1)
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return add(ctx, args[0], args[1:], &o, std) })
	return cmd
}

func add(ctx context.Context, dir string, args []string, o *additions, std cli.Streams) (err error) {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	s, err := config.Of(dir)
	if err != nil {
		return err
	}
	std.In = cli.StdinUntil(ctx, std.In)
	seeds, err := config.OpenSeeds(args, o.seeds, o.verbose, std)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seeds.Close()) }()
	var sum frontier.Added
	running, err := operate(ctx, dir, func(to operated) error {
		for {
			batch, err := seeds.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = s.Check(batch)
			}
			if err != nil {
				return err
			}
			added, err := to.Add(ctx, batch)
			if err != nil {
				return err
			}
			sum.New += added.New
			sum.Known += added.Known
			sum.Capped += added.Capped
		}
	})
	if err == nil {
		err = seeds.Report(dir)
	}
	if err != nil {
		return err
	}
	if o.json {
		return cli.WriteJSON(std.Out, map[string]int64{
			"new": int64(sum.New), "known": int64(sum.Known), "duplicates": seeds.Twice, "bad_lines": seeds.Bad,
		})
	}
	if _, err := fmt.Fprintf(std.Out, "%s added, %d known before; the scope now includes them\n", plainly.Count(int64(sum.New), "seed"), sum.Known); err != nil {
		return err
	}
	goOn(std, dir, running)
	return nil
}

func newExport(std cli.Streams) *cobra.Command {
	var to string
	cmd := cli.Command("frontier export", cli.Flags{"output": &to})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return frontierExport(cmd.Context(), args[0], to, std) }
	return cmd
}

func frontierExport(ctx context.Context, dir, to string, std cli.Streams) error {
	if err := cli.MayWrite("--output", to, userfile.Kind{}); err != nil {
		return err
	}
	var ended ndjson.Ended
	err := cli.UntilSignal(ctx, func(ctx context.Context) error {
		return cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) (err error) {
			if to == "" {
				ended, err = exportTo(ctx, f, std.Out)
				return err
			}
			ended, err = exportFile(ctx, f, to)
			return err
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "exported: %s, %s, %s. The export holds the crawl's secret: keep it to yourself\n",
		plainly.Count(ended.Hosts, "host"), plainly.Count(ended.URLs, "URL"), plainly.Count(ended.Seeds, "seed"))
	return nil
}

func exportTo(ctx context.Context, f frontier.Stored, out io.Writer) (ndjson.Ended, error) {
	w := ndjson.NewWriter(out)
	if err := f.Export(ctx, w.Write); err != nil {
		return ndjson.Ended{}, err
	}
	return w.Close()
}

// exportFile writes a new file, whole and durable or not at all, that only the user can read.
func exportFile(ctx context.Context, f frontier.Stored, path string) (ended ndjson.Ended, err error) {
	if _, err := os.Lstat(path); err == nil {
		return ended, cli.Usagef("%s exists: name a new file with --output, or remove it first", path)
	}
	err = durable.New(path, func(w io.Writer) (err error) {
		ended, err = exportTo(ctx, f, w)
		return err
	})
	if err != nil {
		return ended, fmt.Errorf("export: %w", err)
	}
	return ended, nil
}

func newImport(std cli.Streams) *cobra.Command {
	var partial bool
	cmd := cli.Command("frontier import", cli.Flags{"partial": &partial})
	cmd.Args = dirFirst(1, 1)
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error {
		return importFrontier(ctx, args[0], args[1], partial, std)
	})
	return cmd
}

func importFrontier(ctx context.Context, dir, file string, partial bool, std cli.Streams) error {
	in, name := cli.StdinUntil(ctx, std.In), "standard input"
	if file != "-" {
		if fi, err := os.Stat(file); err == nil && fi.IsDir() {
			return cli.Usagef("import: %s is a folder, not an export: name a file that curtsy frontier export made", file)
		}
		f, err := userfile.Open(file)
		if err != nil {
			return cli.Usagef("import: %w", err)
		}
		defer f.Close()
		in, name = f, file
	}
	if err := mustTakeFrontier(dir); err != nil {
		return err
	}
	r := ndjson.NewReader(in)
	damages := int64(0)
	if partial {
		r.Damaged = func(e *ndjson.LineError) {
			damages++
			fmt.Fprintln(std.Err, plainly.OneLine(fmt.Sprintf("%s:%d: %v; ignored", name, e.Line, e.Err)))
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	err := engine.Import(dir, func() (frontier.Item, error) {
		if err := ctx.Err(); err != nil {
			return frontier.Item{}, err
		}
		return r.Next()
	})
	if err != nil {
		os.Remove(dir) // unless there is something in it
	}
	var line *ndjson.LineError
	switch {
	case errors.As(err, &line) && !partial:
		return fmt.Errorf("%s:%d: %w. Nothing was imported. Export or copy it again, or import the readable part with --partial", name, line.Line, line.Err)
	case err != nil:
		return fmt.Errorf("%s: %w. Nothing was imported", name, err)
	}
	if err := completeDir(dir); err != nil {
		return err
	}
	n := r.Counts()
	fmt.Fprintf(std.Out, "imported: %s, %s, %s\n", plainly.Count(n.Hosts, "host"), plainly.Count(n.URLs, "URL"), plainly.Count(n.Seeds, "seed"))
	if damages > 0 {
		fmt.Fprintf(std.Err, "%s of damage: the lines there are not in the frontier\n", plainly.Count(damages, "piece"))
	}
	goOn(std, dir, false)
	return nil
}

func mustTakeFrontier(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("crawl directory: %w", err)
	case !fi.IsDir():
		return crawldir.NotDirectory(dir)
	}
	if _, err := os.Lstat(filepath.Join(dir, crawldir.FrontierName)); err == nil {
		return cli.Usagef("%s has a frontier, which import does not replace: name another directory, or move %s away first", dir, filepath.Join(dir, crawldir.FrontierName))
	}
	return nil
}

// completeDir makes the folders and the settings that a crawl directory lacks.
func completeDir(dir string) error {
	for _, sub := range []string{crawldir.ArchiveName, crawldir.LedgerName} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, crawldir.ConfigName)); err == nil {
		return nil
	}
	s, err := config.New()
	if err != nil {
		return err
	}
	text, err := s.TOML()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(dir, crawldir.ConfigName), text, 0o666); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

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

// mayRepair refuses a running crawl, and removes the files that a killed repair left.
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

// frontierCheck returns the faults of a frontier.
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

func rebuildOnce(ctx context.Context, dir, beside string) (engine.Salvage, ledgerEnds, error) {
	salvage, lines, err := rebuildBeside(ctx, dir, beside, 0)
	if err != nil {
		return salvage, lines, err
	}
	// The outcomes of an earlier generation do not count. The frontier now has the beginning of this one.
	f, err := engine.OpenReadOnly(beside)
	if err != nil {
		return salvage, lines, err
	}
	st, err := f.Stats(ctx)
	g := budget.GenerationOf(st.Counts)
	if err = errors.Join(err, f.Close()); err != nil || g.Lines == 0 {
		return salvage, lines, err
	}
	if err := os.Remove(beside); err != nil {
		return salvage, lines, err
	}
	return rebuildBeside(ctx, dir, beside, g.Lines)
}

// rebuildBeside makes a frontier of a damaged one and of the ledger's lines after the first skip.
func rebuildBeside(ctx context.Context, dir, beside string, skip int64) (engine.Salvage, ledgerEnds, error) {
	next, stop := iter.Pull2(ledger.Read(filepath.Join(dir, crawldir.LedgerName)))
	defer stop()
	lines := ledgerEnds{next: next, skip: skip}
	salvage, err := engine.Rebuild(ctx, dir, beside, lines.read)
	return salvage, lines, err
}

// ledgerEnds reads the outcomes of URLs from a ledger.
type ledgerEnds struct {
	next func() (storage.Line, error, bool)
	skip int64 // lines
	err  error // the fault that ended the reading early
}

// read returns the next outcome. It stops at a damaged line of the ledger: the lines before it still help.
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
		if l.Decision == storage.DecisionRefuse { // never was a task; a crawl that finds it again refuses it again
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
