package bolt

import (
	"cmp"
	"context"
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// dropBatch closes as many of the URLs that h has pending and under no lease as a group takes, and returns their
// number; with the last of them, h is closing no more. The caller holds mu and has touched the open group.
func (o *operator) dropBatch(h *host) int64 {
	refs := h.queue.TakeAny(maxPrints)
	o.dropRefs(h, refs)
	o.f.groups.open.drops.addHost(h, int64(len(refs)))
	if len(refs) < maxPrints {
		o.setClosing(h, false)
	}
	return int64(len(refs))
}

// dropRefs closes tasks that have been taken out of the places of h. The caller holds mu and has touched the open
// group.
func (o *operator) dropRefs(h *host, refs []layout.Ref) {
	o.f.hosts.count(h, -1)
	for _, r := range refs {
		*o.f.retries.counter(h, r)--
		o.f.turns.end(h, r, frontier.Dropped, frontier.ReasonOperator)
	}
	o.f.hosts.count(h, 1)
}

// dropAgain closes what the last run left of its drops: the rest of hosts that it died over, and tasks that were under
// a lease when it ended.
func (o *operator) dropAgain(now int64) {
	for _, h := range o.f.hosts.all {
		for h != nil && h.closing() {
			o.f.groups.touch(now)
			o.dropBatch(h)
			if h.closing() {
				o.f.groups.seal(now)
			}
		}
	}
	var marked []storedURL
	for r, t := range o.f.retries.of {
		if t.Dropped {
			marked = append(marked, storedURL{ref: r, host: t.host})
		}
	}
	if len(marked) > 0 {
		slices.SortFunc(marked, func(a, b storedURL) int { return cmp.Compare(a.ref, b.ref) })
		o.dropFound(marked, now)
	}
}

// dropURLs closes single URLs. They are looked for in the file, as Retry does, and closed if they are pending still.
func (o *operator) dropURLs(ctx context.Context, s frontier.Steering) (n frontier.Steered, err error) {
	if err := o.f.Sync(ctx); err != nil {
		return n, err
	}
	found, err := o.findURLs(ctx, s)
	if err != nil {
		return n, err
	}
	var g *group
	for batch := range slices.Chunk(found, maxPrints) {
		if err := o.f.room(ctx); err != nil {
			return n, err
		}
		err := o.f.changing(ctx, func(now int64) error {
			n.URLs += o.dropFound(batch, now)
			o.f.scheduler.wakeEnded(now)
			g = o.f.groups.last()
			o.f.groups.seal(now)
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
func (o *operator) dropFound(found []storedURL, now int64) (closed int64) {
	o.f.groups.touch(now)
	byHost := map[uint32][]layout.Ref{}
	for _, e := range found {
		byHost[e.host] = append(byHost[e.host], e.ref)
	}
	for id, refs := range byHost {
		h := o.f.hosts.all[id]
		taken := h.queue.TakeThese(refs)
		o.dropRefs(h, taken)
		closed += int64(len(taken))
		for _, r := range taken {
			o.f.groups.open.drops.tasks = append(o.f.groups.open.drops.tasks, storedURL{ref: r, host: id})
		}
		o.markDropped(h, now, func(r layout.Ref) bool {
			_, yes := slices.BinarySearch(refs, r)
			return yes
		})
		due, waiting := o.f.scheduler.due.Due(id)
		if at, ok := h.queue.Available(now); waiting && (!ok || at > max(now, due)) {
			o.f.scheduler.reschedule(h, now)
		}
	}
	return closed
}

// markDropped marks those tasks under the lease of h that are among the dropped. The caller holds mu and has touched
// the open group.
func (o *operator) markDropped(h *host, now int64, among func(layout.Ref) bool) {
	if h.lease == nil {
		return
	}
	for _, x := range h.lease.tasks {
		if !among(x.ref) {
			continue
		}
		t := o.f.retries.of[x.ref]
		if t == nil {
			t = &retry{Retry: layout.Retry{Due: now}}
			o.f.retries.of[x.ref] = t
		}
		if !t.Dropped {
			t.Dropped = true
			o.f.groups.open.keep(t.StateRecord(x.ref, o.f.clock, now))
		}
	}
}

// findURLs returns where the texts of the URLs of s are, closed or not, in the order of acceptance.
func (o *operator) findURLs(ctx context.Context, s frontier.Steering) (found []storedURL, err error) {
	wanted := map[frontier.Fingerprint]bool{}
	for _, u := range s.URLs {
		wanted[o.f.printer.Print(u)] = true
	}
	var h *host
	err = o.f.scan(ctx, func(int64) { h = o.f.hosts.byName[s.Authority] }, func(tx *bbolt.Tx) error {
		if h == nil {
			return nil
		}
		return o.f.eachText(ctx, tx, h.id, h.authority, func(r layout.Ref, c frontier.Candidate) error {
			if !wanted[o.f.printer.Print(c.URL)] {
				return nil
			}
			if found = append(found, storedURL{ref: r, host: h.id}); len(found) == len(wanted) {
				return halt{}
			}
			return nil
		})
	})
	return found, err
}
