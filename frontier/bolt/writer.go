package bolt

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// group is one transaction: it is applied to RAM piece by piece, sealed, and then written.
type group struct {
	since  int64 // the delay of the commit counts from its first piece
	pages  int   // results
	urgent bool  // a caller waits for it

	prints   []frontier.Fingerprint
	records  []*layout.Record
	done     []layout.Done
	retired  []closedRetry // of closed tasks that had been deferred
	states   []*layout.StateRecord
	seeds    []frontier.Seed
	blobs    []layout.Blob
	dirty    []*host
	drops    drops
	totals   []byte // set by seal
	inFlight []byte // set by seal; nil when unchanged
	bytes    int64  // estimate of its size in the file, without the fields that weigh the same each

	ended chan struct{} // closed when it is durable, or will never be
	err   error         // why it will never be; set before ended is closed
}

// closedRetry is the retry of a closed task. The task may be deferred again before the group is durable, with another
// retry.
type closedRetry struct {
	ref   layout.Ref
	retry *retry
}

const (
	maxQueued  = 8       // sealed groups beyond which Finish waits for the disk
	maxPrints  = 1 << 16 // URLs of a group
	flushAfter = int64(frontier.GroupDelay)
)

func (g *group) change(h *host) {
	if !h.dirty {
		h.dirty = true
		g.dirty = append(g.dirty, h)
	}
}

func (g *group) keep(c *layout.StateRecord) {
	g.states = append(g.states, c)
	g.bytes += int64(len(c.Data)) + 8
}

// durable waits for the commit of g. A nil group is durable.
func (g *group) durable(ctx context.Context) error {
	if g == nil {
		return nil
	}
	select {
	case <-g.ended:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drops are the URLs that a group closes for an operator, for Options.Tell.
type drops struct {
	tasks []storedURL
	hosts map[canon.Authority]int64
}

// groups holds everything applied that is not durable: the open group, which grows, and the sealed ones, which the
// writer commits in order. Their contents are read from here until they are in the file. A URL is closed in the group
// that accepted it or a later one.
type groups struct {
	clock    *layout.Clock
	totals   *layout.Totals
	leases   *leases
	readOnly bool

	open    *group        // nil when nothing is to be written
	queue   []*group      // sealed, oldest first; the writer may be committing the first
	closing bool          // the writer is to commit the rest and end
	work    chan struct{} // wakes the writer; holds one

	records   uint64                                 // number of records
	filling   *layout.Record                         // in open, takes entries; may be nil
	fresh     map[uint64]*layout.Record              // not written yet; has the texts of the groups
	unwritten map[layout.Address]*layout.StateRecord // robots states and memories, not written yet
	inFlight  []byte                                 // last sealed record of the tasks in flight
}

// touch returns the open group, and begins one if necessary.
func (gs *groups) touch(now int64) *group {
	if gs.open == nil {
		gs.open = &group{since: now, ended: make(chan struct{})}
		gs.wakeWriter()
	}
	return gs.open
}

// seal queues the open group, if there is one, for the writer.
func (gs *groups) seal(now int64) {
	g := gs.open
	if g == nil {
		return
	}
	for _, h := range g.dirty {
		h.dirty = false
		if !h.named {
			h.named = true
			g.states = append(g.states, h.record(layout.KindName, []byte(h.authority.String())))
		}
		g.states = append(g.states, h.StateRecord(h.id, *gs.clock, now))
	}
	g.totals = gs.totals.AppendTo(nil)
	if record := gs.leases.inFlight(); !bytes.Equal(record, gs.inFlight) {
		gs.inFlight, g.inFlight = record, record
	}
	gs.queue = append(gs.queue, g)
	gs.open, gs.filling = nil, nil
	gs.wakeWriter()
}

// sealFull seals the open group when it has reached the size of a transaction.
func (gs *groups) sealFull(now int64) {
	if gs.open.pages >= frontier.GroupPages || len(gs.open.prints) >= maxPrints {
		gs.seal(now)
	}
}

func (gs *groups) wakeWriter() {
	select {
	case gs.work <- struct{}{}:
	default:
	}
}

// last returns the newest group that is not durable, nil when all are. The open one is to be committed at once.
func (gs *groups) last() *group {
	if gs.open != nil {
		gs.open.urgent = true
		gs.wakeWriter()
		return gs.open
	}
	if n := len(gs.queue); n > 0 {
		return gs.queue[n-1]
	}
	return nil
}

func (gs *groups) all() iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for _, g := range gs.queue {
			if !yield(g) {
				return
			}
		}
		if gs.open != nil {
			yield(gs.open)
		}
	}
}

