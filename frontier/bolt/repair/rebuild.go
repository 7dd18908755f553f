package repair

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
)

// Ended is a line of a ledger: how a URL ended, as the crawl wrote it down elsewhere.
type Ended struct {
	URL     canon.URL
	Outcome frontier.Outcome
	Reason  string
}

// Rebuild makes a frontier at out, where there must be no file, of what can be read in the damaged one at path, which
// is not touched. The stop counts as unclean. ledger, unless it is nil, returns line by line, the oldest first, how
// URLs ended, and io.EOF after the last: where something was lost, a URL that is pending is closed by it, and one whose
// text is lost is added. A URL that an operator has opened again stays open if that can be seen. The error says that
// nothing could be made; how much was lost is in the Salvage. It takes some 160 bytes of memory per URL, garbage
// included.
func Rebuild(ctx context.Context, path, out string, ledger func() (Ended, error)) (Salvage, error) {
	var found Salvage
	fail := func(err error) (Salvage, error) {
		return found, fmt.Errorf("frontier/bolt: rebuild %s: %w", path, err)
	}
	if _, err := os.Lstat(out); err == nil {
		return fail(fmt.Errorf("%s: %w: the new frontier needs a new file", out, os.ErrExist))
	}
	db, err := dbfile.Hold(path) // nobody writes meanwhile; nothing is read through it
	switch {
	case err == nil:
		defer db.Close()
	case errors.Is(err, frontier.ErrInUse), errors.Is(err, os.ErrNotExist):
		return fail(err)
	}
	file, err := durable.Open(path)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	r := rebuilding{ctx: ctx, salvage: &found, ledger: ledger}
	if r.scan, err = newScan(file, &found); err == nil {
		err = r.scan.all(ctx)
	}
	if err == nil {
		err = r.recognise()
	}
	if err != nil {
		return fail(err)
	}
	to, err := newFileBuilder(out)
	if err != nil {
		return fail(err)
	}
	defer to.Abandon()
	if err := r.build(to); err != nil {
		return fail(err)
	}
	if err := to.finish(durable.Publish); err != nil {
		return fail(err)
	}
	return found, nil
}

// rebuilding is a Rebuild at work.
type rebuilding struct {
	ctx     context.Context // of the one call
	scan    *scan
	salvage *Salvage
	ledger  func() (Ended, error)

	into    *assembly
	clock   layout.Clock
	relearn bool // the seen-set is made of the records and the ledger alone
	intact  bool // the secret is the old one

	seen    dbfile.Set // the old one, as far as it was found
	hosts   map[uint64]*host
	retries map[layout.Ref]*layout.Retry
	old     oldEndings
	known   map[frontier.Fingerprint]int // entries by print, with a ledger; the number of its ending
	once    dbfile.Set
	reopen  map[int]bool // entries that were opened again, the last we know
}

// recognise fails when there is nothing to salvage, or when it is not ours.
func (r *rebuilding) recognise() error {
	values := len(r.scan.secrets)
	for _, m := range r.scan.values {
		values += len(m)
	}
	newest := uint32(0)
	for n := range r.scan.formats {
		if n < 256 { // it has no checksum
			newest = max(newest, n)
		}
	}
	_, ours := r.scan.formats[layout.Format]
	switch {
	case !ours && newest > layout.Format:
		return fmt.Errorf("format %d, and this version reads %d: %w", newest, layout.Format, frontier.ErrNewer)
	case !ours && newest > 0:
		return fmt.Errorf("format %d, and this version reads %d: %w", newest, layout.Format, frontier.ErrOlder)
	case values == 0:
		return fmt.Errorf("there is nothing of a frontier in it: %w", frontier.ErrDamaged)
	}
	return nil
}

// build puts what was found together.
func (r *rebuilding) build(to *Builder) error {
	r.clock = layout.Clock{Began: time.Now()}
	r.hosts, r.retries, r.reopen = map[uint64]*host{}, map[layout.Ref]*layout.Retry{}, map[int]bool{}
	if r.ledger != nil {
		r.known = map[frontier.Fingerprint]int{}
	}
	secret := make([]byte, 32)
	if i := slices.IndexFunc(r.scan.secrets, func(f found) bool { return f.live }); len(r.scan.secrets) > 0 {
		f := r.scan.secrets[max(i, 0)]
		copy(secret, r.scan.read(f.at, 32))
		r.intact = true
	} else {
		rand.Read(secret) // never fails
		r.salvage.NewSecret = true
	}
	var err error
	if r.into, err = newAssembly(to, r.clock, secret); err != nil {
		return err
	}
	refused := r.totals()
	r.salvage.LostRecords = r.scan.gaps(layout.RecordJournal, 0)
	r.salvage.LostValues = r.salvage.LostRecords + r.scan.gaps(layout.SeenJournal, 0) + r.scan.gaps(layout.SeedJournal, 0)
	for _, part := range []func() error{r.prints, r.endings, r.states, r.records, r.fromLedger, r.seeds, r.blobs} {
		if err := part(); err != nil {
			return err
		}
	}
	return r.finish(refused)
}

