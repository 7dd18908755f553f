package repair

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
)

// Salvage is the report of a Rebuild. String prints the tags of fields that are not zero; with a loss the frontier is
// not whole.
type Salvage struct {
	Pages int64 // of the damaged file, whole or in part

	// The new file.
	Hosts   int64
	URLs    int64 // with their texts
	Closed  int64 // of these
	Refused int64 // fingerprints of refused candidates, and of URLs whose text was lost
	Seeds   int64
	Blobs   int64

	// The damaged file.
	LostPages  int64 `loss:"pages of the last commit could not be read"` // or are something else
	Spoilt     int64 `loss:"values have a wrong checksum"`
	Ambiguous  int64 `loss:"values were there in several versions and left out"` // none of the versions is in the last commit
	LostValues int64 `loss:"values are missing"`                                 // by the gaps among the numbers of the others

	// The losses.
	LostHosts      int64 `loss:"hosts lost their names"`
	ResetHosts     int64 `loss:"hosts lost their state: they are open again"`
	LostRecords    int64 `loss:"batches of URLs were lost"`                            // of up to 128 URLs each
	LostURLs       int64 `loss:"URLs of other batches were lost"`                      // their texts, or the names of their hosts
	Repeated       int64 `loss:"URLs were there more than once"`                       // the first counts
	LostTexts      int64 `loss:"fingerprints have lost their URLs: these are dropped"` // with ReasonLost
	LetGo          int64 `note:"fingerprints were let go: their URLs are new when they are found again"`
	LostForgotten  int64 `loss:"URLs that were compacted away could not be kept"` // their fingerprints are not all there
	LostEndings    int64 `loss:"endings are of URLs that were lost"`
	LostBlobs      int64 `loss:"blobs were lost"`
	LedgerClosed   int64 `note:"pending URLs were closed by the ledger"`
	LedgerAdded    int64 `note:"closed URLs were added from the ledger"`
	LedgerUnneeded int64 // lines of the ledger without new facts

	MetaSpoilt bool `loss:"a meta page is not valid: the last commit may be missing"`
	NewSecret  bool `loss:"the key of the fingerprints was lost: there is a new one"` // those of URLs without a text are gone
	OldTotals  bool `loss:"the totals are those of an older commit"`                  // also the names of reasons
	NoTotals   bool `loss:"the totals and the names of reasons were lost"`            // reasons are called by ReasonLost
}

// ReasonLost is the reason of a URL whose reason was lost, or that is Dropped because only its fingerprint remains.
const ReasonLost = "lost in a rebuild"

func (s Salvage) Whole() bool {
	for f, v := range reflect.ValueOf(s).Fields() {
		if f.Tag.Get("loss") != "" && !v.IsZero() {
			return false
		}
	}
	return true
}

// String returns one finding a line, for people, without the zero ones.
func (s Salvage) String() string {
	lines := []string{fmt.Sprintf("salvaged: %d URLs of %d hosts, %d of them closed; %d refused, %d seeds, %d blobs",
		s.URLs, s.Hosts, s.Closed, s.Refused, s.Seeds, s.Blobs)}
	for f, v := range reflect.ValueOf(s).Fields() {
		switch text := f.Tag.Get("loss") + f.Tag.Get("note"); {
		case text == "" || v.IsZero():
		case v.CanInt():
			lines = append(lines, fmt.Sprint(v.Int(), " ", text))
		default:
			lines = append(lines, text)
		}
	}
	if s.Whole() {
		lines = append(lines, "nothing was lost")
	}
	return strings.Join(lines, "\n")
}

// Ended is a line of a ledger: how a URL ended.
type Ended struct {
	URL     canon.URL
	Outcome frontier.Outcome
	Reason  string
}

