package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
)

// defaultDir is where a crawl goes that names no directory: the first seed's host and the date.
func defaultDir(seeds []frontier.Candidate, now time.Time) string {
	host := strings.Map(func(r rune) rune {
		if r == ':' || r == '[' || r == ']' {
			return '-'
		}
		return r
	}, seeds[0].URL.Authority().HostPort())
	return strings.Trim(host, "-") + "-" + now.UTC().Format("2006-01-02")
}

// createDir makes a crawl directory with its settings and seeds, all durable, in one step: it is written under
// another name and renamed. One that exists and is empty is filled, and never replaced: it may be a mount point, a
// link, or where the user is. One that holds anything is refused.
func createDir(ctx context.Context, dir string, config []byte, seeds []frontier.Candidate) error {
	given := false
	return createDirFrom(ctx, dir, config, func() ([]frontier.Candidate, error) {
		if given {
			return nil, io.EOF
		}
		given = true
		return seeds, nil
	})
}

// createDirFrom is createDir with seeds that come in batches, io.EOF after the last.
func createDirFrom(ctx context.Context, dir string, config []byte, seeds func() ([]frontier.Candidate, error)) (err error) {
	exists, err := mustBeFree(dir)
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	tmp := dir + ".new-" + strings.ToLower(rand.Text()[:8])
	if exists {
		tmp = filepath.Join(dir, ".new")
	} else if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return taken(dir, err)
	}
	defer os.RemoveAll(tmp)
	if entries, err := os.ReadDir(dir); exists && (err != nil || len(entries) != 1) {
		return taken(dir, err) // since we looked, somebody came and went
	}
	if err := fill(ctx, tmp, config, seeds); err != nil {
		return err
	}
	if exists {
		return moveInto(dir, tmp)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return taken(dir, err)
	}
	return durable.Names(filepath.Dir(dir))
}

// fill writes what a new crawl has.
func fill(ctx context.Context, dir string, config []byte, seeds func() ([]frontier.Candidate, error)) error {
	if err := durable.WriteFile(inDir(dir, crawldir.ConfigName), config, 0o666); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	f, err := engine.Open(dir, frontier.Options{})
	if err != nil {
		return err
	}
	for err == nil {
		var batch []frontier.Candidate
		if batch, err = seeds(); err == nil {
			_, err = f.Add(ctx, batch)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, sub := range []string{crawldir.ArchiveName, crawldir.LedgerName, crawldir.IndexName} {
		if err := os.Mkdir(inDir(dir, sub), 0o777); err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return durable.Names(dir)
}

// moveInto moves a new crawl into its directory. The frontier comes last: with it there is a crawl.
func moveInto(dir, tmp string) (err error) {
	names := []string{crawldir.ConfigName, crawldir.ArchiveName, crawldir.LedgerName, crawldir.IndexName, crawldir.FrontierName}
	defer func() {
		for _, name := range names {
			if err != nil {
				os.RemoveAll(inDir(dir, name))
			}
		}
	}()
	for _, name := range names {
		if name == crawldir.FrontierName {
			if err := durable.Names(dir); err != nil {
				return err
			}
		}
		if err := os.Rename(inDir(tmp, name), inDir(dir, name)); err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return durable.Names(dir)
}

// taken explains why a directory cannot be had: another crawl may have taken it meanwhile.
func taken(dir string, err error) error {
	if _, used := mustBeFree(dir); used != nil {
		return used
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawl directory: %w", &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrNotExist})
	}
	return fmt.Errorf("crawl directory %s: %w", dir, err)
}

// mustBeFree refuses a directory that is in use, and says what to do instead. It reports whether an empty one exists.
func mustBeFree(dir string) (exists bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, notADir(dir)
	case err != nil:
		return false, usagef("crawl directory: %w", err)
	case len(entries) == 0:
		return true, nil
	}
	if _, err := os.Stat(inDir(dir, crawldir.FrontierName)); err == nil {
		return true, usagef("%s holds a crawl already: go on with curtsy resume %s, or name another with --dir", dir, word(dir))
	}
	return true, usagef("%s is not empty: name another directory with --dir", dir)
}

// notADir says that a path does not lead to a directory.
func notADir(dir string) error {
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
		return usagef("%s is a file, not a crawl directory", dir)
	}
	return usagef("%s is no directory: a part of its path is a file", dir)
}
