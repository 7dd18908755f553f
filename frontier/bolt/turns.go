package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// The methods below move tasks between the places of a host and its lease: a task is in one of them at any time. The
// caller holds mu.

// lease leases h, which is not in the schedule, with up to n tasks.
func (f *Frontier) lease(h *host, now int64, n int) *pendingTurn {
	f.leases.begin(h, now)
	f.scheduler.due.Served(h.id, f.leases.claims)
	f.groups.touch(now) // the record of the tasks in flight
	f.scheduler.waiting.wakeFor(h.lease.expires)
	refs := h.queue.Take(now, n)
	if len(refs) == 0 && n > 0 {
		refs = f.suspects.try(h)
	}
	d := f.give(h, refs)
	d.turn.Lease = frontier.Lease{
		Authority: h.authority, Token: h.lease.token, Length: f.leases.length, Width: h.lease.width,
	}
	d.host = viewHost(h, f.groups.unwritten, now)
	return d
}

// more takes up to n tasks of h to give under its lease, which is kept; none while an operator holds h.
func (f *Frontier) more(h *host, now int64, n int) []layout.Ref {
	if h.lease.trial || f.caps.full || f.caps.tight {
		return nil
	}
	if h.Hold != nil {
		n = 0
	}
	return h.queue.Take(now, max(n, 0))
}

func (f *Frontier) give(h *host, refs []layout.Ref) *pendingTurn {
	d := &pendingTurn{lease: h.lease}
	if len(refs) == 0 {
		return d
	}
	f.hosts.count(h, -1)
	defer f.hosts.count(h, 1)
	d.turn.Tasks = make([]frontier.Task, len(refs))
	d.texts = make([]pendingTask, len(refs))
	for i, r := range refs {
		t := &d.turn.Tasks[i]
		d.texts[i] = pendingTask{ref: r, authority: h.authority}
		if rec := f.groups.fresh[r.Record()]; rec != nil {
			t.Candidate, t.Print = rec.Entries[r.Place()], rec.Prints[r.Place()]
		}
		h.inFlight++
		again := f.retries.of[r]
		if again != nil {
			t.Attempts, t.Reason, t.Replaced, t.Stops = again.Attempts, again.Reason, again.URL != "", again.Stops
			d.texts[i].url = again.URL
		}
		*f.retries.counter(h, r)--
		h.lease.tasks = append(h.lease.tasks, leasedTask{ref: r, print: t.Print})
	}
	return d
}

// release ends the lease of h; its unsettled tasks are pending again.
func (f *Frontier) release(h *host, now int64) {
	f.hosts.count(h, -1)
	for _, t := range h.lease.tasks {
		h.inFlight--
		if f.dropLeft(h, t.ref) {
			h.lease.dropped = append(h.lease.dropped, t.print)
			continue
		}
		*f.retries.counter(h, t.ref)++
		switch kept := f.retries.of[t.ref]; {
		case kept.suspect():
			h.queue.GiveSuspect(t.ref)
		case kept != nil && kept.Attempts > 0:
			h.queue.GiveLater(t.ref, kept.Due, kept.Attempts > 0)
		default:
			h.queue.GiveBack(t.ref)
		}
	}
	f.hosts.count(h, 1)
	trial := h.lease.trial
	f.leases.end(h)
	f.scheduler.enter(h, now)
	if trial || f.leases.out == 0 {
		f.scheduler.letSuspects(trial)
	}
	f.scheduler.wakeEnded(now)
}

// lapse ends the lease of h without a Finish, whose answer would list the tasks closed with it. The open group has been
// touched.
func (f *Frontier) lapse(h *host, now int64) {
	for _, t := range h.lease.tasks {
		if kept := f.retries.of[t.ref]; kept != nil && kept.Dropped {
			f.groups.open.drops.tasks = append(f.groups.open.drops.tasks, storedURL{ref: t.ref, host: h.id})
		}
	}
	f.release(h, now)
}

// dropLeft closes the task r of h, which is in no place of h, if an operator has dropped it. The open group has been
// touched.
func (f *Frontier) dropLeft(h *host, r layout.Ref) bool {
	if t := f.retries.of[r]; t == nil || !t.Dropped {
		return false
	}
	f.end(h, r, frontier.Dropped, frontier.ReasonOperator)
	return true
}

