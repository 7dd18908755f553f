package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// openSegment is the name of the segment that a kill left open; "" for none.
func openSegment(dir string) (string, error) {
	open, err := crawldir.Entries(filepath.Join(dir, crawldir.ArchiveName), "", ".warc.gz.open")
	if err != nil || len(open) == 0 {
		return "", err
	}
	return filepath.Base(open[len(open)-1]), nil
}

// mendKilled completes the segment that a kill left open as resume does, and has the ledger know it. Where that cannot be
// done, the segment is left to completeSegment, and the ledger to the next run.
func mendKilled(ctx context.Context, dir string, std cli.Streams) error {
	open, err := openSegment(dir)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if _, asked := control.Connect(ctx, dir); open == "" || asked == nil {
		return nil
	}
	settings, err := config.Of(dir)
	if err != nil {
		return err
	}
	f, err := crawldir.OpenStopped(ctx, dir, settings)
	switch {
	case errors.Is(err, frontier.ErrInUse):
		return nil // whoever packs is told
	case err == nil:
		err = f.MayMark()
		if err == nil {
			err = f.Mend(ctx, func(n crawldir.Note) { sayTo(std, "%s", cli.Note(n, dir)) })
		}
		err = errors.Join(err, f.Close())
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		sayTo(std, "note: the ledger has no entry for a file that a kill left open, since it cannot be written: %v; curtsy resume %s adds it",
			err, plainly.Argument(dir))
	default:
		sayTo(std, "%s, which a kill left open, is completed, and the ledger has a mark of it", open)
	}
	return nil
}

func sayTo(std cli.Streams, format string, args ...any) {
	fmt.Fprintf(std.Err, "%s\n", plainly.Lines(fmt.Sprintf(format, args...)))
}

// completeSegment completes the segment that a kill left open, as resume does: the ledger tells of what is in it, and a
// package with the one and without the other would be audited as forged. The frontier is held, so no crawl runs meanwhile.
func completeSegment(ctx context.Context, dir string, std cli.Streams) error {
	open, err := openSegment(dir)
	if err != nil || open == "" {
		return err
	}
	index, err := crawldir.OpenIndex(ctx, dir, nil, func(n crawldir.Note) { sayTo(std, "%s", cli.Note(n, dir)) })
	if err != nil {
		return err
	}
	archive, err := warc.Open(warc.Options{Dir: filepath.Join(dir, crawldir.ArchiveName), Name: "curtsy", Info: warc.Info{Software: "curtsy/" + crawldir.Version}, Index: index, Originals: index})
	if err != nil {
		return errors.Join(err, index.Close())
	}
	sayTo(std, "%s, which a kill left open, is completed", open)
	if file, n := archive.Cut(); n > 0 {
		sayTo(std, "%s: a kill left it incomplete; %d bytes of an unfinished record were cut off", file, n)
	}
	return errors.Join(archive.Close(), index.Close())
}
