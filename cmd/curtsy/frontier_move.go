package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/frontier/ndjson"
	"curtsy/storage/plainly"
)

// additions are the flags of frontier add.
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

// exportFile writes a new file, whole and durable or not at all, that others cannot read.
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

// mustTakeFrontier refuses a directory that has a frontier.
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

// completeDir makes what a crawl directory lacks beside its frontier.
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