func (f *Frontier) expire(now int64) {
	for h := f.leases.popExpired(now); h != nil; h = f.leases.popExpired(now) {
		f.groups.touch(now)
		f.totals.Counts[frontier.ReasonExpired]++
		f.lapse(h, now)
	}
}

// finish applies one result. With Keep it also returns a pending turn, nil without tasks.
func (f *Frontier) finish(now int64, r *preparedResult) (frontier.Finished, *pendingTurn) {
	h := f.hosts.byName[r.Authority]
	switch {
	case h != nil && h.lease != nil && h.lease.token == r.Token:
	case h != nil && r.Token != 0 && h.Finished == r.Token:
		return frontier.Finished{}, nil
	default:
		return frontier.Finished{Err: frontier.ErrStale}, nil
	}
	g := f.groups.touch(now)
	f.careful = max(f.careful-1, 0)
	l := h.lease
	l.dropped = nil
	f.settleTasks(h, r.Result, now)
	f.update(h, r.Result, now)
	g.seeds = append(g.seeds, r.Extend...)
	for _, b := range r.blobs {
		g.bytes += int64(len(b.Body)) + 64
	}
	g.blobs = append(g.blobs, r.blobs...)
	for name, n := range r.Counts {
		f.totals.Counts[name] += n
	}
	g.change(h)
	answer := frontier.Finished{Added: f.accept(now, r.Found, r.prints)}
	var more *pendingTurn
	if r.Keep {
		if more = f.give(h, f.more(h, now, r.Want)); len(more.turn.Tasks) == 0 {
			more = nil
		}
	} else {
		h.Finished = r.Token
		f.release(h, now)
	}
	answer.Dropped = l.dropped
	g.pages++
	f.groups.sealFull(now)
	return answer, more
}

// settleTasks closes or defers the tasks of the lease of h that r names. It passes over the others: an earlier Finish
// of the turn settled them, or they are not of this turn.
func (f *Frontier) settleTasks(h *host, r *frontier.Result, now int64) {
	if len(r.Done)+len(r.Deferred) == 0 {
		return
	}
	f.hosts.count(h, -1)
	next := 0
	for _, d := range r.Done {
		if x, ok := h.lease.settle(d.Print, &next); ok {
			h.inFlight--
			f.end(h, x, d.Outcome, d.Reason)
		}
	}
	next = 0
	for _, d := range r.Deferred {
		if x, ok := h.lease.settle(d.Print, &next); ok {
			if f.deferTask(h, x, d, now) {
				h.lease.dropped = append(h.lease.dropped, d.Print)
			}
		}
	}
	h.lease.tasks = slices.DeleteFunc(h.lease.tasks, func(t leasedTask) bool { return t.ref == 0 })
	f.hosts.count(h, 1)
}

// end closes a pending URL of h. The open group has been touched.
func (f *Frontier) end(h *host, r layout.Ref, o frontier.Outcome, reason string) {
	h.outcomes[o]++
	f.groups.open.done = append(f.groups.open.done, layout.MakeDone(r, f.totals.Close(o, reason)))
	if t := f.retries.of[r]; t != nil { // kept until this is durable: the sweeper must not drop it before
		f.suspects.clear(t)
		f.groups.open.retired = append(f.groups.open.retired, closedRetry{r, t})
	}
}

// deferTask defers a task of h, unless an operator has dropped it.
func (f *Frontier) deferTask(h *host, r layout.Ref, d frontier.Deferral, now int64) (dropped bool) {
	h.inFlight--
	if f.dropLeft(h, r) {
		return true
	}
	h.deferred++
	t := f.retries.of[r]
	if t == nil {
		t = &retry{}
		f.retries.of[r] = t
	}
	f.suspects.clear(t)
	t.Due, t.Reason = layout.After(now, d.After), d.Reason
	if d.URL.IsZero() {
		t.Attempts++
	} else {
		t.URL = d.URL.String()
	}
	h.queue.GiveLater(r, t.Due, t.Attempts > 0)
	f.groups.open.keep(t.StateRecord(r, f.clock, now))
	return false
}

