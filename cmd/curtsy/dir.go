package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"curtsy/crawler"
	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// The names in a crawl directory.
const (
	configName   = "crawl.toml"  // the effective settings
	frontierName = "frontier.db" // what is next, and what was done
	warcName     = "warc"        // the archive
	ledgerName   = "ledger"      // the decisions
	spoolName    = "spool"       // bodies under way; emptied at each start
)

func inDir(dir, name string) string { return filepath.Join(dir, name) }

// mustHoldCrawl refuses a directory that holds no crawl.
func mustHoldCrawl(dir string) error {
	_, err := os.Stat(inDir(dir, frontierName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
			return notADir(dir) // as Windows has it
		}
		return usagef("%s holds no crawl: there is no %s in it; begin one with curtsy crawl", dir, frontierName)
	case errors.Is(err, syscall.ENOTDIR):
		return notADir(dir)
	case err != nil:
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// mustBeWhole refuses a crawl that lacks what was made with it. Made anew in silence, evidence would be gone and
// nobody would know.
func mustBeWhole(dir string) error {
	for _, part := range []struct{ name, anew string }{
		{warcName, "make an empty folder of that name to go on without what it held"},
		{ledgerName, "make an empty folder of that name to go on without what it held"},
		{configName, "make an empty file of that name to go on with the defaults"},
	} {
		if _, err := os.Stat(inDir(dir, part.name)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: put it back, or %s", inDir(dir, part.name), part.anew)
		} else if err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return nil
}

// crawlDir is an open crawl directory: nobody else has it.
type crawlDir struct {
	path     string
	frontier *bolt.Frontier
	archive  *warc.Writer
	ledger   *ledger.Writer
}

// openDir is openDirWith for a frontier without limits.
func openDir(dir string, info warc.Info, floor time.Duration, say func(string, ...any)) (*crawlDir, error) {
	return openDirWith(dir, info, frontier.Options{Pace: floor}, say)
}

// openDirWith opens a crawl directory for a run. A kill's torn tails are cut off archive and ledger, and said.
func openDirWith(dir string, info warc.Info, o frontier.Options, say func(string, ...any)) (_ *crawlDir, err error) {
	if err := mustHoldCrawl(dir); err != nil {
		return nil, err
	}
	d := &crawlDir{path: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	// The frontier's lock is the directory's: nothing else is touched before it is held.
	o.Barrier = func(ctx context.Context) error {
		if d.archive == nil || d.ledger == nil {
			return nil
		}
		return crawler.Barrier(d.archive, d.ledger)(ctx)
	}
	if d.frontier, err = bolt.Open(inDir(dir, frontierName), o); err != nil {
		if errors.Is(err, bolt.ErrInUse) {
			return nil, fmt.Errorf("%w; see how it is with curtsy status %s", err, word(dir))
		}
		return nil, damaged(err, dir)
	}
	if err := removeSnapshots(dir); err != nil {
		return nil, fmt.Errorf("crawl directory: %w", err)
	}
	if err := emptySpool(dir); err != nil {
		return nil, err
	}
	if d.archive, err = warc.Open(warc.Options{Dir: inDir(dir, warcName), Name: "curtsy", Info: info}); err != nil {
		return nil, err
	}
	if d.ledger, err = ledger.Open(ledger.Options{Dir: inDir(dir, ledgerName)}); err != nil {
		return nil, err
	}
	for _, cut := range []func() (string, int64){d.archive.Cut, d.ledger.Cut} {
		if file, n := cut(); n > 0 {
			say("%s: the last stop tore its end; %d octets of an unfinished record were cut off", file, n)
		}
	}
	return d, nil
}

// close makes everything durable and releases the directory. The frontier comes first: its last commit syncs the
// others through the barrier.
func (d *crawlDir) close() error {
	if d.frontier == nil {
		return nil // it is not ours
	}
	errs := []error{os.RemoveAll(inDir(d.path, spoolName)), d.frontier.Close()}
	if d.archive != nil {
		errs = append(errs, d.archive.Close())
	}
	if d.ledger != nil {
		errs = append(errs, d.ledger.Close())
	}
	return errors.Join(errs...)
}

// emptySpool makes the folder for bodies under way, without what a kill left in it.
func emptySpool(dir string) error {
	spool := inDir(dir, spoolName)
	if err := os.RemoveAll(spool); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	if err := os.Mkdir(spool, 0o777); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// word writes a directory as a shell takes it, for commands that can be pasted.
func word(dir string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
	switch {
	case dir == "" || strings.Trim(filepath.ToSlash(dir), safe) != "":
		return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	case dir[0] == '-':
		return "./" + dir
	}
	return dir
}
