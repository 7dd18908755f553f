package bolt

import (
	"bytes"
	"iter"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// groups is what has been applied and is not durable: the open group, which takes what is applied, and the sealed ones,
// which the writer commits in order. What they hold is read from them until it is in the file.
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
	flight    []byte                                 // the last record of what is in flight that was sealed
	lastSeed  uint64                                 // last value of the seed journal that is not in a group
}

// touch returns the open group, to put something into it.
func (gs *groups) touch(now int64) *group {
	if gs.open == nil {
		gs.open = &group{since: now, ended: make(chan struct{})}
		gs.prod()
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
			g.cells = append(g.cells, &layout.StateRecord{Address: layout.Address{Kind: layout.KindName, ID: uint64(h.id)}, Data: []byte(h.authority.String())})
		}
		g.cells = append(g.cells, h.state(*gs.clock, now))
	}
	g.totals = gs.totals.AppendTo(nil)
	if flight := gs.leases.inFlight(); !bytes.Equal(flight, gs.flight) {
		gs.flight, g.flight = flight, flight
	}
	gs.queue = append(gs.queue, g)
	gs.open, gs.filling = nil, nil
	gs.prod()
}

// sealFull seals the open group when it is as large as a transaction should be.
func (gs *groups) sealFull(now int64) {
	if gs.open.pages >= frontier.GroupPages || len(gs.open.prints) >= maxPrints {
		gs.seal(now)
	}
}

// prod tells the writer to look again.
func (gs *groups) prod() {
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
		gs.prod()
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
	gs.open.octets += textOctets(c)
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
	for _, c := range g.cells {
		if gs.unwritten[c.Address] == c {
			delete(gs.unwritten, c.Address)
		}
	}
}
