package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/cdxj"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// newIndex makes indexes of archives.
func newIndex(std cli.Streams) *cobra.Command {
	var quiet bool
	cmd := cli.Command("warc index")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("warc index takes a crawl directory, or WARC files")
		}
		return nil
	}
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return index(ctx, args, quiet, std) })
	cli.QuietFlag(cmd.Flags(), &quiet)
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func index(ctx context.Context, args []string, quiet bool, std cli.Streams) error {
	dirs := 0
	for _, path := range args {
		fi, err := os.Stat(path)
		if err != nil {
			return cli.Usagef("warc index: %w", err)
		}
		if fi.IsDir() {
			dirs++
		}
	}
	switch {
	case dirs == 0:
		return printIndex(ctx, args, quiet, std)
	case len(args) > 1:
		return cli.Usagef("warc index takes one crawl directory, or WARC files")
	}
	return rebuildIndex(ctx, args[0], quiet, std)
}

// printIndex prints the index of files, and says how much of them has no place in it.
func printIndex(ctx context.Context, files []string, quiet bool, std cli.Streams) error {
	for _, path := range files {
		if err := userfile.Readable(path); err != nil {
			return err
		}
	}
	lost := 0
	err := progress.While(ctx, std.Err, quiet, progress.NewWork("index", "").Reads(1, files...), func(ctx context.Context) error {
		return cdxj.Index(ctx, std.Out, func(_ string, f warc.Finding) {
			if !f.Note() {
				lost++
			}
		}, files...)
	})
	if err == nil {
		sayWrong(std.Err, lost)
	}
	return err
}

// rebuildIndex makes the index of the stopped crawl in dir anew.
func rebuildIndex(ctx context.Context, dir string, quiet bool, std cli.Streams) (err error) {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		return fmt.Errorf("the crawl in %s is running, and keeps its index itself", dir)
	}
	options, err := config.FrontierOptions(dir)
	if err != nil {
		return err
	}
	later := errors.New("without an index nothing is archived; the next run reports and closes it")
	options.Tell = func(context.Context, frontier.Closings) error { return later }
	f, err := engine.Open(dir, options) // its lock is the directory's
	if err != nil {
		return cli.InUse(err, dir)
	}
	defer func() {
		if cerr := f.Close(); !errors.Is(cerr, later) {
			err = errors.Join(err, cerr)
		}
	}()
	archive := filepath.Join(dir, crawldir.ArchiveName)
	display := progress.New(std.Err, quiet, false)
	err = display.While(ctx, progress.NewWork("index", "").Reads(1, archive), func(ctx context.Context) error {
		return cdxj.Rebuild(ctx, archive, filepath.Join(dir, crawldir.IndexName), func(what string) {
			display.Tell("curtsy: %s; see curtsy warc check", what)
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "rebuilding %s\n", plainly.Lines(filepath.Join(dir, crawldir.IndexName)))
	return nil
}
