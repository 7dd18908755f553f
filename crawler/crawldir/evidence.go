package crawldir

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// evidence is the archive, its index and the ledger of a crawl directory.
type evidence struct {
	archive *warc.Writer
	index   *cdxj.Store
	ledger  *ledger.Writer
}

// open opens archive, index and ledger of a directory whose frontier is held. A kill's torn tails are cut off
// archive and ledger, and said. Payloads that the indexes in earlier know are not archived again. An error leaves open
// what could be opened.
func (e *evidence) open(ctx context.Context, dir string, info warc.Info, earlier []string, say func(Note)) (err error) {
	if e.index, err = OpenIndex(ctx, dir, earlier, say); err != nil {
		return err
	}
	info.Fields = append(slices.Clip(info.Fields), warc.Field{Name: "run-began", Value: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")})
	if e.archive, err = warc.Open(warc.Options{Dir: in(dir, ArchiveName), Name: "curtsy", Info: info, Index: e.index, Originals: e.index}); err != nil {
		return err
	}
	if e.ledger, err = openLedger(dir, e.archive.InfoSHA256(), say); err != nil {
		return err
	}
	for _, cut := range []func() (string, int64){e.archive.Cut, e.ledger.Cut} {
		if file, n := cut(); n > 0 {
			plain(say)("%s: the last stop tore its end; %d octets of an unfinished record were cut off", file, n)
		}
	}
	return nil
}

// close closes archive, index and ledger, as far as they are open.
func (e *evidence) close() error {
	var errs []error
	if e.archive != nil {
		errs = append(errs, e.archive.Close())
	}
	if e.index != nil { // after the archive, which completes it
		errs = append(errs, e.index.Close())
	}
	if e.ledger != nil {
		errs = append(errs, e.ledger.Close())
	}
	return errors.Join(errs...)
}

// OpenIndex opens the index of the crawl in dir, and those of earlier crawls. What of it must be made first may be broken
// off by ctx.
func OpenIndex(ctx context.Context, dir string, earlier []string, say func(Note)) (*cdxj.Store, error) {
	var files []string
	for _, path := range earlier {
		of, err := IndexFiles(path)
		if err != nil {
			return nil, fmt.Errorf("--dedup %s: %w", path, err)
		}
		files = append(files, of...)
	}
	if _, err := os.Stat(in(dir, IndexName)); errors.Is(err, fs.ErrNotExist) {
		if archived, err := Entries(in(dir, ArchiveName), "", ""); err == nil && len(archived) > 0 {
			plain(say)("%s is missing: it is made anew from the archive", in(dir, IndexName))
		}
	}
	index, err := cdxj.Open(ctx, dir, files)
	if err != nil || say == nil {
		return index, err
	}
	for _, what := range index.Damaged() {
		say(Note{IndexDamaged, fmt.Sprint(what)})
	}
	for _, note := range index.Notes() {
		plain(say)("--dedup %s", note)
	}
	return index, nil
}

// openLedger opens the ledger of a crawl directory with the user's key. A key that cannot be had is no reason not to
// crawl: the chain is the same without it. The mark of its run binds the digest of the archive's warcinfo records.
func openLedger(dir, warcinfo string, say func(Note)) (*ledger.Writer, error) {
	var key ed25519.PrivateKey
	path, err := LedgerKey.Path()
	if err == nil {
		var seed []byte
		if seed, err = LedgerKey.Make(path); err == nil {
			key = ed25519.NewKeyFromSeed(seed)
		}
	}
	if err != nil {
		plain(say)("the ledger is chained and not signed: %v", err)
	}
	return ledger.Open(ledger.Options{Dir: in(dir, LedgerName), Key: key, Software: "curtsy/" + Version, Warcinfo: warcinfo})
}

// tellQuarantined writes down what the opening of f has put in quarantine.
func (e *evidence) tellQuarantined(ctx context.Context, f frontier.Engine) error {
	all, err := f.Quarantined(ctx)
	if err != nil {
		return err
	}
	return record.Quarantined(ctx, e.archive, e.ledger, all)
}
