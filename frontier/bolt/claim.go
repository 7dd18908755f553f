package bolt

import (
	"context"
	"errors"
	"fmt"
	"math"

	"curtsy/frontier"
	"curtsy/frontier/bolt/heap"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// Claim implements frontier.Frontier.
func (f *Frontier) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	var drafts []*draft
	var answer frontier.Claimed
	var record *group
	err := f.changing(ctx, func(now int64) (err error) {
		drafts, answer, err = f.claim(ctx, w, now)
		record = f.recordOf(drafts)
		return err
	})
	if err != nil {
		return frontier.Claimed{}, err
	}
	if err := f.complete(drafts); err != nil {
		return frontier.Claimed{}, err
	}
	if err := record.durable(ctx); err != nil {
		f.takeBack(drafts)
		return frontier.Claimed{}, err
	}
	for _, d := range drafts {
		answer.Turns = append(answer.Turns, d.turn)
	}
	return answer, nil
}

// locked calls step under mu, with the leases that have expired taken back, unless f takes no calls.
func (f *Frontier) locked(ctx context.Context, step func(now int64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	now := f.clock.Now()
	f.endHolds(now)
	f.expire(now)
	return step(now)
}

// changing is locked for calls that change something.
func (f *Frontier) changing(ctx context.Context, step func(now int64) error) error {
	if f.readOnly {
		return fmt.Errorf("frontier/bolt: %s: %w", f.path, frontier.ErrReadOnly)
	}
	return f.locked(ctx, step)
}

// claim leases hosts, waiting for one if need be. The caller holds mu.
func (f *Frontier) claim(ctx context.Context, w frontier.Want, now int64) ([]*draft, frontier.Claimed, error) {
	if err := f.tokensLeft(); err != nil {
		return nil, frontier.Claimed{}, err
	}
	var me *waiter
	defer func() { f.stepOut(me) }()
	for {
		var drafts []*draft
		for len(drafts) < max(w.Hosts, 1) {
			h := f.next(now)
			if h == nil {
				break
			}
			drafts = append(drafts, f.lease(h, now, max(w.Tasks, 1)))
		}
		if len(drafts) > 0 {
			return drafts, frontier.Claimed{}, f.begin(drafts)
		}
		if me == nil {
			me = f.queueUp(w.MaxWait)
		}
		if state, due := f.summary(now); me.over(state, due) {
			return nil, frontier.Claimed{State: state, Due: due}, nil
		}
		if err := f.await(ctx, me, now); err != nil {
			return nil, frontier.Claimed{}, err
		}
		if err := f.usable(); err != nil {
			return nil, frontier.Claimed{}, err
		}
		now = f.clock.Now()
		f.endHolds(now)
		f.expire(now)
	}
}

// ClaimAuthority implements frontier.Frontier.
func (f *Frontier) ClaimAuthority(ctx context.Context, a canon.Authority) (frontier.Turn, error) {
	if a.IsZero() {
		return frontier.Turn{}, errors.New("frontier/bolt: claim authority: it is the zero authority")
	}
	var drafts []*draft
	err := f.changing(ctx, func(now int64) error {
		if err := f.tokensLeft(); err != nil {
			return err
		}
		h := f.host(a)
		if h.lease != nil || !h.claimable() || h.stopped() || h.free() > now || f.shut() {
			return frontier.ErrNotDue
		}
		f.scheduler.due.Leave(h.id)
		drafts = []*draft{f.lease(h, now, 0)}
		return f.begin(drafts)
	})
	if err != nil {
		return frontier.Turn{}, err
	}
	if err := f.complete(drafts); err != nil {
		return frontier.Turn{}, err
	}
	return drafts[0].turn, nil
}

// host returns the host of a, which is known from then on; it is on disk once something about it is. The caller holds
// mu.
func (f *Frontier) host(a canon.Authority) *host {
	h := f.byName[a]
	if h == nil {
		h = &host{authority: a, id: uint32(len(f.hosts)), notBefore: f.floor, deep: f.options.Order == frontier.DepthFirst}
		h.domain = f.domain(a)
		f.hosts = append(f.hosts, h)
		f.byName[a] = h
		f.count(h, 1)
	}
	return h
}

// lease leases h, which is not in the schedule, with up to n tasks. The caller holds mu.
func (f *Frontier) lease(h *host, now int64, n int) *draft {
	f.claims++
	f.scheduler.due.Served(h.id, f.claims)
	h.lease = &lease{
		token: frontier.Token(f.epoch<<32 | uint64(f.claims)), expires: layout.After(now, f.options.LeaseLength), width: max(h.width, 1),
	}
	f.touch(now) // the record of what is in flight
	f.scheduler.out++
	f.scheduler.leases.Push(heap.Entry{At: h.lease.expires, Tie: uint64(f.claims)<<32 | uint64(h.id)})
	f.tidy()
	f.wakeFor(h.lease.expires)
	refs := h.take(now, n)
	if len(refs) == 0 && n > 0 {
		refs = f.try(h)
	}
	d := f.give(h, refs)
	d.turn.Lease = frontier.Lease{
		Authority: h.authority, Token: h.lease.token, Length: f.options.LeaseLength, Width: h.lease.width,
	}
	d.portrait = f.portray(h, now)
	return d
}

// more takes up to n tasks of h that may be given under its lease beside what is there. The caller holds mu.
func (f *Frontier) more(h *host, now int64, n int) []layout.Ref {
	if h.lease.trial || f.full || f.tight {
		return nil
	}
	return h.take(now, n)
}

// give moves tasks of h under its lease. The caller holds mu.
func (f *Frontier) give(h *host, refs []layout.Ref) *draft {
	d := &draft{lease: h.lease}
	if len(refs) == 0 {
		return d
	}
	f.count(h, -1)
	defer f.count(h, 1)
	d.turn.Tasks = make([]frontier.Task, len(refs))
	d.texts = make([]text, len(refs))
	for i, r := range refs {
		t := &d.turn.Tasks[i]
		d.texts[i] = text{ref: r, authority: h.authority}
		if rec := f.fresh[r.Record()]; rec != nil {
			t.Candidate, t.Print = rec.Entries[r.Place()], rec.Prints[r.Place()]
		}
		h.inFlight++
		again := f.retries[r]
		if again != nil {
			t.Attempts, t.Reason, t.Replaced, t.Stops = again.attempts, again.reason, again.url != "", again.stops
			d.texts[i].url = again.url
		}
		*f.place(h, r)--
		h.lease.tasks = append(h.lease.tasks, held{ref: r, print: t.Print})
	}
	return d
}

// release ends the lease of h; what it has not settled is pending again. The caller holds mu.
func (f *Frontier) release(h *host, now int64) {
	f.count(h, -1)
	for _, t := range h.lease.tasks {
		h.inFlight--
		if f.dropLeft(h, t.ref) {
			h.lease.dropped = append(h.lease.dropped, t.print)
			continue
		}
		*f.place(h, t.ref)++
		switch kept := f.retries[t.ref]; {
		case kept.suspect():
			h.giveSuspect(t.ref)
		case kept != nil && kept.attempts > 0:
			h.giveLater(t.ref, kept)
		default:
			h.giveBack(t.ref)
		}
	}
	f.count(h, 1)
	trial := h.lease.trial
	h.lease = nil
	f.scheduler.out--
	f.enter(h, now)
	if trial || f.scheduler.out == 0 {
		f.letSuspects(trial)
	}
	f.wakeEnded(now)
}

// tokensLeft fails when the counter of tokens is about to run over: a token must never come twice.
func (f *Frontier) tokensLeft() error {
	if f.claims > math.MaxUint32-1<<20 {
		return fmt.Errorf("frontier/bolt: claim: %d turns in one run: close the frontier and open it again", f.claims)
	}
	return nil
}
