package bolt

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// group is what one transaction commits: it is applied to RAM piece by piece, sealed, and then only written.
type group struct {
	since  int64 // when its first piece was applied; the delay of the commit is counted from there
	pages  int   // results
	urgent bool  // somebody waits for it

	prints   []frontier.Fingerprint
	records  []*layout.Record
	done     []layout.Done
	retired  []closedRetry // of closed tasks that had been deferred
	states   []*layout.StateRecord
	seeds    []frontier.Seed
	blobs    []layout.Blob
	dirty    []*host
	drops    drops
	totals   []byte // set when it is sealed
	inFlight []byte // likewise; nil when it is what it was
	bytes    int64  // that it will add to the file, roughly

	ended chan struct{} // closed when it is durable, or will never be
	err   error         // why it will never be; set before ended is closed
}

// closedRetry is what was kept of a deferred task that is closed. The task may be deferred anew before the group is
// durable, if an operator has it tried again: that is another retry.
type closedRetry struct {
	ref   layout.Ref
	retry *retry
}

const (
	maxQueued  = 8       // sealed groups beyond which Finish waits for the disk
	maxPrints  = 1 << 16 // URLs of a group
	flushAfter = int64(frontier.GroupDelay)
)

// change marks h: its state is written with the group.
func (g *group) change(h *host) {
	if !h.dirty {
		h.dirty = true
		g.dirty = append(g.dirty, h)
	}
}

// keep puts a state record into the group.
func (g *group) keep(c *layout.StateRecord) {
	g.states = append(g.states, c)
	g.bytes += int64(len(c.Data)) + 8
}

// keepBlobs puts bodies into the group.
func (g *group) keepBlobs(bs []layout.Blob) {
	for _, b := range bs {
		g.bytes += int64(len(b.Body)) + 64
	}
	g.blobs = append(g.blobs, bs...)
}

// weight returns what g will add to the file, roughly.
func (g *group) weight() int64 {
	return g.bytes + 8*int64(len(g.prints)+len(g.done)) + 48*int64(len(g.dirty))
}

// durable waits until g is. Nil is.
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

// drops is what a group closes for an operator, for Options.Tell.
type drops struct {
	tasks []storedURL
	hosts map[canon.Authority]int64
}

// addHost notes that n URLs of h are closed.
func (u *drops) addHost(h *host, n int64) {
	if n == 0 {
		return
	}
	if u.hosts == nil {
		u.hosts = map[canon.Authority]int64{}
	}
	u.hosts[h.authority] += n
}

// groups is what has been applied and is not durable: the open group, which takes what is applied, and the sealed ones,
// which the writer commits in order. Their contents are read from them until they are in the file.
//
// A URL is closed in the group that accepted it or a later one, and a reference is given once; the texts of the groups
// are those in fresh.
type groups struct {
	clock    *layout.Clock
	totals   *layout.Totals
	leases   *leases
	readOnly bool

	open    *group        // nil when nothing is to be written
	queue   []*group      // sealed, oldest first; the first may be in the writer's hands
	closing bool          // the writer is to finish what there is and end
	work    chan struct{} // tells the writer that there may be something to do; holds one

	records   uint64                                 // id of the last record
	filling   *layout.Record                         // in open, takes entries; nil when there is none
	fresh     map[uint64]*layout.Record              // not written yet
	unwritten map[layout.Address]*layout.StateRecord // robots states and memories, likewise
	inFlight  []byte                                 // the last record of what is in flight that was sealed
	lastSeed  uint64                                 // last value of the seed journal that is not in a group
}

// touch returns the open group, to put something into it.
func (gs *groups) touch(now int64) *group {
	if gs.open == nil {
		gs.open = &group{since: now, ended: make(chan struct{})}
		gs.wakeWriter()
	}
	return gs.open
}

// seal closes the open group, if there is one, and queues it for the writer.
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

// sealFull seals the open group when it is as large as a transaction should be.
func (gs *groups) sealFull(now int64) {
	if gs.open.pages >= frontier.GroupPages || len(gs.open.prints) >= maxPrints {
		gs.seal(now)
	}
}

// wakeWriter tells the writer to look again.
func (gs *groups) wakeWriter() {
	select {
	case gs.work <- struct{}{}:
	default:
	}
}

// last returns the group that holds the latest of what has been applied and is not durable, nil when all is; with
// urgent it is to be committed at once.
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

// all yields the groups that are not durable, oldest first.
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

// enter puts a candidate of h into the record that is being filled, and returns where its text will be. The open group
// has been touched.
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

// store puts a robots state or memory into the open group, from where it is read until it is on disk.
func (gs *groups) store(c *layout.StateRecord) {
	gs.open.keep(c)
	gs.unwritten[c.Address] = c
}

// enterSeeds puts the seeds among candidates of the open group into the list of seeds. It has been touched.
func (gs *groups) enterSeeds(cs []frontier.Candidate) {
	for _, c := range cs {
		if c.Kind == frontier.KindSeed {
			gs.open.seeds = append(gs.open.seeds, frontier.Seed{URL: c.URL, Tag: c.Tag})
		}
	}
}

// settled takes the first group out of the queue: from now on it is read from the file.
func (gs *groups) settled() {
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
