package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// mustBeOurs refuses a crawl directory in which a link, a pipe or the like stands: who handed it to us may have put it
// there for us to follow, or to wait for.
func mustBeOurs(dir string) error {
	err := durable.Inspect(dir, crawldir.ArchiveName, crawldir.LedgerName, crawldir.IndexName, crawldir.SpoolName)
	if errors.Is(err, durable.ErrForeign) {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil // whoever reads what cannot be read says so
}

// mustHoldCrawl refuses a directory that holds no crawl.
func mustHoldCrawl(dir string) error {
	if err := mustBeOurs(dir); err != nil {
		return err
	}
	_, err := os.Stat(inDir(dir, crawldir.FrontierName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
			return notADir(dir) // as Windows has it
		}
		return usagef("%s holds no crawl: there is no %s in it; begin one with curtsy crawl", dir, crawldir.FrontierName)
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
		{crawldir.ArchiveName, "make an empty folder of that name to go on without what it held"},
		{crawldir.LedgerName, "make an empty folder of that name to go on without what it held"},
		{crawldir.ConfigName, "make an empty file of that name to go on with the defaults"},
	} {
		if _, err := os.Stat(inDir(dir, part.name)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: put it back, or %s", inDir(dir, part.name), part.anew)
		} else if err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return nil
}

// frontierOpener opens the frontier in a file.
type frontierOpener func(path string, o frontier.Options) (frontier.Frontier, error)

// crawlDir is an open crawl directory: nobody else has it.
type crawlDir struct {
	path     string
	frontier frontier.Frontier
	archive  *warc.Writer
	index    *cdxj.Store
	ledger   *ledger.Writer

	generation totals.Generation
}

// openDir is openDirWith for a frontier without limits.
func openDir(dir string, info warc.Info, floor time.Duration, say func(string, ...any)) (*crawlDir, error) {
	return openDirWith(context.Background(), dir, info, frontier.Options{Pace: floor}, nil, say)
}

// openDirWith opens a crawl directory for a run. A kill's torn tails are cut off archive and ledger, and said. Payloads
// that the indexes in earlier know are not archived again. What of the index must be made first may be broken off by ctx.
func openDirWith(ctx context.Context, dir string, info warc.Info, o frontier.Options, earlier []string, say func(string, ...any)) (*crawlDir, error) {
	return openDirBy(ctx, engine.Open, dir, info, o, earlier, say)
}

// openDirBy is openDirWith with a way of its own to open the frontier.
func openDirBy(ctx context.Context, open frontierOpener, dir string, info warc.Info, o frontier.Options, earlier []string, say func(string, ...any)) (_ *crawlDir, err error) {
	if err := mustHoldCrawl(dir); err != nil {
		return nil, err
	}
	d := &crawlDir{path: dir}
	opened := d.guards(&o)
	defer func() {
		if opened(); err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	// The frontier's lock is the directory's: nothing else is touched before it is held.
	if d.frontier, err = open(inDir(dir, crawldir.FrontierName), o); err != nil {
		if errors.Is(err, frontier.ErrInUse) {
			return nil, fmt.Errorf("%w; see how it is with curtsy status %s", err, word(dir))
		}
		return nil, damaged(err, dir)
	}
	if info, err = d.generationInfo(context.Background(), info); err != nil {
		return nil, err
	}
	if err := removeLeftOvers(dir); err != nil {
		return nil, fmt.Errorf("crawl directory: %w", err)
	}
	if err := emptySpool(dir); err != nil {
		return nil, err
	}
	if err := d.openEvidence(ctx, info, earlier, say); err != nil {
		return nil, err
	}
	opened()
	if err := d.tellQuarantined(ctx, d.frontier); err != nil {
		return nil, err
	}
	return d, nil
}

// guards has the frontier that o is for write down what it closes, and make archive and ledger durable, before each commit.
// Its commits wait until opened is called: when those are open, or will not be.
func (d *crawlDir) guards(o *frontier.Options) (opened func()) {
	ready := make(chan struct{})
	whole := func(ctx context.Context) bool {
		select {
		case <-ready:
		case <-ctx.Done():
		}
		return ctx.Err() == nil && d.archive != nil && d.ledger != nil
	}
	o.Tell = func(ctx context.Context, closed frontier.Closings) error {
		if !whole(ctx) {
			return errors.New("archive and ledger are not open")
		}
		return crawler.Tell(d.archive, d.ledger)(ctx, closed)
	}
	o.Barrier = func(ctx context.Context) error {
		if !whole(ctx) {
			return nil
		}
		return crawler.Barrier(d.archive, d.ledger)(ctx)
	}
	return sync.OnceFunc(func() { close(ready) })
}

// openEvidence opens archive, index and ledger of a directory whose frontier is held.
func (d *crawlDir) openEvidence(ctx context.Context, info warc.Info, earlier []string, say func(string, ...any)) (err error) {
	if d.index, err = openIndex(ctx, d.path, earlier, say); err != nil {
		return err
	}
	info.Fields = append(slices.Clip(info.Fields), warc.Field{Name: "run-began", Value: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")})
	if d.archive, err = warc.Open(warc.Options{Dir: inDir(d.path, crawldir.ArchiveName), Name: "curtsy", Info: info, Index: d.index, Originals: d.index}); err != nil {
		return err
	}
	if d.ledger, err = openLedger(d.path, d.archive.InfoSHA256(), say); err != nil {
		return err
	}
	for _, cut := range []func() (string, int64){d.archive.Cut, d.ledger.Cut} {
		if file, n := cut(); n > 0 {
			say("%s: the last stop tore its end; %d octets of an unfinished record were cut off", file, n)
		}
	}
	return nil
}

// tellQuarantined writes down what the opening of f has put in quarantine.
func (d *crawlDir) tellQuarantined(ctx context.Context, f frontier.Engine) error {
	all, err := f.Quarantined(ctx)
	if err != nil {
		return err
	}
	return crawler.TellQuarantined(ctx, d.archive, d.ledger, all)
}

// close makes everything durable and releases the directory. The frontier comes first: its last commit syncs the
// others through the barrier.
func (d *crawlDir) close() error {
	if d.frontier == nil {
		return nil // it is not ours
	}
	return errors.Join(os.RemoveAll(inDir(d.path, crawldir.SpoolName)), d.frontier.Close(), d.closeEvidence())
}

// closeEvidence closes archive, index and ledger, as far as they are open.
func (d *crawlDir) closeEvidence() error {
	var errs []error
	if d.archive != nil {
		errs = append(errs, d.archive.Close())
	}
	if d.index != nil { // after the archive, which completes it
		errs = append(errs, d.index.Close())
	}
	if d.ledger != nil {
		errs = append(errs, d.ledger.Close())
	}
	return errors.Join(errs...)
}

// emptySpool makes the folder for bodies under way, without what a kill left in it.
func emptySpool(dir string) error {
	spool := inDir(dir, crawldir.SpoolName)
	if err := os.RemoveAll(spool); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	if err := os.Mkdir(spool, 0o777); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}
