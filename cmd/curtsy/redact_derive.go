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
	"curtsy/storage/plainly"
	"curtsy/storage/redact"
)

// derive makes anew what is derived from archive and ledger, and takes the journal away. Each part takes the lock of
// the directory itself.
func derive(ctx context.Context, dir string, j *redact.Journal, std cli.Streams) error {
	return j.Derived(ctx, dir, redact.Ending{Derive: func(ctx context.Context, j *redact.Journal) error {
		if slices.Contains(j.Made, "mirror") {
			fmt.Fprintln(std.Err, "rebuilding the mirror")
			if err := crawlcmd.Again(ctx, dir); err != nil {
				return err
			}
		}
		if slices.Contains(j.Made, "report.json") {
			fmt.Fprintln(std.Err, "rewriting the report")
			if err := runWithout(ctx, report(quiet(std)), dir); err != nil {
				return err
			}
		}
		for _, path := range j.Packed {
			fmt.Fprintf(std.Err, "packing %s again\n", plainly.OneLine(path))
			if err := packAgain(ctx, dir, path, std); err != nil {
				return err
			}
		}
		return nil
	}})
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

// packedOfCrawl reads a packed file, and refuses one that is not of the crawl in dir.
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
	theirs, err := originIn(z)
	if err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	ours, err := originOfFolder(filepath.Join(dir, crawldir.LedgerName))
	if err != nil {
		return m, err
	}
	if theirs == "" || theirs != ours {
		return m, fmt.Errorf("%s is not a package of the crawl in %s: redact it in its crawl's directory, or delete it", path, dir)
	}
	in, err := z.Open("datapackage.json")
	if err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	defer in.Close()
	if err := json.NewDecoder(io.LimitReader(in, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("%s: datapackage.json: %w", path, err)
	}
	return m, nil
}

// originOfFolder is the origin of the log in a folder; "" without one.
func originOfFolder(folder string) (string, error) {
	for m, err := range ledger.Marks(folder) {
		if err != nil {
			return "", err
		}
		if m.Kind == ledger.KindBegin {
			return m.Origin, nil
		}
	}
	return "", nil
}

// maxFirst bounds what is read of the first segment of a ledger in a packed file, in bytes: its first line is enough,
// but what is compressed is wanted whole.
const maxFirst = 1 << 30

// originIn is the origin of the log in a packed file; "" without one.
func originIn(z *zip.Reader) (origin string, err error) {
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, "ledger/000000.jsonl")
		if !ok || name != "" && name != ".zst" {
			continue
		}
		temp, err := os.MkdirTemp("", "curtsy-redact-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(temp)
		in, err := f.Open()
		if err != nil {
			return "", err
		}
		defer in.Close()
		err = durable.File(filepath.Join(temp, "000000.jsonl"+name), func(w io.Writer) error {
			_, err := io.Copy(w, io.LimitReader(in, maxFirst))
			return err
		})
		if err != nil {
			return "", err
		}
		return originOfFolder(temp)
	}
	return "", nil
}
