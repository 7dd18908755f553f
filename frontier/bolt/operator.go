package bolt

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// command waits until no other command of an operator is under way, and begins one; the caller calls end. Retry and
// Steer take mu for each batch of URLs, leave it between two, and read the file without it.
func (f *Frontier) command(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case f.commands <- struct{}{}:
		return func() { <-f.commands }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Steer implements frontier.Frontier. Only one command runs at a time, Retry included.
func (f *Frontier) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if err := s.Check(); err != nil {
		return frontier.Steered{}, fmt.Errorf("frontier/bolt: steer: %w", err)
	}
	end, err := f.command(ctx)
	if err != nil {
		return frontier.Steered{}, err
	}
	defer end()
	if len(s.URLs) > 0 {
		return f.dropURLs(ctx, s)
	}
	var n frontier.Steered
	var g *group
	var h *host
	err = f.changing(ctx, func(now int64) error {
		h = f.hosts.byName[s.Authority]
		if h == nil && s.Act == frontier.Resume {
			return nil
		}
		f.groups.touch(now)
		h = f.hosts.know(s.Authority)
		n.Changed = f.obey(h, s, now)
		if s.Act == frontier.Drop {
			f.setClosing(h, true)
		}
		f.scheduler.wakeEnded(now)
		g = f.groups.last()
		return nil
	})
	if err == nil && s.Act == frontier.Drop {
		n.URLs, g, err = f.dropAll(context.WithoutCancel(ctx), h)
	}
	if err != nil {
		return n, err
	}
	return n, g.durable(ctx)
}

// dropAll closes the pending URLs of h, which has just been dropped: in batches, each atomic, after the hold is set, so
// that no turn and no link comes between. It returns the number of URLs and the last group. It cannot be cancelled:
// that would leave URLs pending on a host that gets no turn. After a crash, the next opening closes the rest.
func (f *Frontier) dropAll(ctx context.Context, h *host) (urls int64, g *group, err error) {
	for h.closing() {
		if err := f.room(ctx); err != nil {
			return urls, nil, err
		}
		err := f.changing(ctx, func(now int64) error {
			f.groups.touch(now)
			f.markDropped(h, now, func(layout.Ref) bool { return true })
			urls += f.dropBatch(h)
			f.scheduler.wakeEnded(now)
			g = f.groups.last()
			if h.closing() {
				f.groups.seal(now)
			}
			return nil
		})
		if err != nil {
			return urls, nil, err
		}
	}
	return urls, g, nil
}

// obey applies s to h, and reports whether that is a change. The caller holds mu and has touched the open group.
func (f *Frontier) obey(h *host, s frontier.Steering, now int64) bool {
	switch {
	case s.Act == frontier.Resume:
		changed := f.setHold(h, nil, now)
		if h.claimable() || h.lease != nil { // the holder of a leased one sets its condition
			return changed
		}
		f.hosts.count(h, -1)
		h.Condition, h.Reason = frontier.Open, ""
		f.hosts.count(h, 1)
		f.groups.open.change(h)
		f.scheduler.enter(h, now)
		return true
	case s.Act == frontier.Rest:
		was := h.NotBefore
		if h.wait(now, s.For); s.For == 0 || h.NotBefore == was {
			return false
		}
		f.groups.open.change(h)
		f.scheduler.reschedule(h, now)
		return true
	case s.For > 0:
		return f.setHold(h, &layout.Hold{Act: s.Act, Until: layout.After(now, s.For), Reason: s.Reason}, now)
	}
	return f.setHold(h, &layout.Hold{Act: s.Act, Until: math.MaxInt64, Reason: s.Reason}, now)
}

// setHold reports whether the hold changes. The caller holds mu and has touched the open group.
func (f *Frontier) setHold(h *host, k *layout.Hold, now int64) bool {
	if h.Hold.Same(k) {
		return false
	}
	f.hosts.count(h, -1)
	h.Hold = k
	f.hosts.count(h, 1)
	f.groups.open.change(h)
	f.scheduler.watch(h)
	f.scheduler.reschedule(h, now)
	return true
}

// setClosing marks whether a Drop of h has pending URLs left to close. The caller holds mu and has touched the open
// group.
func (f *Frontier) setClosing(h *host, yes bool) {
	if h.Hold.Closing != yes {
		h.Hold.Closing = yes
		f.groups.open.change(h)
	}
	f.scheduler.closing = yes // only one command runs at a time
}

// dropBatch closes pending URLs of h under no lease, up to the size of a group, and returns their number; with the
// last, it ends the closing of h. The caller holds mu and has touched the open group.
func (f *Frontier) dropBatch(h *host) int64 {
	refs := h.queue.TakeAny(maxPrints)
	f.dropRefs(h, refs)
	if d := &f.groups.open.drops; len(refs) > 0 {
		if d.hosts == nil {
			d.hosts = map[canon.Authority]int64{}
		}
		d.hosts[h.authority] += int64(len(refs))
	}
	if len(refs) < maxPrints {
		f.setClosing(h, false)
	}
	return int64(len(refs))
}