// enter puts a candidate of h into a record, and returns the place of its text. The open group has been touched.
func (gs *groups) enter(h *host, c *frontier.Candidate, p frontier.Fingerprint) layout.Ref {
	if gs.filling == nil || gs.filling.Full() {
		gs.records++
		gs.filling = &layout.Record{ID: gs.records}
		gs.fresh[gs.records] = gs.filling
		gs.open.records = append(gs.open.records, gs.filling)
	}
	gs.open.bytes += textBytes(c)
	return layout.MakeRef(gs.records, gs.filling.Add(h.id, *c, p))
}

// store puts a robots state or memory into the open group, and keeps it readable until it is on disk.
func (gs *groups) store(c *layout.StateRecord) {
	gs.open.keep(c)
	gs.unwritten[c.Address] = c
}

// popSettled takes the first group, which is in the file, out of the queue.
func (gs *groups) popSettled() {
	g := gs.queue[0]
	gs.queue = slices.Delete(gs.queue, 0, 1)
	for _, r := range g.records {
		delete(gs.fresh, r.ID)
	}
	for _, c := range g.states {
		if gs.unwritten[c.Address] == c {
			delete(gs.unwritten, c.Address)
		}
	}
}

// writer makes groups durable, one after the other. Only its goroutine uses its fields; it takes mu for all others and
// never holds it while it reads or writes the file.
type writer struct {
	f       *Frontier
	stop    context.CancelFunc // ends it at once, barrier included
	stopped chan struct{}      // closed when it has ended

	zip      *layout.Zipper
	sweeper  layout.Sweeper
	sizes    layout.Sizes
	folded   int64 // words in the folded journal
	unfolded int64 // words in the done journal
	size     int64 // of the file, after the last commit
}

// run commits groups until f is closed or poisoned.
func (w *writer) run(ctx context.Context) {
	defer close(w.stopped)
	for {
		g := w.nextGroup(ctx)
		if g == nil {
			w.abandon()
			return
		}
		err := w.commit(ctx, g)
		if ctx.Err() != nil {
			w.abandon()
			return
		}
		w.settle(g, err)
	}
}

// nextGroup waits for a sealed group, or an open one that is urgent or old enough. It returns nil when none will come.
func (w *writer) nextGroup(ctx context.Context) *group {
	for {
		w.f.mu.Lock()
		now := w.f.clock.Now()
		g := w.f.groups.open
		if g != nil && (g.urgent || w.f.groups.closing || now-g.since >= flushAfter) {
			w.f.groups.seal(now)
		}
		var alarm <-chan time.Time
		switch {
		case w.f.err != nil || ctx.Err() != nil || w.f.groups.closing && len(w.f.groups.queue) == 0:
			w.f.mu.Unlock()
			return nil
		case len(w.f.groups.queue) > 0:
			g := w.f.groups.queue[0]
			w.f.mu.Unlock()
			return g
		case w.f.groups.open != nil:
			alarm = time.After(time.Duration(flushAfter - (now - w.f.groups.open.since)))
		}
		w.f.mu.Unlock()
		select {
		case <-w.f.groups.work:
		case <-alarm:
		case <-ctx.Done():
		}
	}
}