func (f *Frontier) update(h *host, r *frontier.Result, now int64) {
	if u := r.Host; u != nil {
		f.hosts.count(h, -1)
		h.Condition, h.Reason, h.Pace, h.Width = u.Condition, u.Reason, u.Pace, u.Width
		f.hosts.count(h, 1)
		l := h.lease
		if !bytes.Equal(l.robots, u.Robots) {
			l.robots = bytes.Clone(u.Robots)
			f.groups.store(h.record(layout.KindRobots, l.robots))
		}
		if !bytes.Equal(l.memory, u.Memory) {
			l.memory = bytes.Clone(u.Memory)
			f.groups.store(h.record(layout.KindMemory, l.memory))
		}
	}
	h.wait(now, r.Wait)
}

// recordOf returns the group whose record names the pending turns, which must be durable before they are given if one
// is of a suspect, or soon after an unclean stop; else nil.
func (f *Frontier) recordOf(pending []*pendingTurn) *group {
	for _, d := range pending {
		if len(d.turn.Tasks) > 0 && (f.careful > 0 || d.lease.trial) {
			return f.groups.last()
		}
	}
	return nil
}

// Finish implements frontier.Frontier. A result that breaks a bound of the contract changes nothing, and the frontier
// stays usable. When the disk is eight groups behind, Finish waits for it.
func (f *Frontier) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	ready := make([]preparedResult, len(rs))
	for i := range rs {
		if err := checkResult(&rs[i]); err != nil {
			return nil, err
		}
		// A link that has been seen stays seen, so the result is still valid later.
		ready[i] = preparedResult{Result: &rs[i], prints: f.prints(rs[i].Found), blobs: layout.MakeBlobs(rs[i].Blobs)}
	}
	answers := make([]frontier.Finished, len(rs))
	var pending []*pendingTurn
	var of []int // the answer of each pending turn
	var record *group
	if err := f.room(ctx); err != nil {
		return nil, err
	}
	err := f.changing(ctx, func(now int64) error {
		for i := range ready {
			var d *pendingTurn
			answers[i], d = f.finish(now, &ready[i])
			if d != nil {
				pending, of = append(pending, d), append(of, i)
			}
		}
		record = f.recordOf(pending)
		return f.begin(pending)
	})
	if err == nil {
		err = f.complete(pending)
	}
	if err == nil {
		err = record.durable(ctx)
	}
	if err != nil {
		return nil, err
	}
	for i, d := range pending {
		answers[of[i]].Tasks = d.turn.Tasks
	}
	return answers, nil
}

func checkResult(r *frontier.Result) error {
	if err := r.Check(); err != nil {
		return fmt.Errorf("frontier/bolt: finish %s: %w", r.Authority, err)
	}
	for i, b := range r.Blobs {
		if len(b) > layout.MaxBlob {
			return fmt.Errorf("frontier/bolt: finish %s: blob %d of %d bytes: over %d", r.Authority, i, len(b), layout.MaxBlob)
		}
	}
	return nil
}

// preparedResult is a result with everything that needs no mu.
type preparedResult struct {
	*frontier.Result
	prints []frontier.Fingerprint // of Found; zero for those seen before
	blobs  []layout.Blob
}

// room waits while the writer is far behind, which bounds the memory of uncommitted groups.
func (f *Frontier) room(ctx context.Context) error {
	for {
		f.mu.Lock()
		if len(f.groups.queue) < maxQueued || f.usable() != nil {
			f.mu.Unlock()
			return nil
		}
		first := f.groups.queue[0]
		f.mu.Unlock()
		if err := first.durable(ctx); err != nil {
			return err
		}
	}
}

// settle marks the task with that print as settled, by a reference of zero, and returns its reference. The search
// continues after the last find: tasks are usually named in the order in which they were given.
func (l *lease) settle(p frontier.Fingerprint, next *int) (layout.Ref, bool) {
	for i := range l.tasks {
		k := (*next + i) % len(l.tasks)
		if t := &l.tasks[k]; t.print == p && t.ref != 0 {
			r := t.ref
			t.ref = 0
			*next = k + 1
			return r, true
		}
	}
	return 0, false
}

// Sync implements frontier.Frontier.
func (f *Frontier) Sync(ctx context.Context) error {
	var g *group
	err := f.changing(ctx, func(int64) error {
		g = f.groups.last()
		return nil
	})
	if err != nil {
		return err
	}
	return g.durable(ctx)
}