// dropRefs closes tasks taken out of the places of h. The caller holds mu and has touched the open group.
func (f *Frontier) dropRefs(h *host, refs []layout.Ref) {
	f.hosts.count(h, -1)
	for _, r := range refs {
		*f.retries.counter(h, r)--
		f.end(h, r, frontier.Dropped, frontier.ReasonOperator)
	}
	f.hosts.count(h, 1)
}

// dropAgain finishes the drops of the last run: hosts whose drop a crash cut off, and tasks that were leased when it
// ended.
func (f *Frontier) dropAgain(now int64) {
	for _, h := range f.hosts.all {
		for h != nil && h.closing() {
			f.groups.touch(now)
			f.dropBatch(h)
			if h.closing() {
				f.groups.seal(now)
			}
		}
	}
	var marked []storedURL
	for r, t := range f.retries.of {
		if t.Dropped {
			marked = append(marked, storedURL{ref: r, host: t.host})
		}
	}
	if len(marked) > 0 {
		slices.SortFunc(marked, func(a, b storedURL) int { return cmp.Compare(a.ref, b.ref) })
		f.dropFound(marked, now)
	}
}

// dropURLs finds single URLs in the file, as Retry does, and closes those that are still pending.
func (f *Frontier) dropURLs(ctx context.Context, s frontier.Steering) (n frontier.Steered, err error) {
	if err := f.Sync(ctx); err != nil {
		return n, err
	}
	found, err := f.findURLs(ctx, s)
	if err != nil {
		return n, err
	}
	return n, f.inBatches(ctx, found, func(batch []storedURL, now int64) {
		n.URLs += f.dropFound(batch, now)
		f.scheduler.wakeEnded(now)
	})
}

