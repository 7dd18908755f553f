package model

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Model is a frontier in memory: plain, obvious and slow. The first steps of its journal, as many as are durable, would
// survive a crash; the others are applied but not committed. A commit is a call of the barrier that makes steps durable.
type Model struct {
	mu sync.Mutex
	journal
	durable int // steps that a crash does not lose
	told    int // of what an operator had closed, what Options.Tell was called with and is durable

	changed chan struct{} // closed, and replaced, at every change
	err     error         // set by a failed commit, for good
	closed  bool          // by Close or Crash
	crashed bool
	clean   bool // a Close has made everything durable

	wanted  int           // steps that somebody wants durable
	results int           // applied since wanted was moved
	timer   *time.Timer   // moves wanted GroupDelay after the first step; nil when there is none
	running bool          // commit is running
	abandon func()        // cancels the barrier of the running commit
	idle    chan struct{} // closed when commit has returned; nil before the first
}

var _ frontier.Frontier = (*Model)(nil)

// New returns an empty frontier.
func New(o frontier.Options) *Model { return newModel(nil, 0, o, false, nil) }

// Reopen returns the frontier that is found when the place that m kept is opened again. It panics when m is still
// open: that would be a second owner.
func (m *Model) Reopen(o frontier.Options) *Model { return m.reopen(o, func([]suspicion) {}) }

// reopen is Reopen, with spoil for tests: it may change what counts as in flight.
func (m *Model) reopen(o frontier.Options, spoil func([]suspicion)) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		panic("frontier/model: the model is reopened before Close or Crash")
	}
	steps := m.steps[:m.durable]
	flight := fold(steps).flight()
	if m.clean {
		flight = nil
	}
	spoil(flight)
	return newModel(steps, m.told, o, !m.clean, flight)
}

// newModel opens the frontier that steps lead to, of which Options.Tell has been told so much. That it has been opened is
// durable before anything else; Options.Tell is called with what that closes at the first commit, or after the next opening.
func newModel(steps []step, told int, o frontier.Options, unclean bool, flight []suspicion) *Model {
	m := &Model{journal: journal{fold(steps), slices.Clone(steps)}, told: told, changed: make(chan struct{})}
	do(&m.journal, always, func(s *state, now time.Time) bool { s.open(now, o, unclean, flight); return true })
	m.durable, m.wanted = len(m.steps), len(m.steps)
	m.mu.Lock() // the commit that this arms may come at once
	defer m.mu.Unlock()
	if m.untold() {
		m.arm()
	}
	return m
}

// untold reports whether there is something for Options.Tell. The caller holds mu, or m alone.
func (m *Model) untold() bool { return m.told < len(m.operated) }

// Crash ends m as kill -9 would end a process: what was applied but not committed is lost.
func (m *Model) Crash() {
	m.mu.Lock()
	m.shut()
	m.crashed = true
	if m.abandon != nil {
		m.abandon()
	}
	m.rest()
	m.mu.Unlock()
}

// Close implements frontier.Frontier.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.usable()
	m.shut()
	if err != nil {
		return err
	}
	m.flush()
	m.rest()
	m.clean = m.err == nil && !m.crashed
	if m.clean && m.unclean && m.options.Operator {
		m.clean = false
		do(&m.journal, always, func(s *state, _ time.Time) bool { // nothing was in flight at this stop
			for _, h := range s.order {
				s.takeBack(h)
			}
			return true
		})
		m.durable = len(m.steps)
	}
	return m.err
}

// rest waits until no commit is running. The caller holds mu; it is free during the wait.
func (m *Model) rest() {
	if idle := m.idle; idle != nil {
		m.mu.Unlock()
		<-idle
		m.mu.Lock()
	}
}

// shut refuses further calls and wakes those that wait. The caller holds mu.
func (m *Model) shut() {
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.broadcast()
}

// usable returns why m takes no calls, or nil. The caller holds mu.
func (m *Model) usable() error {
	if m.err == nil && m.closed {
		return frontier.ErrClosed
	}
	return m.err
}

// broadcast wakes everybody who waits for a change. The caller holds mu.
func (m *Model) broadcast() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// enter takes a step, for the next group to commit. The caller holds mu.
func enter[T any](m *Model, take func(s *state, now time.Time) T) T {
	defer m.arm()
	return do(&m.journal, soon, take)
}

