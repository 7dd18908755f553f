package evidencecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// completeSegment completes the segment that a kill left open, as resume does: the ledger tells of what is in it, and a
// package with the one and without the other would be audited as forged. The frontier is held, so no crawl runs meanwhile.
func completeSegment(ctx context.Context, dir string, std cli.Streams) error {
	entries, err := os.ReadDir(filepath.Join(dir, crawldir.ArchiveName))
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	open := ""
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".warc.gz.open") {
			open = e.Name()
		}
	}
	if open == "" {
		return nil
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(std.Err, "%s\n", plainly.Lines(fmt.Sprintf(format, args...)))
	}
	index, err := crawldir.OpenIndex(ctx, dir, nil, func(n crawldir.Note) { say("%s", cli.Note(n, dir)) })
	if err != nil {
		return err
	}
	archive, err := warc.Open(warc.Options{Dir: filepath.Join(dir, crawldir.ArchiveName), Name: "curtsy", Info: warc.Info{Software: "curtsy/" + crawldir.Version}, Index: index, Originals: index})
	if err != nil {
		return errors.Join(err, index.Close())
	}
	say("%s, which a kill left open, is completed", open)
	if file, n := archive.Cut(); n > 0 {
		say("%s: the kill tore its end; %d octets of an unfinished record were cut off", file, n)
	}
	return errors.Join(archive.Close(), index.Close())
}
