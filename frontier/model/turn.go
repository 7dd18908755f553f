package model

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Claim implements frontier.Frontier. Of the hosts that are due it takes those that have been due for longest, and
// of these the ones that were served longest ago.
func (m *Model) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if err := m.usable(); err != nil {
			return frontier.Claimed{}, err
		}
		if err := ctx.Err(); err != nil {
			return frontier.Claimed{}, err
		}
		now := time.Now()
		m.expire(now)
		if turns := m.claim(now, max(w.Hosts, 1), max(w.Tasks, 1)); len(turns) > 0 {
			if turns, err := m.recorded(ctx, turns); err != nil || len(turns) > 0 {
				return frontier.Claimed{Turns: turns}, err
			}
			continue
		}
		state, due := m.dealer.summary(now)
		if state == frontier.Drained || state == frontier.Full || state == frontier.Waiting && due > w.MaxWait {
			return frontier.Claimed{State: state, Due: due}, nil
		}
		timer := time.NewTimer(m.dealer.next(now))
		err := m.await(ctx, timer.C)
		timer.Stop()
		if err != nil {
			return frontier.Claimed{}, err
		}
	}
}

// claim leases up to hosts hosts that are due.
func (m *Model) claim(now time.Time, hosts, tasks int) []frontier.Turn {
	var turns []frontier.Turn
	for _, h := range m.dealer.candidates(now) {
		if len(turns) < hosts && m.dealer.free(h, now) {
			turns = append(turns, m.grant(h, now, m.dealer.offer(h, now, tasks)))
		}
	}
	return turns
}

// candidates returns the hosts that can be leased now, the one that is to be leased first at the head.
func (d *dealer) candidates(now time.Time) []*host {
	due := map[*host]time.Time{}
	if d.full() {
		return nil
	}
	for _, h := range d.order {
		if at, ok := h.due(); ok && !at.After(now) && d.free(h, now) {
			due[h] = at
		}
	}
	hosts := slices.DeleteFunc(slices.Clone(d.order), func(h *host) bool { _, ok := due[h]; return !ok })
	slices.SortStableFunc(hosts, func(a, b *host) int {
		return cmp.Or(due[a].Compare(due[b]), cmp.Compare(a.served, b.served))
	})
	return hosts
}

// next returns how long nothing changes by itself: until a host is due or a lease expires. What is due now waits for
// something else.
func (d *dealer) next(now time.Time) time.Duration {
	wait := frontier.Never
	for _, h := range d.order {
		if at, ok := h.due(); ok && at.After(now) {
			wait = min(wait, at.Sub(now))
		}
	}
	for _, l := range d.leases {
		wait = min(wait, l.expires.Sub(now))
	}
	return wait
}

// grant leases h and describes the turn. The caller holds mu.
func (m *Model) grant(h *host, now time.Time, ts []*task) frontier.Turn {
	m.claims++
	m.arm()
	h.served = m.claims
	token := frontier.Token(m.epoch<<32 | m.claims)
	m.dealer.grant(h, now, token, ts)
	return frontier.Turn{
		Lease: frontier.Lease{Authority: h.authority, Token: token, Length: m.dealer.length(), Width: max(h.update.Width, 1)},
		Host:  m.dealer.view(h, now),
		Tasks: material(ts),
	}
}

// material returns what a holder is told of tasks.
func material(ts []*task) []frontier.Task {
	var out []frontier.Task
	for _, t := range ts {
		out = append(out, t.Task)
	}
	return out
}

// ClaimAuthority implements frontier.Frontier. A parked authority whose time has come is leased like any other.
func (m *Model) ClaimAuthority(ctx context.Context, a canon.Authority) (frontier.Turn, error) {
	if a.IsZero() {
		return frontier.Turn{}, fmt.Errorf("frontier/model: claim: no authority")
	}
	if err := ctx.Err(); err != nil {
		return frontier.Turn{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return frontier.Turn{}, err
	}
	now := time.Now()
	m.expire(now)
	h := m.dealer.host(now, a)
	if !m.dealer.single(h, now) {
		return frontier.Turn{}, frontier.ErrNotDue
	}
	turn := m.grant(h, now, nil)
	m.broadcast()
	return turn, nil
}

// expire ends the leases whose time is over. The caller holds mu.
func (m *Model) expire(now time.Time) {
	if over := m.dealer.expire(now); len(over) > 0 {
		m.record(event{at: now, expired: over})
	}
}

// Finish implements frontier.Frontier. A result that breaks a bound of the contract is an error of the caller: the
// call changes nothing, and the frontier stays usable.
func (m *Model) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	for _, r := range rs {
		if err := check(r); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return nil, err
	}
	now := time.Now()
	m.expire(now)
	answers := make([]frontier.Finished, len(rs))
	for i, r := range rs {
		answers[i] = m.finish(now, r)
	}
	return answers, nil
}

// finish applies one result. The caller holds mu.
func (m *Model) finish(now time.Time, r frontier.Result) frontier.Finished {
	switch {
	case m.dealer.holds(r.Authority, r.Token):
	case m.dealer.repeats(r.Authority, r.Token):
		return frontier.Finished{}
	default:
		return frontier.Finished{Err: frontier.ErrStale}
	}
	dropped := m.dealer.dropped(r)
	added := m.record(m.dealer.event(now, r))
	m.dealer.release(r)
	if !r.Keep {
		return frontier.Finished{Added: added, Dropped: dropped}
	}
	l := m.dealer.leases[r.Authority]
	more := m.dealer.more(m.dealer.hosts[r.Authority], now, r.Want)
	for _, t := range more {
		t.leased = true
	}
	l.tasks = append(l.tasks, more...)
	return frontier.Finished{Added: added, Dropped: dropped, Tasks: material(more)}
}

// check returns how r breaks a bound of the contract, or nil.
func check(r frontier.Result) error {
	if h := r.Host; h != nil && len(h.Robots) > frontier.MaxRobots {
		return fmt.Errorf("frontier/model: finish %s: robots state of %d octets: over %d", r.Authority, len(h.Robots), frontier.MaxRobots)
	} else if h != nil && len(h.Memory) > frontier.MaxMemory {
		return fmt.Errorf("frontier/model: finish %s: memory of %d octets: over %d", r.Authority, len(h.Memory), frontier.MaxMemory)
	}
	for i, c := range r.Found {
		if c.URL.IsZero() {
			return fmt.Errorf("frontier/model: finish %s: found candidate %d has no URL", r.Authority, i)
		}
	}
	return nil
}

// clone returns a copy of r that shares nothing that the caller may change.
func clone(r frontier.Result) frontier.Result {
	r.Done, r.Deferred = slices.Clone(r.Done), slices.Clone(r.Deferred)
	r.Found, r.Extend = slices.Clone(r.Found), slices.Clone(r.Extend)
	r.Blobs, r.Counts = slices.Clone(r.Blobs), maps.Clone(r.Counts)
	for i, b := range r.Blobs {
		r.Blobs[i] = slices.Clone(b)
	}
	if r.Host != nil {
		h := *r.Host
		h.Robots, h.Memory = slices.Clone(h.Robots), slices.Clone(h.Memory)
		r.Host = &h
	}
	return r
}