// arm sees to it that there is a commit within GroupDelay. The caller holds mu.
func (m *Model) arm() {
	if m.timer == nil {
		m.timer = time.AfterFunc(frontier.GroupDelay, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.timer = nil
			if m.usable() == nil {
				m.flush()
			}
		})
	}
}

// flush sees to it that all steps so far become durable. The caller holds mu.
func (m *Model) flush() {
	m.wanted, m.results = len(m.steps), 0
	if m.running || m.wanted == m.durable && !m.untold() {
		return
	}
	m.running, m.idle = true, make(chan struct{})
	go m.commit() // Close and Crash wait for it
}

// commit makes durable what is wanted, group by group. Meanwhile steps go on being taken: they are for the next.
func (m *Model) commit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.err == nil && !m.crashed && (m.durable < m.wanted || m.untold()) {
		group, told := len(m.steps), len(m.operated)
		err := m.barrier(m.operated[m.told:told])
		switch {
		case m.crashed:
		case err != nil:
			m.err = fmt.Errorf("frontier/model: commit: barrier: %w", err)
		default:
			m.durable, m.told = group, told
		}
		m.broadcast()
	}
	m.running = false
	close(m.idle)
}

// barrier calls Options.Tell and Options.Barrier without mu, which the caller holds before and after.
func (m *Model) barrier(closed []operated) error {
	tell, call := m.options.Tell, m.options.Barrier
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.abandon = cancel
	m.mu.Unlock()
	defer m.mu.Lock()
	if tell != nil && len(closed) > 0 {
		d := frontier.Closings{Hosts: map[canon.Authority]int64{}}
		for _, o := range closed {
			if o.n > 0 {
				d.Hosts[o.host] += o.n
			} else {
				d.URLs = append(d.URLs, o.url)
			}
		}
		if err := tell(ctx, d); err != nil {
			return err
		}
	}
	if call == nil {
		return nil
	}
	return call(ctx)
}

// sync waits until all steps so far are durable. The caller holds mu; it is free during the wait.
func (m *Model) sync(ctx context.Context) error {
	m.flush()
	for upto := len(m.steps); m.durable < upto; {
		switch {
		case m.err != nil:
			return m.err
		case m.crashed:
			return frontier.ErrClosed
		}
		if err := m.await(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// await returns at the next change or when timer fires. The caller holds mu; it is free during the wait.
func (m *Model) await(ctx context.Context, timer <-chan time.Time) error {
	changed := m.changed
	m.mu.Unlock()
	defer m.mu.Lock()
	select {
	case <-changed:
	case <-timer:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// locked calls f under mu, with the leases that have expired taken back, unless m takes no calls.
func (m *Model) locked(ctx context.Context, f func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return err
	}
	return f(m.now())
}

// now returns the time, with the leases that have expired taken back. The caller holds mu.
func (m *Model) now() time.Time {
	now := time.Now()
	if m.expired(now) {
		m.arm()
		m.broadcast()
	}
	return now
}

// lasting takes a step and returns when it is durable.
func lasting[T any](ctx context.Context, m *Model, take func(s *state, now time.Time) T) (did T, err error) {
	err = m.locked(ctx, func(time.Time) error {
		did = enter(m, take)
		m.broadcast()
		return m.sync(ctx)
	})
	return did, err
}

// Sync implements frontier.Frontier.
func (m *Model) Sync(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return err
	}
	return m.sync(ctx)
}

// Add implements frontier.Frontier.
func (m *Model) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	if err := frontier.CheckCandidates(cs); err != nil {
		return frontier.Added{}, fmt.Errorf("frontier/model: add: %w", err)
	}
	cs = slices.Clone(cs)
	return lasting(ctx, m, func(s *state, now time.Time) frontier.Added { return s.add(now, cs) })
}

// Retry implements frontier.Frontier.
func (m *Model) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	if err := r.Check(); err != nil {
		return frontier.Retried{}, fmt.Errorf("frontier/model: retry: %w", err)
	}
	return lasting(ctx, m, func(s *state, _ time.Time) frontier.Retried { return s.retry(r) })
}

// Steer implements frontier.Frontier.
func (m *Model) Steer(ctx context.Context, c frontier.Steering) (frontier.Steered, error) {
	if err := c.Check(); err != nil {
		return frontier.Steered{}, fmt.Errorf("frontier/model: steer: %w", err)
	}
	c.URLs = slices.Clone(c.URLs)
	return lasting(ctx, m, func(s *state, now time.Time) frontier.Steered { return s.steer(now, c) })
}

// Claim implements frontier.Frontier.
func (m *Model) Claim(ctx context.Context, w frontier.Want) (c frontier.Claimed, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if err := m.usable(); err != nil {
			return c, err
		}
		if err := ctx.Err(); err != nil {
			return c, err
		}
		now := m.now()
		for _, h := range m.candidates(now) {
			if len(c.Turns) < max(w.Hosts, 1) && m.free(h, now) {
				c.Turns = append(c.Turns, m.grant(h.authority, m.offer(h, now, max(w.Tasks, 1))))
			}
		}
		if len(c.Turns) > 0 {
			if c.Turns, err = m.noted(ctx, c.Turns); err != nil || len(c.Turns) > 0 {
				return c, err
			}
			continue
		}
		state, due := m.summary(now)
		if state == frontier.Drained || state == frontier.Full || state == frontier.Waiting && due > w.MaxWait {
			return frontier.Claimed{State: state, Due: due}, nil
		}
		timer := time.NewTimer(m.next(now))
		err := m.await(ctx, timer.C)
		timer.Stop()
		if err != nil {
			return c, err
		}
	}
}