// commit makes g durable, after everything it relies on.
func (w *writer) commit(ctx context.Context, g *group) error {
	if err := w.tellDrops(ctx, g); err != nil {
		return err
	}
	if w.f.options.Barrier != nil {
		if err := w.f.options.Barrier(ctx); err != nil {
			return fmt.Errorf("frontier/bolt: commit %s: barrier: %w", w.f.path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, r := range g.records {
		w.sizes = append(w.sizes, uint8(len(r.Entries)-1))
	}
	w.unfolded += int64(len(g.done))
	// At half the folded words each word is folded about twice, and the journal stays a third of the whole.
	fold := w.unfolded >= max(w.folded/2, 1<<16) && w.mayFold(w.f.options.MaxSize)
	err := dbfile.Update(w.f.db, func(tx *bbolt.Tx) error {
		if err := w.write(tx, g); err != nil || !fold {
			return err
		}
		if err := w.fold(tx); err != nil {
			return err
		}
		return layout.Stamp(tx, w.f.clock)
	})
	if err == nil {
		err = w.measure(w.f.db)
	}
	if err != nil {
		return dbfile.WriteError("commit", w.f.path, err)
	}
	return nil
}

func (w *writer) measure(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		w.size = tx.Size()
		return nil
	})
}

func (w *writer) fold(tx *bbolt.Tx) error {
	all := layout.NewEndings(w.sizes)
	if _, _, err := all.Read(tx); err != nil {
		return err
	}
	if err := all.Fold(tx); err != nil {
		return err
	}
	w.folded, w.unfolded = w.folded+w.unfolded, 0
	return nil
}

// settle takes g out of the queue after its commit, from when on it is read from disk.
func (w *writer) settle(g *group, err error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if err != nil {
		w.f.poison(err)
		return
	}
	w.f.groups.popSettled()
	for _, p := range w.sweeper.Placed {
		if at := w.f.at(p.Address); at != nil {
			*at = p.Seq
		}
	}
	for _, r := range g.retired {
		if w.f.retries.of[r.ref] == r.retry {
			delete(w.f.retries.of, r.ref)
		}
	}
	w.f.caps.size = w.size
	w.f.caps.checkSize()
	close(g.ended)
}

// abandon ends the waits for groups that will not be committed.
func (w *writer) abandon() {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	groups := w.f.groups.queue
	if w.f.groups.open != nil {
		groups = append(groups, w.f.groups.open)
	}
	for _, g := range groups {
		g.err = w.f.usable()
		close(g.ended)
	}
}

// mayFold reports whether a fold keeps the file within maxSize: as runs, each word takes at most its three bytes and
// its number, and as much again for pending entries after it; a record without words takes three.
func (w *writer) mayFold(maxSize int64) bool {
	if maxSize == 0 {
		return true
	}
	most := 8*(w.folded+w.unfolded) + 3*int64(len(w.sizes))
	return w.size+most+most/8+reservePages <= maxSize
}

func (w *writer) write(tx *bbolt.Tx, g *group) error {
	if err := layout.WriteWords(tx, layout.SeenJournal, g.prints); err != nil {
		return err
	}
	var body []byte
	for _, r := range g.records {
		body = r.AppendTo(body[:0], w.zip)
		seq, err := layout.RecordJournal.Append(tx, body)
		if err != nil {
			return err
		}
		if seq != r.ID {
			return fmt.Errorf("record %d got the key %d: %w", r.ID, seq, frontier.ErrDamaged)
		}
	}
	if err := layout.WriteWords(tx, layout.DoneJournal, g.done); err != nil {
		return err
	}
	if err := w.sweeper.Commit(tx, g.states, w.counts); err != nil {
		return err
	}
	if err := layout.WriteSeeds(tx, g.seeds); err != nil {
		return err
	}
	if err := layout.WriteBlobs(tx, g.blobs); err != nil {
		return err
	}
	if err := layout.WriteInFlight(tx, g.inFlight); err != nil {
		return err
	}
	if err := layout.WriteTotals(tx, g.totals); err != nil {
		return err
	}
	return layout.Stamp(tx, w.f.clock)
}

// counts reports which state records are current.
func (w *writer) counts(ps []layout.Placed) []bool {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	yes := make([]bool, len(ps))
	for i, p := range ps {
		at := w.f.at(p.Address)
		yes[i] = at != nil && *at == p.Seq
	}
	return yes
}

// tellDrops reports the URLs that g closes for an operator.
func (w *writer) tellDrops(ctx context.Context, g *group) error {
	if w.f.options.Tell == nil || len(g.drops.tasks)+len(g.drops.hosts) == 0 {
		return nil
	}
	closings := frontier.Closings{Hosts: g.drops.hosts}
	err := w.f.db.View(func(tx *bbolt.Tx) error {
		records := layout.Lookup{Tx: tx, Journal: layout.RecordJournal}
		for _, t := range g.drops.tasks {
			c, err := w.candidateOf(&records, t)
			if err != nil {
				return err
			}
			closings.URLs = append(closings.URLs, c)
		}
		return nil
	})
	if err == nil {
		err = w.f.options.Tell(ctx, closings)
	}
	if err != nil {
		return fmt.Errorf("frontier/bolt: commit %s: report dropped URLs: %w", w.f.path, err)
	}
	return nil
}

// candidateOf returns a URL as it was accepted, from the file or the record to be written.
func (w *writer) candidateOf(records *layout.Lookup, t storedURL) (frontier.Candidate, error) {
	w.f.mu.Lock()
	a, fresh := w.f.hosts.all[t.host].authority, w.f.groups.fresh[t.ref.Record()]
	if fresh != nil {
		defer w.f.mu.Unlock()
		return fresh.Entries[t.ref.Place()], nil
	}
	w.f.mu.Unlock()
	return w.f.blocks.Entry(records, t.ref, a)
}
