package bolt

import (
	"cmp"
	"context"
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// place returns the counter of h for the task r, which is pending and under no lease. The caller holds mu.
func (f *Frontier) place(h *host, r layout.Ref) *uint32 {
	if f.retries[r].deferred() {
		return &h.deferred
	}
	return &h.queued
}

// droppedHost reports whether candidates of a are refused. The caller holds mu.
func (f *Frontier) droppedHost(a canon.Authority) bool {
	if f.scheduler.stopped == 0 {
		return false // nearly always, and there is one question per link
	}
	h := f.byName[a]
	return h != nil && h.dropped()
}

// refusal returns the reason why c never becomes a task, empty when it may. The caller holds mu.
func (f *Frontier) refusal(c *frontier.Candidate) string {
	if c.Refused == "" && f.droppedHost(c.URL.Authority()) {
		return frontier.ReasonOperator
	}
	return c.Refused
}

// dropLeft closes the task r of h, which was under a lease and is in no place of h, if an operator has dropped it
// meanwhile. The caller holds mu and has touched the open group.
func (f *Frontier) dropLeft(h *host, r layout.Ref) bool {
	if t := f.retries[r]; t == nil || !t.dropped {
		return false
	}
	f.end(h, r, frontier.Dropped, frontier.ReasonOperator)
	return true
}

// dropBatch closes as many of the URLs that h has pending and under no lease as a group takes, and returns their number;
// with the last of them, h is closing no more. The caller holds mu and has touched the open group.
func (f *Frontier) dropBatch(h *host) int64 {
	refs := h.takeAny(maxPrints)
	f.dropRefs(h, refs)
	f.open.untold.addHost(h, int64(len(refs)))
	if len(refs) < maxPrints {
		f.setClosing(h, false)
	}
	return int64(len(refs))
}

// dropRefs closes tasks that have been taken out of the places of h. The caller holds mu and has touched the open group.
func (f *Frontier) dropRefs(h *host, refs []layout.Ref) {
	f.count(h, -1)
	for _, r := range refs {
		*f.place(h, r)--
		f.end(h, r, frontier.Dropped, frontier.ReasonOperator)
	}
	f.count(h, 1)
}

// dropAgain closes what the last run left of its drops: the rest of hosts that it died over, and tasks that were under a
// lease when it ended.
func (f *Frontier) dropAgain(now int64) {
	for _, h := range f.hosts {
		for h != nil && h.closing() {
			f.touch(now)
			f.dropBatch(h)
			if h.closing() {
				f.seal(now)
			}
		}
	}
	var marked []ended
	for r, t := range f.retries {
		if t.dropped {
			marked = append(marked, ended{ref: r, host: t.host})
		}
	}
	if len(marked) > 0 {
		slices.SortFunc(marked, func(a, b ended) int { return cmp.Compare(a.ref, b.ref) })
		f.dropFound(marked, now)
	}
}

// dropURLs closes single URLs. They are looked for in the file, as Retry does, and closed if they are pending still.
func (f *Frontier) dropURLs(ctx context.Context, s frontier.Steering) (n frontier.Steered, err error) {
	if err := f.Sync(ctx); err != nil {
		return n, err
	}
	found, err := f.findURLs(ctx, s)
	if err != nil {
		return n, err
	}
	var g *group
	for batch := range slices.Chunk(found, maxPrints) {
		if err := f.room(ctx); err != nil {
			return n, err
		}
		err := f.changing(ctx, func(now int64) error {
			n.URLs += f.dropFound(batch, now)
			f.wakeEnded(now)
			g = f.last()
			f.seal(now)
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	return n, g.durable(ctx)
}

// dropFound closes those of the tasks in found, which are in the order of their references, that are pending, and marks
// those that are under a lease: they are closed when it ends, also by a death. The caller holds mu.
func (f *Frontier) dropFound(found []ended, now int64) (closed int64) {
	f.touch(now)
	byHost := map[uint32][]layout.Ref{}
	for _, e := range found {
		byHost[e.host] = append(byHost[e.host], e.ref)
	}
	for id, refs := range byHost {
		h := f.hosts[id]
		taken := h.takeThese(refs)
		f.dropRefs(h, taken)
		closed += int64(len(taken))
		for _, r := range taken {
			f.open.untold.tasks = append(f.open.untold.tasks, ended{ref: r, host: id})
		}
		f.markDropped(h, now, func(r layout.Ref) bool {
			_, yes := slices.BinarySearch(refs, r)
			return yes
		})
		due, waiting := f.scheduler.due.Due(id)
		if at, ok := h.available(now); waiting && (!ok || at > max(now, due)) {
			f.reschedule(h, now)
		}
	}
	return closed
}

// markDropped marks those tasks under the lease of h that are among the dropped. The caller holds mu and has touched the
// open group.
func (f *Frontier) markDropped(h *host, now int64, among func(layout.Ref) bool) {
	if h.lease == nil {
		return
	}
	for _, x := range h.lease.tasks {
		if !among(x.ref) {
			continue
		}
		t := f.retries[x.ref]
		if t == nil {
			t = &retry{due: now}
			f.retries[x.ref] = t
		}
		if !t.dropped {
			t.dropped = true
			f.open.keep(t.state(x.ref, f.clock, now))
		}
	}
}

// findURLs returns where the texts of the URLs of s are, closed or not, in the order of acceptance: one pass over the
// heads of the records, and over the texts of those that have some of the host.
func (f *Frontier) findURLs(ctx context.Context, s frontier.Steering) (found []ended, err error) {
	wanted := map[frontier.Fingerprint]bool{}
	for _, u := range s.URLs {
		wanted[f.printer.Print(u)] = true
	}
	var h *host
	var spans []layout.Span
	err = f.scan(ctx, func(int64) { h = f.byName[s.Authority] }, func(tx *bbolt.Tx) error {
		if h == nil {
			return nil
		}
		return layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
			if len(found) == len(wanted) || ctx.Err() != nil {
				return halt{ctx.Err()}
			}
			if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
				return err
			}
			if !slices.ContainsFunc(spans, func(x layout.Span) bool { return x.Host == h.id }) {
				return nil
			}
			b, err := layout.ParseBlock(body, f.blocks.Zip)
			if err != nil {
				return err
			}
			if b.Forgotten() {
				return nil // they are closed
			}
			for place := range b.Len() {
				if id, _ := b.Host(place); id != h.id {
					continue
				}
				c, err := b.Entry(place, h.authority)
				if err != nil {
					return err
				}
				if wanted[f.printer.Print(c.URL)] {
					found = append(found, ended{ref: layout.MakeRef(seq, place), host: h.id})
				}
			}
			return nil
		})
	})
	return found, err
}
