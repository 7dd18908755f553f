package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
)

// reading calls note under mu and then read, in a transaction that was begun under mu: both see the same instant. Only
// ErrDamaged of read poisons the frontier; other errors are the caller's.
func (f *Frontier) reading(ctx context.Context, note func(now int64), read func(tx *bbolt.Tx) error) error {
	var tx *bbolt.Tx
	err := f.withLock(ctx, func(now int64) (err error) {
		note(now)
		if tx, err = f.db.Begin(false); err != nil {
			err = fmt.Errorf("frontier/bolt: read %s: %w", f.path, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = dbfile.Guard(func() error {
		defer tx.Rollback()
		return read(tx)
	})
	if errors.Is(err, frontier.ErrDamaged) {
		err = fmt.Errorf("frontier/bolt: read %s: %w", f.path, err)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.poison(err)
	}
	return err
}

// Stats implements frontier.Frontier.
func (f *Frontier) Stats(ctx context.Context) (st frontier.Stats, err error) {
	err = f.withLock(ctx, func(now int64) error {
		d := &f.hosts.sums
		st = frontier.Stats{
			Outcomes: f.totals.Outcomes, Reasons: f.totals.ByReason(),
			Capped: maps.Clone(f.totals.Capped), Counts: maps.Clone(f.totals.Counts),
			Queued: d.queued, InFlight: d.inFlight, Deferred: d.deferred,
			Hosts: d.known, Pending: d.pending, Leases: int64(f.leases.out),
			Parked: d.conditions[frontier.Parked], Retired: d.conditions[frontier.Retired], Refused: d.conditions[frontier.Refused],
			Stopped: d.stopped, Suspects: f.suspects.known, Size: f.caps.bytes(),
			Unclean: f.unclean, Restarts: max(int64(f.leases.epoch)-1, 0),
		}
		st.Discovered = f.totals.Closed() + d.queued + d.inFlight + d.deferred
		st.State, st.Due = f.scheduler.summary(now)
		return nil
	})
	return st, err
}

// Host implements frontier.Frontier.
func (f *Frontier) Host(ctx context.Context, a canon.Authority) (view frontier.Host, ok bool, err error) {
	var p *hostView
	err = f.reading(ctx, func(now int64) {
		if h := f.hosts.byName[a]; h != nil {
			p = viewHost(h, f.groups.unwritten, now)
		}
	}, func(tx *bbolt.Tx) error {
		if p == nil {
			return nil
		}
		return p.complete(&layout.Lookup{Tx: tx, Journal: layout.StateJournal})
	})
	if err != nil || p == nil {
		return frontier.Host{}, false, err
	}
	return p.view, true, nil
}

// Hosts implements frontier.Frontier.
func (f *Frontier) Hosts(ctx context.Context, after canon.Authority, limit int) ([]frontier.Host, error) {
	if limit <= 0 {
		return nil, ctx.Err()
	}
	var hosts []*host
	err := f.withLock(ctx, func(int64) error {
		hosts = f.hosts.all // only ever appended to
		return nil
	})
	if err != nil {
		return nil, err
	}
	page := f.hosts.names.page(hosts, after, limit)
	var ps []*hostView
	err = f.reading(ctx, func(now int64) {
		for _, h := range page {
			ps = append(ps, viewHost(h, f.groups.unwritten, now))
		}
	}, func(tx *bbolt.Tx) error {
		states := layout.Lookup{Tx: tx, Journal: layout.StateJournal}
		for _, p := range ps {
			if err := p.complete(&states); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	views := make([]frontier.Host, len(ps))
	for i, p := range ps {
		views[i] = p.view
	}
	return views, nil
}

// Seen implements frontier.Frontier. It errs only by colliding fingerprints.
func (f *Frontier) Seen(ctx context.Context, us []canon.URL) ([]bool, error) {
	yes := make([]bool, len(us))
	prints := make(map[frontier.Fingerprint][]int, len(us))
	for i, u := range us {
		p := f.printer.Print(u)
		prints[p] = append(prints[p], i)
	}
	mark := func(p frontier.Fingerprint) {
		for _, i := range prints[p] {
			yes[i] = true
		}
	}
	if f.readOnly { // the set is not in RAM
		err := f.reading(ctx, func(int64) {}, func(tx *bbolt.Tx) error {
			return layout.ReadWords(tx, layout.SeenJournal, func(p frontier.Fingerprint) error {
				mark(p)
				return nil
			})
		})
		return yes, err
	}
	err := f.withLock(ctx, func(int64) error {
		for p := range prints {
			if f.seen.Has(p) {
				mark(p)
			}
		}
		return nil
	})
	return yes, err
}

// Blob implements frontier.Frontier.
func (f *Frontier) Blob(ctx context.Context, sum [32]byte) ([]byte, error) {
	var later, body []byte // later is not in the file yet
	find := func(g *group) {
		for _, b := range g.blobs {
			if b.Sum == sum {
				later = append([]byte{}, b.Body...)
			}
		}
	}
	err := f.reading(ctx, func(int64) {
		for g := range f.groups.all() {
			find(g)
		}
	}, func(tx *bbolt.Tx) (err error) {
		body, err = layout.ReadBlob(tx, sum)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case later != nil:
		return later, nil
	case body == nil:
		return nil, frontier.ErrNoBlob
	}
	return body, nil
}

const seedValues = 64 // values of the journal, of some 40 seeds each, that AllSeeds reads at once

// AllSeeds implements frontier.Frontier. It makes earlier calls durable, reads some values of the journal in one
// transaction, and yields their seeds after it.
func (f *Frontier) AllSeeds(ctx context.Context) iter.Seq2[frontier.Seed, error] {
	return func(yield func(frontier.Seed, error) bool) {
		var err error
		if !f.readOnly {
			err = f.Sync(ctx)
		}
		for after, more := uint64(0), true; more && err == nil; after += seedValues {
			var page []frontier.Seed
			err = f.reading(ctx, func(int64) {}, func(tx *bbolt.Tx) error {
				more = layout.SeedJournal.Last(tx) > after+seedValues
				return layout.EachSeed(tx, after, after+seedValues, func(s frontier.Seed) error {
					page = append(page, s)
					return nil
				})
			})
			for _, s := range page {
				if err == nil && !yield(s, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(frontier.Seed{}, err)
		}
	}
}

// Survey implements frontier.Frontier: one pass over the hosts, under mu and without the disk.
func (f *Frontier) Survey(ctx context.Context, n int) (s frontier.Survey, err error) {
	err = f.withLock(ctx, func(now int64) error {
		longest, shut := top{n: n}, top{n: n}
		s = frontier.Survey{Why: map[frontier.Condition]map[string]int64{}, Holds: map[frontier.Act]int64{}}
		for _, h := range f.hosts.all {
			if h == nil {
				continue
			}
			if h.Hold != nil {
				s.Holds[h.Hold.Act]++
			}
			if h.Condition != frontier.Open {
				if s.Why[h.Condition] == nil {
					s.Why[h.Condition] = map[string]int64{}
				}
				s.Why[h.Condition][h.Reason]++
			}
			if h.pending() == 0 {
				continue
			}
			longest.offer(h)
			if h.Condition != frontier.Open || h.Hold != nil {
				shut.offer(h)
			}
		}
		s.Longest, s.Shut = longest.views(now), shut.views(now)
		return nil
	})
	return s, err
}

// views describes the hosts of t without robots state and memory. The caller holds mu.
func (t top) views(now int64) (views []frontier.Host) {
	for _, h := range t.hosts {
		v := viewHost(h, nil, now).view
		v.Robots, v.Memory = nil, nil
		views = append(views, v)
	}
	return views
}

func rank(a, b *host) int {
	return cmp.Or(cmp.Compare(b.pending(), a.pending()), strings.Compare(a.authority.String(), b.authority.String()))
}

// top holds the first n of the offered hosts, by rank.
type top struct {
	n     int
	hosts []*host
}

func (t *top) offer(h *host) {
	i, _ := slices.BinarySearchFunc(t.hosts, h, rank)
	if i < t.n {
		t.hosts = slices.Insert(t.hosts, i, h)[:min(len(t.hosts)+1, t.n)]
	}
}

// Export hands the whole frontier to yield, in the order of frontier.Item. It needs a frontier from OpenReadOnly: it
// takes as long as the file is large, and one in use would change meanwhile and could not free old pages. It keeps ten
// bytes per URL in RAM, for the endings and to find fingerprints without a record. It ends with the first error of
// yield, or of ctx.
//
// URLs whose text Compact has dropped are exported as refused fingerprints, with ReasonForgotten: they are not accepted
// again, but count as Dropped, and for no cap. Closed URLs have no attempts. After an unclean stop the items are as the
// next opening would make them: a task in flight counts one more stop, and is quarantined after the last one; a task
// that an operator had dropped is Dropped.
func (f *Frontier) Export(ctx context.Context, yield func(frontier.Item) error) error {
	return f.export(ctx, false, yield)
}

// List is Export for people: each URL has the state that Stats counts, not that of the next opening.
func (f *Frontier) List(ctx context.Context, yield func(frontier.Item) error) error {
	return f.export(ctx, true, yield)
}

func (f *Frontier) export(ctx context.Context, stored bool, yield func(frontier.Item) error) error {
	if !f.readOnly {
		return fmt.Errorf("frontier/bolt: export %s: it is open for a crawl: close it, and open it with OpenReadOnly", f.path)
	}
	st, err := f.Stats(ctx)
	if err != nil {
		return err
	}
	e := &exporter{f: f, stored: stored, totals: frontier.Totals{
		Refused: map[canon.Authority]int64{}, Reasons: map[string]int64{}, Capped: st.Capped, Counts: st.Counts,
	}}
	var ended error // by the caller
	e.yield = func(i frontier.Item) error {
		if ended = ctx.Err(); ended == nil {
			ended = yield(i)
		}
		return ended
	}
	for reason, n := range st.Reasons[frontier.Dropped] {
		e.totals.Reasons[reason] = n
	}
	err = f.reading(ctx, e.note, func(tx *bbolt.Tx) error {
		for _, step := range []func(*bbolt.Tx) error{e.head, e.seeds, e.blobs, e.hostItems} {
			if err := step(tx); err != nil {
				return err
			}
		}
		if err := e.urls(ctx, tx); err != nil {
			return err
		}
		return e.yield(frontier.Item{Totals: &e.totals})
	})
	return cmp.Or(ended, err)
}

type exporter struct {
	f        *Frontier
	stored   bool // see List
	yield    func(frontier.Item) error
	now      int64
	hosts    []*hostView
	inFlight layout.InFlight // the record of an unclean stop that no opening has judged yet
	totals   frontier.Totals
}

func (e *exporter) note(now int64) {
	e.now = now
	for _, h := range e.f.hosts.all {
		if h == nil {
			continue
		}
		e.hosts = append(e.hosts, viewHost(h, e.f.groups.unwritten, now))
		if h.Refused > 0 {
			e.totals.Refused[h.authority] = int64(h.Refused)
		}
	}
	e.totals.Strange = e.f.totals.Strangers
}

func (e *exporter) head(tx *bbolt.Tx) error {
	m, _, err := layout.ReadMeta(tx, e.f.clock)
	if err != nil {
		return err
	}
	if e.inFlight, err = e.f.recordToJudge(tx); err != nil {
		return err
	}
	h := &frontier.Head{Secret: m.Secret, Openings: int64(m.Epoch), Unclean: !m.Clean, Floor: time.Duration(max(e.f.oldFloor-e.now, 0))}
	return e.yield(frontier.Item{Head: h})
}

func (e *exporter) seeds(tx *bbolt.Tx) error {
	return layout.EachSeed(tx, 0, layout.SeedJournal.Last(tx), func(s frontier.Seed) error { return e.yield(frontier.Item{Seed: &s}) })
}

func (e *exporter) blobs(tx *bbolt.Tx) error {
	for b, err := range layout.Blobs(tx) {
		if err == nil {
			err = e.yield(frontier.Item{Blob: b.Body})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) hostItems(tx *bbolt.Tx) error {
	states := layout.Lookup{Tx: tx, Journal: layout.StateJournal}
	for _, p := range e.hosts {
		if err := p.complete(&states); err != nil {
			return err
		}
		view := p.view
		*p = hostView{}
		if err := e.yield(frontier.Item{Host: &view}); err != nil {
			return err
		}
	}
	return nil
}

const refusedAtOnce = 1 << 12 // fingerprints of an item, at most

// urls yields the URLs, and after them the fingerprints without a record.
func (e *exporter) urls(ctx context.Context, tx *bbolt.Tx) error {
	all, err := layout.ReadEndings(tx)
	if err != nil {
		return err
	}
	recorded := &dbfile.Set{}
	recorded.Reserve(len(all.All))
	forgotten := func(spans []layout.Span) { // as refused: only the fingerprints remain
		for _, s := range spans {
			e.totals.Refused[e.f.hosts.all[s.Host].authority] += int64(s.N)
			e.totals.Reasons[ReasonForgotten] += int64(s.N)
		}
	}
	err = e.f.eachText(ctx, tx, nil, forgotten, func(r layout.Ref, h *host, c frontier.Candidate) error {
		x, err := e.entry(c, r, h, *all.Of(r))
		if err != nil {
			return err
		}
		recorded.Add(x.Print)
		return e.yield(frontier.Item{URL: x})
	})
	if err != nil {
		return err
	}
	return e.refused(tx, recorded)
}

// ReasonForgotten is the reason in an export of URLs whose text Compact has dropped.
const ReasonForgotten = "forgotten by compact"

// entry returns the URL at r with its state, and takes its reason off the reasons of refused candidates.
func (e *exporter) entry(c frontier.Candidate, r layout.Ref, h *host, end layout.Ending) (*frontier.Entry, error) {
	x := &frontier.Entry{Candidate: c, Print: e.f.printer.Print(c.URL), Outcome: end.Outcome()}
	if end != 0 {
		if x.Reason = reasonOf(end, e.f.totals.Reasons); x.Outcome == frontier.Dropped && x.Reason != "" {
			if e.totals.Reasons[x.Reason]--; e.totals.Reasons[x.Reason] == 0 {
				delete(e.totals.Reasons, x.Reason)
			}
		}
		return x, nil
	}
	t := retry{}
	if stored := e.f.retries.of[r]; stored != nil {
		t = *stored
	}
	if _, yes := slices.BinarySearch(e.inFlight.Refs, r); yes && !e.stored {
		t.stop(e.inFlight)
	}
	return x, t.describe(x, e.now, !e.stored, h.closing())
}

// refused yields the fingerprints that are seen and not recorded.
func (e *exporter) refused(tx *bbolt.Tx, recorded *dbfile.Set) error {
	var ps []frontier.Fingerprint
	flush := func() error {
		if len(ps) == 0 {
			return nil
		}
		defer func() { ps = nil }()
		return e.yield(frontier.Item{Refused: ps})
	}
	err := layout.ReadWords(tx, layout.SeenJournal, func(p frontier.Fingerprint) error {
		if recorded.Has(p) {
			return nil
		}
		if ps = append(ps, p); len(ps) < refusedAtOnce {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// Entry returns the URL that became a task under the key of u, with its state as Export would have it; ok is false when
// none did. It passes over the heads of all records and the texts of those with URLs of the host: for people, not for a
// crawl. During a crawl it returns the durable state.
func (f *Frontier) Entry(ctx context.Context, u canon.URL) (x frontier.Entry, ok bool, err error) {
	if !f.readOnly {
		if err := f.Sync(ctx); err != nil {
			return x, false, err
		}
	}
	x.Print = f.printer.Print(u)
	var h *host
	var at layout.Ref // place of the text
	err = f.reading(ctx, func(int64) { h = f.hosts.byName[u.Authority()] }, func(tx *bbolt.Tx) error {
		if h == nil {
			return nil
		}
		return f.eachText(ctx, tx, h, func([]layout.Span) {}, func(r layout.Ref, _ *host, c frontier.Candidate) error {
			if f.printer.Print(c.URL) == x.Print {
				at, x.Candidate = r, c
			}
			return nil
		})
	})
	if err != nil || at == 0 {
		return frontier.Entry{}, false, err
	}
	var t retry
	var now int64
	var closing bool
	var reasons []string
	err = f.reading(ctx, func(instant int64) {
		now, closing, reasons = instant, h.closing(), f.totals.Reasons // only ever appended to
		if kept := f.retries.of[at]; kept != nil {
			t = *kept
		}
	}, func(tx *bbolt.Tx) error {
		all, err := layout.ReadEndings(tx)
		if err != nil {
			return err
		}
		end := all.Of(at)
		if end == nil {
			return fmt.Errorf("record %d has no entry %d: %w", at.Record(), at.Place(), frontier.ErrDamaged)
		}
		if *end != 0 {
			x.Outcome, x.Reason = end.Outcome(), reasonOf(*end, reasons)
			return nil
		}
		left, err := f.recordToJudge(tx)
		if err != nil {
			return err
		}
		if _, yes := slices.BinarySearch(left.Refs, at); yes {
			t.stop(left)
		}
		return t.describe(&x, now, true, closing)
	})
	return x, err == nil, err
}

func reasonOf(e layout.Ending, reasons []string) string {
	if n := e.Reason(); n > 0 && n <= len(reasons) {
		return reasons[n-1]
	}
	return ""
}

// recordToJudge returns the record of an unclean stop that no opening has judged.
func (f *Frontier) recordToJudge(tx *bbolt.Tx) (r layout.InFlight, err error) {
	if !f.readOnly || !f.unclean {
		return r, nil
	}
	r, _, err = layout.ReadInFlight(tx)
	return r, err
}

// eachText calls see for the URLs of host only (nil: all hosts), pending or closed, in the order of acceptance. Only
// texts of records with such URLs are read. For a record without texts, which Compact has dropped, it calls forgotten
// with its spans: its URLs are closed.
func (f *Frontier) eachText(ctx context.Context, tx *bbolt.Tx, only *host, forgotten func([]layout.Span),
	see func(r layout.Ref, h *host, c frontier.Candidate) error,
) error {
	var spans []layout.Span
	return layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		if only != nil && !slices.ContainsFunc(spans, func(x layout.Span) bool { return x.Host == only.id }) {
			return nil
		}
		b, err := layout.ParseBlock(body, f.blocks.Zip)
		if err != nil {
			return err
		}
		if b.Forgotten() {
			forgotten(spans)
			return nil
		}
		for place := range b.Len() {
			h := only
			if id, _ := b.Host(place); h == nil {
				h = f.hosts.all[id]
			} else if id != h.id {
				continue
			}
			c, err := b.Entry(place, h.authority)
			if err == nil {
				err = see(layout.MakeRef(seq, place), h, c)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// describe fills in the state of a pending URL, with judged as the next opening would make it; closing reports that its
// host is being dropped.
func (t *retry) describe(x *frontier.Entry, now int64, judged, closing bool) (err error) {
	switch {
	case judged && (t.Dropped || closing):
		x.Outcome, x.Reason = frontier.Dropped, frontier.ReasonOperator
		return nil
	case judged && t.condemned():
		x.Outcome, x.Reason = frontier.Failed, frontier.ReasonQuarantined
		return nil
	}
	x.Reason, x.Attempts, x.Deferred, x.Stops, x.Alone = t.Reason, t.Attempts, t.deferred(), t.Stops, t.Alone
	if x.Deferred {
		x.Wait = time.Duration(max(t.Due-now, 0))
	}
	if t.URL != "" {
		x.Replaced, err = canon.Parse(t.URL)
	}
	return err
}

// Snapshot writes a copy of the frontier's file to path, which must not exist, while the crawl continues. The copy is
// the state at a commit after the call, as a crash would leave it: that of a running crawl shows an unclean stop. It is
// made beside path and renamed when it is durable; after an error nothing of it is left.
//
// It takes one read transaction: pages that are freed meanwhile are reused only after it, so the file of a busy crawl
// grows.
func (f *Frontier) Snapshot(ctx context.Context, path string) error {
	err := f.snapshot(ctx, path)
	if err != nil {
		return fmt.Errorf("frontier/bolt: snapshot of %s to %s: %w", f.path, path, err)
	}
	return nil
}

func (f *Frontier) snapshot(ctx context.Context, path string) error {
	if err := vacant(path); err != nil {
		return err
	}
	if !f.readOnly {
		if err := f.Sync(ctx); err != nil {
			return err
		}
	}
	return durable.New(path, func(w io.Writer) error { return f.copyTo(ctx, w) })
}

// vacant fails when there is something at path: a copy must not replace the frontier.
func vacant(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%w: name another file, or move that one away", fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// copyTo writes the file as of the last commit. A failure to write does not poison the frontier.
func (f *Frontier) copyTo(ctx context.Context, w io.Writer) error {
	var tx *bbolt.Tx
	err := f.withLock(ctx, func(int64) (err error) {
		tx, err = f.db.Begin(false)
		return err
	})
	if err != nil {
		return err
	}
	return dbfile.Guard(func() error {
		defer tx.Rollback()
		_, err := tx.WriteTo(writerFunc(func(b []byte) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			return w.Write(b)
		}))
		return cmp.Or(ctx.Err(), err) // bbolt does not wrap all errors
	})
}

type writerFunc func(b []byte) (int, error)

func (w writerFunc) Write(b []byte) (int, error) { return w(b) }
