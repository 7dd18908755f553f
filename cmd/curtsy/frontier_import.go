package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

func newImport(std cli.Streams) *cobra.Command {
	var partial bool
	cmd := cli.Command("frontier import")
	cmd.Args = dirFirst(1, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
			return importFrontier(ctx, args[0], args[1], partial, std)
		})
	}
	cmd.Flags().BoolVar(&partial, "partial", false, "import the readable part of a damaged export, and list each damaged line")
	cli.Group(cmd.Flags(), "Damage")
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
	var s crawldir.Settings
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	config.Flags(&s, flags)
	if err := config.Resolve(&s, flags, "", ""); err != nil {
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
