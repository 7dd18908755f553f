package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
	"curtsy/storage/wacz"
)

// formatWACZ is the format that packs a crawl into one file.
const formatWACZ = "wacz"

// pack packs a stopped crawl into one WACZ file: the archive with its index, a list of its pages, the ledger, and the
// report and the audit if they are there.
func pack(ctx context.Context, dirs []string, o exportOptions, std cli.Streams) error {
	switch {
	case len(dirs) > 1:
		return cli.Usagef("--format wacz takes one crawl directory")
	case o.graph != "" || len(o.tables) > 0 || o.headers || o.overwrite:
		return cli.Usagef("--graph, --tables, --headers and --overwrite are not for --format wacz")
	}
	dir := dirs[0]
	if o.out == "" {
		o.out = strings.TrimSuffix(o.folder(dirs), "-tables") + ".wacz"
	}
	if !strings.HasSuffix(o.out, ".wacz") { // players go by it, and so the specification says
		return cli.Usagef("--output %s: the name of a WACZ file ends in .wacz", o.out)
	}
	if err := cli.MayWrite("--output", o.out, userfile.Kind{}); err != nil {
		return err
	}
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	if err := crawldir.RequireWhole(dir); err != nil {
		return err
	}
	if err := mendKilled(ctx, dir, std); err != nil {
		return err
	}
	return cli.WhileStopped(ctx, dir, func(f frontier.Stored) error { return packStopped(ctx, f, dir, o, std) })
}

func packStopped(ctx context.Context, f frontier.Reader, dir string, o exportOptions, std cli.Streams) error {
	if err := completeSegment(ctx, dir, std); err != nil {
		return err
	}
	parts, err := partsOf(dir)
	if err != nil {
		return err
	}
	stats, err := f.Stats(ctx)
	if err != nil {
		return err
	}
	if n := stats.Queued + stats.InFlight + stats.Deferred; n > 0 {
		parts.LeftOut = append(parts.LeftOut, fmt.Sprintf("The crawl is not finished: %s still to go.", plainly.Count(n, "URL")))
	}
	key, rotations, err := packKey()
	if err != nil {
		return err
	}
	index, err := crawldir.IndexFiles(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	for _, path := range index {
		if err := cdxj.Sound(path); err != nil && !errors.Is(err, cdxj.ErrEmpty) { // one that has too few lines is found out later
			return fmt.Errorf("%w; rebuild it with curtsy warc index %s", err, plainly.Argument(dir))
		}
	}
	parts.Index = func(w io.Writer) error { return cdxj.Merge(w, index...) }
	parts.Lines = ledger.Read(filepath.Join(dir, crawldir.LedgerName))
	parts.Title, parts.Description = o.title, o.about
	parts.Software, parts.Version, parts.Key = "curtsy", crawldir.Version, key
	parts.Rotations = rotations
	var r wacz.Result
	err = progress.While(ctx, std.Err, o.quiet, progress.NewWork("pack", "").Reads(2, parts.Segments...), func(ctx context.Context) (err error) {
		r, err = wacz.Create(ctx, o.out, parts)
		return err
	})
	if errors.Is(err, wacz.ErrExists) {
		return cli.Usagef("%s exists: name a new file with --output, or remove it first", o.out)
	}
	if errors.Is(err, wacz.ErrIndex) {
		return fmt.Errorf("%w; rebuild it with curtsy warc index %s", err, plainly.Argument(dir))
	}
	if err != nil {
		return err
	}
	for _, s := range parts.LeftOut {
		fmt.Fprintf(std.Err, "note: %s\n", plainly.Lines(s))
	}
	if r.NoArchive > 0 {
		fmt.Fprintf(std.Err, "left out, because their pages have noarchive: %s\n", plainly.Count(r.NoArchive, "record"))
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(std.Err, "note: %s of an earlier archive, which is not in the file: players need it as well\n", plainly.Count(r.Elsewhere, "repeat"))
	}
	if key == nil {
		fmt.Fprintf(std.Err, "not signed: no ledger key in the configuration folder\n")
	}
	fmt.Fprintf(std.Err, "packed %s, %s, %s of archive: %s\nits manifest has the hash %s\n",
		plainly.Count(r.Pages, "page"), plainly.Count(r.Records, "answer"), plainly.RoughSize(r.Octets), plainly.Lines(o.out), r.Hash)
	return nil
}

// partsOf finds what of a crawl directory is packed, and what is not.
func partsOf(dir string) (o wacz.Options, err error) {
	archive, err := os.ReadDir(filepath.Join(dir, crawldir.ArchiveName))
	if err != nil {
		return o, fmt.Errorf("pack: %w", err)
	}
	for _, e := range archive {
		path := filepath.Join(dir, crawldir.ArchiveName, e.Name())
		switch name := e.Name(); {
		case strings.HasSuffix(name, ".warc.gz"):
			o.Segments = append(o.Segments, path)
		case strings.HasSuffix(name, ".cut"):
			o.LeftOut = append(o.LeftOut, fmt.Sprintf("The damaged tail %s is not packed.", name))
		}
	}
	if len(o.Segments) == 0 {
		return o, fmt.Errorf("there is nothing to pack in %s: no segment is complete; begin or complete one with curtsy resume %s", filepath.Join(dir, crawldir.ArchiveName), plainly.Argument(dir))
	}
	// Numbers have five digits, or more: the shorter name is the earlier segment.
	slices.SortStableFunc(o.Segments, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	if o.Files, err = ledgerParts(filepath.Join(dir, crawldir.LedgerName)); err != nil {
		return o, err
	}
	for _, name := range []string{"report.html", "report.json", "audit.json"} {
		switch _, err := os.Lstat(filepath.Join(dir, name)); {
		case err == nil:
			o.Files = append(o.Files, wacz.File{Name: "report/" + name, Path: filepath.Join(dir, name)})
		case !errors.Is(err, fs.ErrNotExist):
			return o, fmt.Errorf("pack: %w", err)
		}
	}
	return o, nil
}
