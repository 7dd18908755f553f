package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
	"curtsy/storage/redact"
)

// carryOut does what a journal says, in a directory that release unlocks: what is derived from archive and ledger is
// made by commands that hold the directory themselves.
func carryOut(ctx context.Context, dir string, f crawldir.Stopped, release func() error, j *redact.Journal, std cli.Streams) error {
	say := func(n crawldir.Note) { fmt.Fprintln(std.Err, plainly.Lines(cli.Note(n, dir))) }
	h := redact.Hands{
		Ledger: func() (*ledger.Writer, error) { return f.Ledger(say) },
		After:  []redact.Step{{Name: "release", Where: crawldir.FrontierName, Do: func(context.Context) error { return release() }}},
	}
	if j.OptOut != "" {
		h.Before = append(h.Before, redact.Step{Name: "add to", Where: crawldir.OptOutName, Do: func(context.Context) error {
			_, err := optout.Append(filepath.Join(dir, crawldir.OptOutName), []string{j.OptOut}, j.Reason)
			return err
		}})
	}
	h.Before = append(h.Before, redact.Step{Name: "keep delays in", Where: crawldir.FrontierName, Do: func(ctx context.Context) error {
		return f.KeepRests(ctx, j.Hosts) // before the lines go that say them
	}})
	derive := func(name, where, note string, do func(ctx context.Context) error) {
		h.After = append(h.After, redact.Step{Name: name, Where: where, Do: func(ctx context.Context) error {
			fmt.Fprintln(std.Err, note)
			return do(ctx)
		}})
	}
	if slices.Contains(j.Made, "mirror") {
		derive("rebuild", "mirror", "rebuilding the mirror", func(ctx context.Context) error { return crawlcmd.Again(ctx, dir) })
	}
	if slices.Contains(j.Made, "report.json") {
		derive("rewrite", "report.json", "rewriting the report", func(ctx context.Context) error {
			return runWithout(ctx, report(quiet(std)), dir)
		})
	}
	for _, path := range j.Packed {
		derive("pack", path, fmt.Sprintf("packing %s again", plainly.OneLine(path)), func(ctx context.Context) error {
			return packAgain(ctx, dir, path, std)
		})
	}
	if err := j.Finish(ctx, dir, h); err != nil {
		return fmt.Errorf("%w\nThe redaction in %s is not finished: curtsy audit, resume or redact finishes it first", err, dir)
	}
	return nil
}

// quiet are streams on which nobody hears anything.
func quiet(std cli.Streams) cli.Streams {
	std.Out, std.Err = io.Discard, io.Discard
	return std
}

// maxManifest bounds what is read of a manifest, in bytes.
const maxManifest = 64 << 20

// manifest is what of the manifest of a packed file is kept.
type manifest struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

// packAgain packs a crawl into the file that had it, which keeps its title. One that is gone meanwhile stays so.
func packAgain(ctx context.Context, dir, path string, std cli.Streams) error {
	m, err := packedOfCrawl(dir, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	fresh := strings.TrimSuffix(path, packedSuffix) + ".forget-new" + packedSuffix
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a kill
		return err
	}
	args := []string{"--format", "wacz", "--output", fresh, "--title", m.Title, "--description", m.Description, "--", dir}
	if err := runWithout(ctx, exportCommand(quiet(std)), args...); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return durable.Names(filepath.Dir(path))
}

const packedSuffix = ".wacz"

// packedOf are the packed files in a crawl directory, and those that were named, by their whole paths. Each must be of
// this crawl: what is in another nobody here can take out.
func packedOf(dir string, named []string) (paths []string, err error) {
	there, err := crawldir.Entries(dir, "", packedSuffix)
	if err != nil {
		return nil, err
	}
	for i, path := range slices.Concat(there, named) {
		if !strings.HasSuffix(path, packedSuffix) {
			if i < len(there) {
				continue
			}
			return nil, cli.Usagef("--wacz %s: the name of a WACZ file ends in %s", path, packedSuffix)
		}
		if strings.HasSuffix(path, ".forget-new"+packedSuffix) && i < len(there) {
			continue // of a kill
		}
		if _, err := packedOfCrawl(dir, path); err != nil {
			return nil, fmt.Errorf("%w; nothing was changed", err)
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(paths, whole) {
			paths = append(paths, whole)
		}
	}
	return paths, nil
}

// packedOfCrawl reads a packed file, and refuses one that is not of the crawl in dir: one whose ledger is another log.
func packedOfCrawl(dir, path string) (m manifest, err error) {
	f, err := durable.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return m, err
	}
	z, err := zip.NewReader(f, fi.Size())
	if err != nil {
		return m, fmt.Errorf("%s is not a readable WACZ file: remove it, or move it out of the directory: %w", path, err)
	}
	ours, err := ledger.Origin(filepath.Join(dir, crawldir.LedgerName))
	if err != nil {
		return m, err
	}
	note, err := inPacked(z, "ledger/"+ledger.CheckpointName, checkpoint.MaxNote)
	var theirs *checkpoint.Note
	if err == nil {
		theirs, err = checkpoint.Parse(note)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("%s has no checkpoint that says of which crawl it is: delete it, or move it out of the directory", path)
	case err != nil:
		return m, fmt.Errorf("%s: %w", path, err)
	case theirs.Origin != ours:
		return m, fmt.Errorf("%s is not a package of the crawl in %s: redact it in its crawl's directory, or delete it", path, dir)
	}
	text, err := inPacked(z, "datapackage.json", maxManifest)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("%s: datapackage.json: %w", path, err)
	}
	return m, nil
}

// inPacked reads a file in a packed one, at most so many bytes of it.
func inPacked(z *zip.Reader, name string, most int64) ([]byte, error) {
	in, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, most))
}
