package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Finish implements frontier.Frontier. A result that breaks a bound of the contract is an error of the caller: the
// call changes nothing, and the frontier stays usable. When the disk is eight groups behind, Finish waits for it.
func (f *Frontier) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	ready := make([]prepared, len(rs))
	for i := range rs {
		if err := checkResult(&rs[i]); err != nil {
			return nil, err
		}
		ready[i] = f.prepare(&rs[i])
	}
	answers := make([]frontier.Finished, len(rs))
	var drafts []*draft
	var of []int // the answer that a draft belongs to
	var record *group
	if err := f.room(ctx); err != nil {
		return nil, err
	}
	err := f.changing(ctx, func(now int64) error {
		for i := range ready {
			var d *draft
			answers[i], d = f.finish(now, &ready[i])
			if d != nil {
				drafts, of = append(drafts, d), append(of, i)
			}
		}
		record = f.recordOf(drafts)
		return f.begin(drafts)
	})
	if err == nil {
		err = f.complete(drafts)
	}
	if err == nil {
		err = record.durable(ctx)
	}
	if err != nil {
		return nil, err
	}
	for i, d := range drafts {
		answers[of[i]].Tasks = d.turn.Tasks
	}
	return answers, nil
}

// checkResult returns how r breaks a bound of the contract, or nil.
func checkResult(r *frontier.Result) error {
	if h := r.Host; h != nil {
		switch {
		case len(h.Robots) > frontier.MaxRobots:
			return fmt.Errorf("frontier/bolt: finish %s: robots state of %d octets: over %d", r.Authority, len(h.Robots), frontier.MaxRobots)
		case len(h.Memory) > frontier.MaxMemory:
			return fmt.Errorf("frontier/bolt: finish %s: memory of %d octets: over %d", r.Authority, len(h.Memory), frontier.MaxMemory)
		case h.Condition > frontier.Refused:
			return fmt.Errorf("frontier/bolt: finish %s: there is no condition %d", r.Authority, h.Condition)
		}
	}
	for i, d := range r.Done {
		if d.Outcome < frontier.Fetched || d.Outcome > frontier.Held {
			return fmt.Errorf("frontier/bolt: finish %s: task %d is done with outcome %d, which there is not", r.Authority, i, d.Outcome)
		}
	}
	for i, b := range r.Blobs {
		if len(b) > layout.MaxBlob {
			return fmt.Errorf("frontier/bolt: finish %s: blob %d of %d octets: over %d", r.Authority, i, len(b), layout.MaxBlob)
		}
	}
	for i, s := range r.Extend {
		if s.URL.IsZero() {
			return fmt.Errorf("frontier/bolt: finish %s: extension %d has no URL", r.Authority, i)
		}
	}
	if err := checkCandidates(r.Found); err != nil {
		return fmt.Errorf("frontier/bolt: finish %s: %w", r.Authority, err)
	}
	return nil
}

// checkCandidates returns an error if one has no URL.
func checkCandidates(cs []frontier.Candidate) error {
	for i := range cs {
		if cs[i].URL.IsZero() {
			return fmt.Errorf("candidate %d has no URL", i)
		}
	}
	return nil
}

// prepared is a result with what can be worked out without mu.
type prepared struct {
	*frontier.Result
	prints []frontier.Fingerprint // of Found; zero for those that were seen before
	blobs  []layout.Blob
}

// prepare works out what can be without mu. A link that has been seen stays seen, so the answer holds later too.
func (f *Frontier) prepare(r *frontier.Result) prepared {
	return prepared{Result: r, prints: f.prints(r.Found), blobs: layout.MakeBlobs(r.Blobs)}
}

// room waits until the writer has caught up so far that the memory for what is applied is bounded.
func (f *Frontier) room(ctx context.Context) error {
	for {
		f.mu.Lock()
		if len(f.queue) < maxQueued || f.usable() != nil {
			f.mu.Unlock()
			return nil
		}
		first := f.queue[0]
		f.mu.Unlock()
		if err := first.durable(ctx); err != nil {
			return err
		}
	}
}

