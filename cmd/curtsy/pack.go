package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
	"curtsy/storage/wacz"
	"curtsy/storage/warc"
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
	parts.Index = cdxj.Sorted(ctx, filepath.Dir(o.out), index...)
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

// packKey is the key of the user's ledgers, with the notes that led to it, or nil when there is none: a crawl makes it,
// and what was crawled elsewhere is not signed by a key that its ledger does not have.
func packKey() (key ed25519.PrivateKey, rotations [][]byte, err error) {
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		return nil, nil, err
	}
	seed, err := crawldir.LedgerKey.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	signer, err := checkpoint.NewSigner(seed)
	if err != nil {
		return nil, nil, err
	}
	all, err := crawldir.Rotations(path, signer.Key())
	for _, r := range all {
		rotations = append(rotations, r.Note)
	}
	return ed25519.NewKeyFromSeed(seed), rotations, err
}

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
	index, err := crawldir.OpenIndex(ctx, dir, nil, nil, func(n crawldir.Note) { sayTo(std, "%s", cli.Note(n, dir)) })
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

// ledgerParts are the files of a ledger that are packed: its lines, its checkpoints with what others said of them, the
// tiles that proofs are made of, and the map of hosts.
func ledgerParts(dir string) (parts []wacz.File, err error) {
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if name = filepath.ToSlash(name); err == nil && isLedgerPart(name) {
			parts = append(parts, wacz.File{Name: path.Join("ledger", name), Path: file})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return parts, nil
}

// tileFolder is where a ledger has its tiles (docs/reference/ledger.md).
const tileFolder = "tile"

// isLedgerPart reports whether a file below the folder of a ledger is one of it, and no half-written one.
func isLedgerPart(name string) bool {
	folder, _, below := strings.Cut(name, "/")
	switch {
	case below:
		return (folder == tileFolder || folder == ledger.CheckpointFolder) && !strings.HasSuffix(name, ".new")
	case name == ledger.CheckpointName:
		return true
	}
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".jsonl.zst")
}