// Rebuild makes a frontier at out, which must not exist, from the readable parts of the damaged one at path, which it
// does not change. The stop counts as unclean. ledger, unless nil, returns line by line, oldest first, how URLs ended,
// and io.EOF after the last: where something was lost, it closes pending URLs and adds URLs whose text is lost. A URL
// that an operator has opened again stays open if that can be seen. The error reports that nothing could be made; the
// Salvage reports the losses. It takes some 160 bytes of memory per URL, garbage included.
func Rebuild(ctx context.Context, path, out string, ledger func() (Ended, error)) (Salvage, error) {
	var found Salvage
	fail := func(err error) (Salvage, error) {
		return found, fmt.Errorf("frontier/bolt: rebuild %s: %w", path, err)
	}
	if _, err := os.Lstat(out); err == nil {
		return fail(fmt.Errorf("%s: %w: the new frontier needs a new file", out, os.ErrExist))
	}
	db, err := dbfile.Hold(path) // keeps writers out; nothing is read through it
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

type rebuilding struct {
	ctx     context.Context // of the one call
	scan    *scan
	salvage *Salvage
	ledger  func() (Ended, error)

	into    *assembly
	clock   layout.Clock
	relearn bool // the seen-set is made only of the records and the ledger
	intact  bool // the secret is the old one
	whole   bool // nothing was lost: the ledger is not needed

	seen    dbfile.Set // the old one, as far as it was found
	hosts   map[uint64]*host
	retries map[layout.Ref]*layout.Retry
	old     oldEndings
	known   map[frontier.Fingerprint]int // with a ledger: print of each entry, and the number of its ending
	once    dbfile.Set
	reopen  map[int]bool // entries that an operator has opened again
}

// recognise fails when there is nothing to salvage, or the format is another.
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

// totals takes counts and names of reasons from the best totals there are, and returns their dropped URLs by reason,
// which include the refused candidates.
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

// ending returns e, with ReasonLost when its reason has no name.
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

// finish makes the counts agree with the salvaged URLs.
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
	for _, h := range a.hosts { // attributed to hosts as far as their own counts go
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

// oldEndings are the endings in a damaged file, by record.
type oldEndings map[uint64]*recordEndings

type recordEndings struct {
	covered uint64 // its words up to this key are included
	endings [layout.MaxPlaces]layout.Ending
	opened  [layout.MaxPlaces]bool // by the last word
}

func (o oldEndings) of(record uint64) *recordEndings {
	if o[record] == nil {
		o[record] = &recordEndings{}
	}
	return o[record]
}

// prints takes the fingerprints, which mean nothing without their secret.
func (r *rebuilding) prints() error {
	if !r.intact {
		return nil
	}
	return r.scan.each(r.ctx, layout.SeenJournal, func(_ uint64, body []byte) error {
		for p := range layout.Words[frontier.Fingerprint](body) {
			if p != 0 {
				r.seen.Add(p)
			}
		}
		return nil
	})
}

// endings reads the latest fold of each record, and then the words that this fold does not cover.
func (r *rebuilding) endings() error {
	r.old = oldEndings{}
	// Of the latest fold: the key that it covers, its first key, and the next record.
	covered, first, next := uint64(0), uint64(0), uint64(1)
	err := r.scan.each(r.ctx, layout.FoldedJournal, func(seq uint64, body []byte) error {
		to, id, items := layout.ParseFold(body)
		if first == 0 || to > covered {
			covered, first, next = to, seq, 1
		}
		if id != next {
			r.salvage.LostValues++
		}
		for _, es := range items {
			if es != nil {
				x := &recordEndings{covered: to}
				copy(x.endings[:], es)
				r.old[id] = x
			}
			id++
		}
		next = id
		return nil
	})
	if err != nil {
		return err
	}
	if first == 0 {
		first = 1
	}
	r.salvage.LostValues += r.scan.gaps(layout.FoldedJournal, first-1) + r.scan.gaps(layout.DoneJournal, covered)
	records := r.scan.values[layout.RecordJournal]
	return r.scan.each(r.ctx, layout.DoneJournal, func(seq uint64, body []byte) error {
		for d := range layout.Words[layout.Done](body) {
			if _, ok := records[d.Ref().Record()]; !ok {
				r.salvage.LostEndings++
				continue
			}
			if x := r.old.of(d.Ref().Record()); seq > x.covered {
				x.endings[d.Ref().Place()] = d.Ending()
				x.opened[d.Ref().Place()] = d.Ending() == 0
			}
		}
		return nil
	})
}

// states takes the last state record of each address: names of hosts first, which the rest needs.
func (r *rebuilding) states() error {
	last := map[layout.Address]uint64{}
	names := map[uint64]canon.Authority{}
	err := r.eachState(func(seq uint64, c layout.StateRecord) error {
		last[c.Address] = seq
		if c.Kind == layout.KindName {
			if a, err := canon.ParseAuthority(string(c.Data)); err == nil {
				names[c.ID] = a
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	nameless := map[uint64]bool{}
	for a := range last {
		if a.Kind != layout.KindRetry && names[a.ID].IsZero() {
			nameless[a.ID] = true
		}
	}
	r.salvage.LostHosts = int64(len(nameless))
	for _, id := range slices.Sorted(maps.Keys(names)) {
		if r.into.byName[names[id]] != nil {
			r.salvage.LostHosts++
			continue
		}
		if r.hosts[id], err = r.into.host(names[id]); err != nil {
			return err
		}
		if last[layout.Address{Kind: layout.KindHost, ID: id}] == 0 {
			r.salvage.ResetHosts++
		}
	}
	return r.eachState(func(seq uint64, c layout.StateRecord) error {
		if last[c.Address] != seq {
			return nil
		}
		return r.state(c)
	})
}

// eachState calls f for the state records that were found; of those of one address in a value only for the last.
func (r *rebuilding) eachState(f func(seq uint64, c layout.StateRecord) error) error {
	return r.scan.each(r.ctx, layout.StateJournal, func(seq uint64, body []byte) error {
		var cs []layout.StateRecord
		at := map[layout.Address]int{}
		err := layout.EachState(body, func(c layout.StateRecord) error {
			at[c.Address] = len(cs)
			cs = append(cs, c)
			return nil
		})
		if err != nil {
			r.salvage.Spoilt++
			return nil
		}
		for i, c := range cs {
			if at[c.Address] != i {
				continue
			}
			if err := f(seq, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// state takes a current state record.
func (r *rebuilding) state(c layout.StateRecord) error {
	if c.Kind == layout.KindRetry {
		if t, ok := layout.ParseRetry(c.Data, r.clock); ok && !t.Void() {
			r.retries[layout.Ref(c.ID)] = &t
		}
		return nil
	}
	h := r.hosts[c.ID]
	switch {
	case h == nil || c.Kind == layout.KindName:
		return nil
	case c.Kind == layout.KindHost:
		x, ok := layout.ParseHostState(c.Data, r.clock)
		if !ok {
			r.salvage.ResetHosts++
			return nil
		}
		h.HostState = x
		return nil
	}
	c.ID = uint64(h.id)
	return r.into.putState(c)
}

// records takes the URLs, in the order of their acceptance.
func (r *rebuilding) records() error {
	// The fingerprints of forgotten URLs are only in the old seen-set.
	forgotten, kept := r.intact && r.scan.gaps(layout.SeenJournal, 0) == 0, false
	_, zip, err := layout.NewZip()
	if err != nil {
		return err
	}
	defer zip.Close()
	err = r.scan.each(r.ctx, layout.RecordJournal, func(seq uint64, body []byte) error {
		b, err := layout.ParseBlock(body, zip)
		switch {
		case err != nil:
			r.salvage.LostRecords++
			return nil
		case b.Forgotten() && forgotten:
			kept = true
			return r.forgotten(seq, b)
		case b.Forgotten():
			r.salvage.LostForgotten += int64(b.Len())
			return nil
		}
		for place := range b.Len() {
			if err := r.entry(b, layout.MakeRef(seq, place)); err != nil {
				return err
			}
		}
		return nil
	})
	r.relearn = r.ledger != nil && r.salvage.LostRecords+r.salvage.LostURLs > 0 && !kept
	return err
}

// forgotten takes a record without texts.
func (r *rebuilding) forgotten(seq uint64, b *layout.Block) error {
	body := binary.AppendUvarint(nil, uint64(len(b.Spans)))
	for _, s := range b.Spans {
		h := r.hosts[uint64(s.Host)]
		if h == nil {
			r.salvage.LostForgotten += int64(b.Len())
			return nil
		}
		body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(h.id)), uint64(s.N))
	}
	ends := slices.Clone(r.old.of(seq).endings[:b.Len()])
	for i := range ends {
		if ends[i] = r.ending(ends[i]); ends[i] == 0 { // or else it was not forgotten
			ends[i] = layout.MakeEnding(frontier.Fetched, r.into.totals.Number(ReasonLost))
		}
	}
	return r.into.whole(body, ends)
}

func (r *rebuilding) entry(b *layout.Block, at layout.Ref) error {
	id, _ := b.Host(at.Place())
	h := r.hosts[uint64(id)]
	if h == nil {
		r.salvage.LostURLs++
		return nil
	}
	c, err := b.Entry(at.Place(), h.authority)
	if err != nil {
		r.salvage.LostURLs++
		return nil
	}
	x := r.old[at.Record()]
	if x == nil {
		x = &recordEndings{}
	}
	return r.accept(h, c, r.ending(x.endings[at.Place()]), x.opened[at.Place()], r.retries[at])
}

// accept adds a URL unless it is there.
func (r *rebuilding) accept(h *host, c frontier.Candidate, e layout.Ending, opened bool, t *layout.Retry) error {
	p := r.into.print.Print(c.URL)
	if !r.once.Add(p) {
		r.salvage.Repeated++
		return nil
	}
	if _, err := r.into.mark(p); err != nil {
		return err
	}
	to, err := r.into.url(h, c, p, e)
	if err != nil {
		return err
	}
	if r.known != nil {
		n := len(r.into.endings) + len(r.into.ends) - 1
		r.known[p] = n
		if opened {
			r.reopen[n] = true
		}
	}
	if t == nil || e != 0 {
		return nil
	}
	return r.into.putState(*t.StateRecord(to, r.clock, r.clock.Now()))
}

// fromLedger repairs losses from the ledger, and then completes the seen-set. When texts were lost, the ledger shows
// which of their URLs have ended; other fingerprints without a URL are let go, so that a pending URL whose text was
// lost is accepted when it is found again.
func (r *rebuilding) fromLedger() error {
	r.whole = r.salvage.Whole()
	for r.ledger != nil {
		line, err := r.ledger()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := r.line(line); err != nil {
			return err
		}
	}
	if r.relearn {
		r.salvage.LetGo = max(int64(r.seen.Len()-r.into.seen.Len()), 0)
		return nil
	}
	for p := range r.seen.All() {
		if _, err := r.into.mark(p); err != nil {
			return err
		}
	}
	return nil
}

func (r *rebuilding) line(x Ended) error {
	if x.URL.IsZero() || x.Outcome == 0 || int(x.Outcome) >= len(frontier.Outcomes{}) || r.whole {
		r.salvage.LedgerUnneeded++
		return nil
	}
	a := r.into
	p := a.print.Print(x.URL)
	n, known := r.known[p]
	switch {
	case known && !r.reopen[n]:
		e := a.ending(n)
		if *e != 0 {
			r.salvage.LedgerUnneeded++
			return nil
		}
		*e = layout.MakeEnding(x.Outcome, a.totals.Number(x.Reason))
		r.salvage.LedgerClosed++
		return nil
	case known, !r.relearn && r.seen.Len() > 0 && r.seen.Has(p):
		r.salvage.LedgerUnneeded++
		return nil
	case x.Outcome == frontier.Dropped:
		_, err := a.mark(p) // perhaps a refused candidate; a task that was dropped is closed, and may count as one
		return err
	}
	h := a.byName[x.URL.Authority()]
	if h == nil {
		var err error
		if h, err = a.host(x.URL.Authority()); err != nil {
			return err
		}
	}
	r.salvage.LedgerAdded++
	c := frontier.Candidate{URL: x.URL, Kind: frontier.KindLink}
	return r.accept(h, c, layout.MakeEnding(x.Outcome, a.totals.Number(x.Reason)), false, nil)
}

// scan finds the values of a frontier in an untrusted file: it looks at every page as a leaf, and an element counts
// when its checksum proves journal and key. Free pages hold older copies. A value never changes under its key, so
// copies are equal, except after an unfinished commit whose keys the next commit used again. Hence values that the last
// commit refers to come first, keys beyond its counters are ignored, and of other versions that differ none counts.
type scan struct {
	file     *os.File
	size     int64
	pageSize int64
	live     []owner // of pages that the last commit refers to
	counters map[layout.Journal]uint64
	values   map[layout.Journal]map[uint64]found
	pieces   map[[34]byte]found
	formats  map[uint32]int
	secrets  []found
	totals   []found
	epoch    uint64
	covered  int64 // end of the last value that was found
	salvage  *Salvage
}

// owner is the owner of a page: none, a journal or the blobs (their number in owners, plus two), or another live
// part.
type owner uint8

const (
	nobody  owner = 0
	another owner = 1
)

func ownerOf(bucket string) owner {
	i := slices.Index(append(layout.Journals(), layout.BlobBucket), layout.Journal(bucket))
	if i < 0 {
		return another
	}
	return owner(i + 2)
}

// found is the place of a value, with its checksum.
type found struct {
	at       int64
	n        int
	sum      uint32
	live     bool
	disputed bool
}

const maxValue = layout.MaxBlock + 1<<20 // bytes: a record with a text of megabytes

func newScan(file *os.File, salvage *Salvage) (*scan, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s := &scan{
		file: file, size: info.Size(), salvage: salvage, counters: map[layout.Journal]uint64{},
		values: map[layout.Journal]map[uint64]found{}, pieces: map[[34]byte]found{}, formats: map[uint32]int{},
	}
	for _, j := range layout.Journals() {
		s.values[j] = map[uint64]found{}
	}
	m, ok := dbfile.LastMeta(file)
	s.pageSize = int64(m.PageSize)
	if !ok {
		s.pageSize = int64(os.Getpagesize()) // the default of bbolt
	}
	s.live = make([]owner, (s.size+s.pageSize-1)/s.pageSize)
	salvage.Pages = int64(len(s.live))
	for i := range int64(2) {
		if p, ok := dbfile.ReadMeta(file, i*s.pageSize); !ok || int64(p.PageSize) != s.pageSize {
			salvage.MetaSpoilt = true
		}
	}
	if ok {
		s.walk(m.Root, another, true, 0)
	}
	return s, nil
}

// read returns n bytes, or nil when they cannot be read.
func (s *scan) read(at int64, n int) []byte {
	if at < 0 || n < 0 || at+int64(n) > s.size {
		return nil
	}
	b := make([]byte, n)
	if _, err := s.file.ReadAt(b, at); err != nil {
		return nil
	}
	return b
}

// walk marks the readable pages that the last commit refers to.
func (s *scan) walk(id uint64, of owner, root bool, level int) {
	b := []byte(nil)
	if id >= 2 && id < uint64(len(s.live)) && s.live[id] == nobody && level <= dbfile.MaxLevels {
		b = s.read(int64(id)*s.pageSize, int(s.pageSize))
	}
	order := binary.NativeEndian
	if b == nil || order.Uint64(b) != id {
		s.salvage.LostPages++
		return
	}
	flags, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if flags != dbfile.Branch && flags != dbfile.Leaf {
		s.salvage.LostPages++
		return
	}
	s.live[id] = of
	for i := range min(count, int(s.pageSize-dbfile.HeaderSize)/dbfile.ElementSize) {
		e := b[dbfile.HeaderSize+i*dbfile.ElementSize:]
		if flags == dbfile.Branch {
			s.walk(order.Uint64(e[8:]), of, root, level+1)
			continue
		}
		x := dbfile.ParseElement(e)
		at := int64(id)*s.pageSize + int64(dbfile.HeaderSize+i*dbfile.ElementSize) + int64(x.Pos)
		if x.Flags != dbfile.Bucket || x.Key > 34 {
			continue
		}
		if v := s.read(at, int(x.Key)+16); v != nil {
			if root {
				s.counters[layout.Journal(v[:x.Key])] = order.Uint64(v[x.Key+8:])
			}
			if page := order.Uint64(v[x.Key:]); page != 0 {
				s.walk(page, ownerOf(string(v[:x.Key])), false, level+1)
			}
		}
	}
}

// all looks at all pages, and then drops the values that do not count.
func (s *scan) all(ctx context.Context) error {
	meter.Of(ctx, int64(len(s.live)))
	for i := range s.live {
		if err := ctx.Err(); err != nil {
			return err
		}
		meter.Add(ctx, 1)
		at := int64(i) * s.pageSize
		if at < s.covered && s.live[i] == nobody {
			continue // the middle of a value, whose bytes a site may have chosen
		}
		b := s.read(at, int(min(s.pageSize, s.size-at)))
		if b == nil {
			return fmt.Errorf("read page %d: the disk does not give it", i)
		}
		s.page(at, b, s.live[i], 0)
	}
	trusted := !s.salvage.MetaSpoilt
	intact := trusted && s.salvage.LostPages+s.salvage.Spoilt == 0
	for j, values := range s.values {
		last, known := s.counters[j]
		maps.DeleteFunc(values, func(seq uint64, f found) bool {
			if f.disputed && !intact {
				s.salvage.Ambiguous++
			}
			return f.disputed || !f.live && (intact || trusted && known && seq > last)
		})
	}
	return nil
}

// each calls f for the values of a journal that were found, in order.
func (s *scan) each(ctx context.Context, j layout.Journal, f func(seq uint64, body []byte) error) error {
	for _, seq := range slices.Sorted(maps.Keys(s.values[j])) {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := s.values[j][seq]
		b := s.read(v.at, v.n-4)
		if b == nil {
			return fmt.Errorf("read %s: value %d: the disk does not give it a second time", j, seq)
		}
		if err := f(seq, b); err != nil {
			return err
		}
	}
	return nil
}

// gaps returns the number of keys missing between from and the last, of a journal that never drops values.
func (s *scan) gaps(j layout.Journal, from uint64) int64 {
	last, n := from, int64(0)
	for seq := range s.values[j] {
		if seq > from {
			last = max(last, seq)
			n++
		}
	}
	if c, ok := s.counters[j]; ok && !s.salvage.MetaSpoilt && c > last && c-last < uint64(s.size) {
		last = c // without a checksum of its counter
	}
	return int64(last-from) - n
}

// page looks at b, at that place of the file, as a leaf. A page can hold a small bucket whole, in a value.
func (s *scan) page(at int64, b []byte, of owner, level int) {
	count := 0 // elements that must be values
	if len(b) >= dbfile.HeaderSize && of > another && binary.NativeEndian.Uint16(b[8:]) == dbfile.Leaf {
		count = int(binary.NativeEndian.Uint16(b[10:]))
	}
	slots, sound := s.slots(at, b, level)
	for i := 0; i < max(slots, count) && dbfile.HeaderSize+(i+1)*dbfile.ElementSize <= len(b); i++ {
		from := dbfile.HeaderSize + i*dbfile.ElementSize
		x := dbfile.ParseElement(b[from:])
		if x.Flags > dbfile.Bucket || x.Key == 0 || x.Key > 34 || x.Value > maxValue || x.Pos > 1<<30 {
			s.spoilt(i < count)
			continue
		}
		start, n := from+int(x.Pos), int(x.Key+x.Value)
		kv := []byte(nil)
		if start+n <= len(b) {
			kv = b[start : start+n]
		} else if kv = s.read(at+int64(start), n); kv == nil {
			s.spoilt(i < count)
			continue
		}
		k, v := kv[:x.Key:x.Key], kv[x.Key:]
		place := found{at: at + int64(start) + int64(x.Key), n: len(v), live: of != nobody}
		if x.Flags == dbfile.Bucket {
			if len(v) > 16+dbfile.HeaderSize && level == 0 {
				inner := nobody
				if of != nobody {
					inner = ownerOf(string(k))
				}
				s.page(place.at+16, v[16:], inner, 1)
			}
			continue
		}
		is := s.element(k, v, place)
		s.spoilt(!is && i < count)
		if is && sound && level == 0 {
			s.covered = max(s.covered, place.at+int64(place.n))
		}
	}
}

// slots returns how many elements to look for in a page, and whether its head is sound. In a sound page only the
// counted elements are looked at: they are followed by values, in which a site could forge elements. In a spoilt one,
// as many as fit.
func (s *scan) slots(at int64, b []byte, level int) (n int, sound bool) {
	if len(b) < dbfile.HeaderSize+dbfile.ElementSize {
		return 0, false
	}
	order := binary.NativeEndian
	id, flags, count := order.Uint64(b), order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if level == 0 && id != uint64(at/s.pageSize) {
		return len(b) / dbfile.ElementSize, false
	}
	switch {
	case flags == dbfile.Branch:
		return 0, true
	case flags == dbfile.Leaf && int(dbfile.ParseElement(b[dbfile.HeaderSize:]).Pos) == count*dbfile.ElementSize:
		// The first value is behind the last element.
		return count, true
	}
	return len(b) / dbfile.ElementSize, false
}

func (s *scan) spoilt(is bool) {
	if is {
		s.salvage.Spoilt++
	}
}

// element records a value if its checksum proves it.
func (s *scan) element(k, v []byte, f found) bool {
	bucket, ok := layout.Recognise(k, v)
	if !ok {
		return false
	}
	f.sum = binary.BigEndian.Uint32(v[len(v)-4:])
	switch bucket {
	case layout.MetaBucket:
		switch string(k) {
		case layout.FormatKey:
			s.formats[binary.BigEndian.Uint32(v)]++
		case layout.SecretKey:
			s.secrets = append(s.secrets, f)
		case layout.TotalsKey:
			s.totals = append(s.totals, f)
		case layout.EpochKey:
			s.epoch = max(s.epoch, binary.BigEndian.Uint64(v))
		}
	case layout.BlobBucket:
		s.pieces[[34]byte(k)] = better(s.pieces[[34]byte(k)], f)
	default:
		values, seq := s.values[layout.Journal(bucket)], binary.BigEndian.Uint64(k)
		values[seq] = better(values[seq], f)
	}
	return true
}

func better(old, f found) found {
	switch {
	case old.n == 0:
		return f
	case old.sum == f.sum && old.n == f.n:
		old.live = old.live || f.live
		return old
	case f.live && !old.live:
		return f
	case old.live && !f.live:
		return old
	}
	old.disputed = true
	return old
}