// totals takes over counts and names of reasons from the best totals there are, and returns how many refused candidates
// they had by reason, the closed URLs among them.
func (r *rebuilding) totals() map[layout.Ending]int64 {
	var best *layout.Totals
	live := false
	for _, f := range r.scan.totals {
		t, ok := layout.ParseTotals(r.scan.read(f.at, f.n-4))
		if !ok || live && !f.live {
			continue
		}
		if best == nil || f.live && !live || len(t.Reasons) > len(best.Reasons) ||
			len(t.Reasons) == len(best.Reasons) && t.Closed() > best.Closed() {
			best, live = t, f.live
		}
	}
	r.salvage.OldTotals, r.salvage.NoTotals = best != nil && !live, best == nil
	if best == nil {
		return map[layout.Ending]int64{}
	}
	t := *best
	t.Outcomes, t.Endings, t.Strangers = frontier.Outcomes{}, map[layout.Ending]int64{}, best.Strangers
	r.into.totals = &t
	dropped := maps.Clone(best.Endings)
	maps.DeleteFunc(dropped, func(e layout.Ending, _ int64) bool { return e.Outcome() != frontier.Dropped })
	return dropped
}

// ending returns e with a reason that has a name.
func (r *rebuilding) ending(e layout.Ending) layout.Ending {
	t := r.into.totals
	switch {
	case e.Outcome() == 0:
		return 0
	case e.Reason() > 0 && e.Reason() > len(t.Reasons), e.Reason() > 0 && r.salvage.NoTotals:
		return layout.MakeEnding(e.Outcome(), t.Number(ReasonLost))
	}
	return e
}

// finish makes the counts agree with what is there.
func (r *rebuilding) finish(refused map[layout.Ending]int64) error {
	a := r.into
	if err := a.closeRecord(); err != nil {
		return err
	}
	for _, e := range a.endings {
		if e != 0 {
			r.salvage.Closed++
			refused[e]--
		}
	}
	r.salvage.Hosts, r.salvage.URLs = int64(len(a.hosts)), int64(len(a.endings))
	r.salvage.Refused = int64(a.seen.Len()) - r.salvage.URLs
	left, was := r.salvage.Refused, a.totals.Strangers
	for _, h := range a.hosts {
		was += int64(h.Refused)
	}
	for _, h := range a.hosts { // what is left of them is of hosts as far as these have counted it
		h.Refused = uint32(min(int64(h.Refused), left))
		left -= int64(h.Refused)
	}
	a.totals.Strangers = left
	a.totals.Outcomes[frontier.Dropped] += r.salvage.Refused
	left = r.salvage.Refused
	for _, e := range slices.Sorted(maps.Keys(refused)) {
		if n := min(refused[e], left); n > 0 && e.Outcome() == frontier.Dropped {
			a.totals.Endings[r.ending(e)] += n
			left -= n
		}
	}
	r.salvage.LostTexts = max(r.salvage.Refused-was-r.salvage.LostForgotten, 0)
	if !r.salvage.OldTotals && !r.salvage.NoTotals {
		if n := min(r.salvage.LostTexts+r.salvage.LostForgotten, left); n > 0 {
			a.totals.Endings[layout.MakeEnding(frontier.Dropped, a.totals.Number(ReasonLost))] += n
		}
	}
	epoch := r.scan.epoch
	for _, h := range a.hosts {
		epoch = max(epoch, uint64(h.Finished)>>32) // a stale token must not come again
	}
	return a.finish(epoch+1, false, 0)
}

func (r *rebuilding) seeds() error {
	return r.scan.each(r.ctx, layout.SeedJournal, func(_ uint64, body []byte) error {
		for seed, ok := range layout.Seeds(body) {
			if !ok {
				r.salvage.LostURLs++
				continue
			}
			r.salvage.Seeds++
			if err := r.into.seed(seed); err != nil {
				return err
			}
		}
		return nil
	})
}

// blobs puts bodies together from their pieces.
func (r *rebuilding) blobs() error {
	sums := map[[sha256.Size]byte]bool{}
	for k := range r.scan.pieces {
		sums[[sha256.Size]byte(k[:])] = true
	}
	order := func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) }
	for _, sum := range slices.SortedFunc(maps.Keys(sums), order) {
		body := []byte(nil)
		for i := range uint16(layout.MaxBlob / layout.ValueSize) {
			f := r.scan.pieces[[34]byte(layout.PieceKey(sum, i))]
			if f.n == 0 || f.disputed {
				break
			}
			body = append(body, r.scan.read(f.at, f.n-4)...)
		}
		whole, ok := layout.JoinBlob(body, sum)
		if !ok {
			r.salvage.LostBlobs++
			continue
		}
		r.salvage.Blobs++
		if err := r.into.blobs([]layout.Blob{{Sum: sum, Body: whole}}); err != nil {
			return err
		}
	}
	return r.ctx.Err()
}