// grant leases a and describes the turn. The caller holds mu.
func (m *Model) grant(a canon.Authority, ts []*task) frontier.Turn {
	token := frontier.Token(uint64(m.openings)<<32 | (m.claims + 1))
	ps := prints(ts)
	now := enter(m, func(s *state, now time.Time) time.Time { s.grant(now, a, token, ps); return now })
	h := m.hosts[a]
	return frontier.Turn{
		Lease: frontier.Lease{Authority: a, Token: token, Length: m.length(), Width: h.lease.width},
		Host:  h.view(now),
		Tasks: material(ts),
	}
}

func prints(ts []*task) (ps []frontier.Fingerprint) {
	for _, t := range ts {
		ps = append(ps, t.Print)
	}
	return ps
}

// material returns what a holder receives of tasks.
func material(ts []*task) (out []frontier.Task) {
	for _, t := range ts {
		out = append(out, t.Task)
	}
	return out
}

// noted returns turns when it is durable that they are out, if that is due: in a run after an unclean stop until it
// has come far enough, and always with a suspect. Those that have expired meanwhile are left out. The caller holds mu;
// it is free during the wait.
func (m *Model) noted(ctx context.Context, turns []frontier.Turn) ([]frontier.Turn, error) {
	suspect := slices.ContainsFunc(turns, func(t frontier.Turn) bool { return m.hosts[t.Authority].lease.stops > 0 })
	if !suspect && !m.careful() {
		return turns, nil
	}
	err := m.sync(ctx)
	if err == nil {
		m.now()
	}
	return slices.DeleteFunc(turns, func(t frontier.Turn) bool {
		held := m.holds(t.Authority, t.Token)
		if held && err != nil {
			enter(m, func(s *state, _ time.Time) bool { s.takeBack(s.hosts[t.Authority]); return true })
			m.broadcast()
		}
		return !held || err != nil
	}), err
}

// ClaimAuthority implements frontier.Frontier. A parked authority whose time has come is leased like any other.
func (m *Model) ClaimAuthority(ctx context.Context, a canon.Authority) (t frontier.Turn, err error) {
	if a.IsZero() {
		return t, fmt.Errorf("frontier/model: claim: no authority")
	}
	err = m.locked(ctx, func(now time.Time) error {
		h := m.hosts[a]
		if h == nil {
			h = m.newHost(now, a)
		}
		if !m.single(h, now) {
			return frontier.ErrNotDue
		}
		t = m.grant(a, nil)
		m.broadcast()
		return nil
	})
	return t, err
}

// Finish implements frontier.Frontier. A result that breaks a bound of the contract is an error of the caller: the
// call changes nothing, and the frontier stays usable.
func (m *Model) Finish(ctx context.Context, rs []frontier.Result) (fs []frontier.Finished, err error) {
	for _, r := range rs {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("frontier/model: finish %s: %w", r.Authority, err)
		}
	}
	err = m.locked(ctx, func(now time.Time) error {
		for _, r := range rs {
			fs = append(fs, m.finish(now, r))
		}
		return nil
	})
	return fs, err
}