// finish applies one result. With Keep and tasks it also returns a draft of them. The caller holds mu.
func (f *Frontier) finish(now int64, r *prepared) (frontier.Finished, *draft) {
	h := f.byName[r.Authority]
	switch {
	case h != nil && h.lease != nil && h.lease.token == r.Token:
	case h != nil && r.Token != 0 && h.finished == r.Token:
		return frontier.Finished{}, nil
	default:
		return frontier.Finished{Err: frontier.ErrStale}, nil
	}
	g := f.touch(now)
	f.careful = max(f.careful-1, 0)
	l := h.lease
	l.dropped = nil
	f.settleTasks(h, r.Result, now)
	f.update(h, r.Result, now)
	g.seeds = append(g.seeds, r.Extend...)
	g.keepBlobs(r.blobs)
	for name, n := range r.Counts {
		f.totals.Counts[name] += n
	}
	g.change(h)
	answer := frontier.Finished{Added: f.accept(now, r.Found, r.prints)}
	var more *draft
	if r.Keep {
		if more = f.give(h, f.more(h, now, h.wanted(r.Want))); len(more.turn.Tasks) == 0 {
			more = nil
		}
	} else {
		h.finished = r.Token
		f.release(h, now)
	}
	answer.Dropped = l.dropped
	g.pages++
	f.sealFull(now)
	return answer, more
}

// settleTasks closes or defers the tasks of the lease of h that r names, and passes over the others: they were
// settled by an earlier Finish of the turn, or belong to nobody here. The caller holds mu.
func (f *Frontier) settleTasks(h *host, r *frontier.Result, now int64) {
	if len(r.Done)+len(r.Deferred) == 0 {
		return
	}
	f.count(h, -1)
	next := 0
	for _, d := range r.Done {
		if x, ok := h.lease.settle(d.Print, &next); ok {
			f.closeTask(h, x, d)
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
	h.lease.tasks = slices.DeleteFunc(h.lease.tasks, func(t held) bool { return t.ref == 0 })
	f.count(h, 1)
}

// settle marks the task with that print as settled, which a reference of zero says, and returns what it was. The
// search goes on from the last find: tasks are usually named in the order in which they were given.
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

// closeTask closes a task of h. The caller holds mu.
func (f *Frontier) closeTask(h *host, r layout.Ref, d frontier.Done) {
	h.inFlight--
	f.end(h, r, d.Outcome, d.Reason)
}

// end closes a pending URL of h wherever it was. The caller holds mu and has touched the open group.
func (f *Frontier) end(h *host, r layout.Ref, o frontier.Outcome, reason string) {
	h.outcomes[o]++
	f.open.done = append(f.open.done, layout.MakeDone(r, f.totals.Close(o, reason)))
	if t := f.retries[r]; t != nil { // kept until this is durable, lest the sweeper drop it before
		f.clear(t)
		f.open.retired = append(f.open.retired, retired{r, t})
	}
}

// deferTask returns a task to h for later, unless an operator has dropped it meanwhile. The caller holds mu.
func (f *Frontier) deferTask(h *host, r layout.Ref, d frontier.Deferral, now int64) (dropped bool) {
	h.inFlight--
	if f.dropLeft(h, r) {
		return true
	}
	h.deferred++
	t := f.retries[r]
	if t == nil {
		t = &retry{}
		f.retries[r] = t
	}
	f.clear(t)
	t.due, t.reason = layout.After(now, d.After), d.Reason
	if d.URL.IsZero() {
		t.attempts++
	} else {
		t.url = d.URL.String()
	}
	h.giveLater(r, t)
	f.open.keep(t.state(r, f.clock, now))
	return false
}

// update applies what r says about the host. The caller holds mu.
func (f *Frontier) update(h *host, r *frontier.Result, now int64) {
	if u := r.Host; u != nil {
		f.count(h, -1)
		h.condition, h.reason, h.pace, h.width = u.Condition, u.Reason, u.Pace, u.Width
		f.count(h, 1)
		l := h.lease
		if !bytes.Equal(l.robots, u.Robots) {
			l.robots = bytes.Clone(u.Robots)
			f.open.store(f, &layout.StateRecord{Address: layout.Address{Kind: layout.KindRobots, ID: uint64(h.id)}, Data: l.robots})
		}
		if !bytes.Equal(l.memory, u.Memory) {
			l.memory = bytes.Clone(u.Memory)
			f.open.store(f, &layout.StateRecord{Address: layout.Address{Kind: layout.KindMemory, ID: uint64(h.id)}, Data: l.memory})
		}
	}
	h.wait(now, r.Wait)
}