// inBatches calls do with up to a group's number of URLs at a time, and waits until the changes are durable.
func (f *Frontier) inBatches(ctx context.Context, found []storedURL, do func(batch []storedURL, now int64)) error {
	var g *group
	for batch := range slices.Chunk(found, maxPrints) {
		if err := f.room(ctx); err != nil {
			return err
		}
		err := f.changing(ctx, func(now int64) error {
			f.groups.touch(now)
			do(batch, now)
			g = f.groups.last()
			f.groups.seal(now)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return g.durable(ctx)
}

// dropFound closes the pending tasks of found, which ascend by reference, and marks the leased ones: they are closed
// when the lease ends, also by a crash. The caller holds mu.
func (f *Frontier) dropFound(found []storedURL, now int64) (closed int64) {
	f.groups.touch(now)
	byHost := map[uint32][]layout.Ref{}
	for _, e := range found {
		byHost[e.host] = append(byHost[e.host], e.ref)
	}
	for id, refs := range byHost {
		h := f.hosts.all[id]
		taken := h.queue.TakeThese(refs)
		f.dropRefs(h, taken)
		closed += int64(len(taken))
		for _, r := range taken {
			f.groups.open.drops.tasks = append(f.groups.open.drops.tasks, storedURL{ref: r, host: id})
		}
		f.markDropped(h, now, func(r layout.Ref) bool {
			_, yes := slices.BinarySearch(refs, r)
			return yes
		})
		due, waiting := f.scheduler.due.Due(id)
		if at, ok := h.queue.Available(now); waiting && (!ok || at > max(now, due)) {
			f.scheduler.reschedule(h, now)
		}
	}
	return closed
}

// markDropped marks the tasks under the lease of h that are among the dropped. The caller holds mu and has touched the
// open group.
func (f *Frontier) markDropped(h *host, now int64, among func(layout.Ref) bool) {
	if h.lease == nil {
		return
	}
	for _, x := range h.lease.tasks {
		if !among(x.ref) {
			continue
		}
		t := f.retries.of[x.ref]
		if t == nil {
			t = &retry{Retry: layout.Retry{Due: now}}
			f.retries.of[x.ref] = t
		}
		if !t.Dropped {
			t.Dropped = true
			f.groups.open.keep(t.StateRecord(x.ref, f.clock, now))
		}
	}
}

// findURLs returns the places of the URLs of s, closed or not, in the order of acceptance.
func (f *Frontier) findURLs(ctx context.Context, s frontier.Steering) (found []storedURL, err error) {
	wanted := map[frontier.Fingerprint]bool{}
	for _, u := range s.URLs {
		wanted[f.printer.Print(u)] = true
	}
	var h *host
	err = f.reading(ctx, func(int64) { h = f.hosts.byName[s.Authority] }, func(tx *bbolt.Tx) error {
		if h == nil {
			return nil
		}
		return f.eachText(ctx, tx, h, func([]layout.Span) {}, func(r layout.Ref, _ *host, c frontier.Candidate) error {
			if wanted[f.printer.Print(c.URL)] {
				found = append(found, storedURL{ref: r, host: h.id})
			}
			return nil
		})
	})
	return found, err
}

// Retry implements frontier.Frontier. The closed URLs are not in RAM: it looks for them in the file, after a Sync, and
// without mu. Only Retry opens closed URLs, and one at a time, so a URL that was found closed stays closed until mu is
// held again. URLs are opened in batches, each atomic.
func (f *Frontier) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	if err := r.Check(); err != nil {
		return frontier.Retried{}, fmt.Errorf("frontier/bolt: retry: %w", err)
	}
	end, err := f.command(ctx)
	if err != nil {
		return frontier.Retried{}, err
	}
	defer end()
	if err := f.Sync(ctx); err != nil {
		return frontier.Retried{}, err
	}
	found, err := f.findClosed(ctx, r)
	if err != nil {
		return frontier.Retried{}, err
	}
	var n frontier.Retried
	var g *group
	if r.Hosts {
		err := f.changing(ctx, func(now int64) error {
			n.Hosts = f.openHosts(r, now)
			g = f.groups.last()
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	err = f.inBatches(ctx, found, func(batch []storedURL, now int64) {
		for _, c := range batch {
			f.reopen(c, r.Robots, now)
		}
		n.URLs += int64(len(batch))
	})
	if err != nil {
		return n, err
	}
	return n, g.durable(ctx)
}

type storedURL struct {
	ref    layout.Ref
	host   uint32
	ending layout.Ending
}

// findClosed returns the URLs that match r, in the order of acceptance: two passes over the heads of the records and
// one over the endings.
func (f *Frontier) findClosed(ctx context.Context, r frontier.Retrial) (found []storedURL, err error) {
	if r.Outcome == 0 {
		return nil, nil
	}
	var only *host
	var reason int
	known := true
	err = f.reading(ctx, func(int64) {
		only = f.hosts.byName[r.Authority]
		if r.Reason != "" {
			reason, known = f.totals.Numbers[r.Reason]
		}
	}, func(tx *bbolt.Tx) error {
		if only == nil && !r.Authority.IsZero() || !known {
			return nil
		}
		all, err := layout.ReadEndings(tx)
		if err != nil {
			return err
		}
		var spans []layout.Span
		return layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
			if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
				return err
			}
			place := 0
			for _, s := range spans {
				for range s.N {
					e := all.Record(seq)[place]
					named := (reason == 0 || e.Reason() == reason) && (only == nil || only.id == s.Host)
					if named && e.Outcome() == r.Outcome {
						found = append(found, storedURL{ref: layout.MakeRef(seq, place), host: s.Host, ending: e})
					}
					place++
				}
			}
			return nil
		})
	})
	return found, err
}

// reopen makes a closed URL pending. It also voids the retry record in the file, which would otherwise count again. The
// caller holds mu and has touched the open group.
func (f *Frontier) reopen(c storedURL, robots bool, now int64) {
	h := f.hosts.all[c.host]
	f.hosts.count(h, -1)
	h.outcomes[c.ending.Outcome()]--
	h.queued++
	f.hosts.count(h, 1)
	f.totals.Reopen(c.ending)
	delete(f.retries.of, c.ref)
	t := &retry{Retry: layout.Retry{Due: now}}
	if c.ending.Outcome() == frontier.Held {
		t.Reason = frontier.ReasonReleased
		f.retries.of[c.ref] = t
	}
	f.groups.open.done = append(f.groups.open.done, layout.MakeDone(c.ref, 0))
	f.groups.open.keep(t.StateRecord(c.ref, f.clock, now))
	if robots {
		f.forgetRobots(h)
	}
	h.queue.GiveBack(c.ref)
	f.scheduler.enter(h, now)
}

// openHosts opens the retired and refused hosts and returns their number. The caller holds mu.
func (f *Frontier) openHosts(r frontier.Retrial, now int64) (n int64) {
	f.groups.touch(now)
	for _, h := range f.hosts.all {
		if h == nil || h.claimable() || h.lease != nil || !r.Authority.IsZero() && h.authority != r.Authority {
			continue
		}
		f.hosts.count(h, -1)
		h.Condition, h.Reason = frontier.Open, ""
		f.hosts.count(h, 1)
		f.groups.open.change(h)
		if r.Robots {
			f.forgetRobots(h)
		}
		f.scheduler.enter(h, now)
		n++
	}
	return n
}

// forgetRobots drops the robots state of h, unless h is leased. The caller holds mu and has touched the open group.
func (f *Frontier) forgetRobots(h *host) {
	a := layout.Address{Kind: layout.KindRobots, ID: uint64(h.id)}
	c := f.groups.unwritten[a]
	if h.lease != nil || c == nil && h.at[layout.KindRobots-1] == 0 || c != nil && len(c.Data) == 0 {
		return
	}
	f.groups.store(&layout.StateRecord{Address: a})
}