// finish applies one result. The caller holds mu.
func (m *Model) finish(now time.Time, r frontier.Result) frontier.Finished {
	switch {
	case m.holds(r.Authority, r.Token):
	case m.repeats(r.Authority, r.Token):
		return frontier.Finished{}
	default:
		return frontier.Finished{Err: frontier.ErrStale}
	}
	r = clone(r)
	f := enter(m, func(s *state, now time.Time) frontier.Finished { return s.settle(now, r) })
	if r.Keep {
		ts := m.more(m.hosts[r.Authority], now, r.Want)
		ps := prints(ts)
		f.Tasks = material(ts)
		enter(m, func(s *state, _ time.Time) bool { s.hosts[r.Authority].give(ps); return true })
	}
	if m.results++; m.results >= frontier.GroupPages {
		m.flush()
	}
	m.broadcast()
	return f
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

// read calls f with the state.
func read[T any](ctx context.Context, m *Model, f func(now time.Time) T) (v T, err error) {
	err = m.locked(ctx, func(now time.Time) error { v = f(now); return nil })
	return v, err
}

// Seen implements frontier.Frontier. It never errs.
func (m *Model) Seen(ctx context.Context, us []canon.URL) ([]bool, error) {
	return read(ctx, m, func(time.Time) []bool {
		seen := make([]bool, len(us))
		for i, u := range us {
			seen[i] = m.seen[u.Key()]
		}
		return seen
	})
}

// Entry implements frontier.Reader.
func (m *Model) Entry(ctx context.Context, u canon.URL) (e frontier.Entry, ok bool, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		if h := m.hosts[u.Authority()]; h != nil {
			e, ok = h.entry(u, now)
		}
		return nil
	})
	return e, ok, err
}

// Quarantined implements frontier.Engine.
func (m *Model) Quarantined(ctx context.Context) ([]frontier.Candidate, error) {
	return read(ctx, m, func(time.Time) []frontier.Candidate { return slices.Clone(m.quarantined) })
}

// AllSeeds implements frontier.Frontier.
func (m *Model) AllSeeds(ctx context.Context) iter.Seq2[frontier.Seed, error] {
	return func(yield func(frontier.Seed, error) bool) {
		seeds, err := read(ctx, m, func(time.Time) []frontier.Seed { return slices.Clone(m.seeds) })
		if err != nil {
			yield(frontier.Seed{}, err)
		}
		for _, s := range seeds {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Blob implements frontier.Frontier.
func (m *Model) Blob(ctx context.Context, sum [32]byte) (body []byte, err error) {
	err = m.locked(ctx, func(time.Time) error {
		b, found := m.blobs[sum]
		if body = slices.Clone(b); !found {
			return frontier.ErrNoBlob
		}
		return nil
	})
	return body, err
}

// Host implements frontier.Frontier.
func (m *Model) Host(ctx context.Context, a canon.Authority) (v frontier.Host, ok bool, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		var h *host
		if h, ok = m.hosts[a]; ok {
			v = h.view(now)
		}
		return nil
	})
	return v, ok, err
}

// Hosts implements frontier.Frontier.
func (m *Model) Hosts(ctx context.Context, after canon.Authority, limit int) ([]frontier.Host, error) {
	return read(ctx, m, func(now time.Time) (page []frontier.Host) {
		page = slices.DeleteFunc(m.views(now), func(h frontier.Host) bool { return h.Authority.String() <= after.String() })
		slices.SortFunc(page, func(a, b frontier.Host) int { return strings.Compare(a.Authority.String(), b.Authority.String()) })
		return page[:min(len(page), max(limit, 0))]
	})
}

// Stats implements frontier.Frontier.
func (m *Model) Stats(ctx context.Context) (frontier.Stats, error) { return read(ctx, m, m.stats) }

// Survey implements frontier.Frontier.
func (m *Model) Survey(ctx context.Context, n int) (frontier.Survey, error) {
	return read(ctx, m, func(now time.Time) frontier.Survey { return m.survey(now, n) })
}

// Snapshot implements frontier.Operator: there is no file.
func (m *Model) Snapshot(context.Context, string) error { return frontier.ErrNoSnapshot }
