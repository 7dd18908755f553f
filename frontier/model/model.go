package model

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"curtsy/frontier"
)

// Model is a frontier in memory: plain, obvious and slow. It is what engines are compared with, and a stand-in for
// an engine in tests of the crawler.
//
// It is a journal of events and the state that they lead to. The events before durable would survive a crash; the
// others are applied but not committed. A commit is a call of the barrier that moves durable.
type Model struct {
	mu      sync.Mutex
	dealer  dealer
	journal []event
	durable int         // events that a crash does not lose
	told    int         // of what an operator had closed, what Options.Tell was called with and is durable
	epoch   uint64      // of this opening
	claims  uint64      // in this opening
	known   uint64      // of these, the last of which it is durable that it was made
	flight  []suspicion // what was in flight then

	changed chan struct{} // closed, and replaced, at every change
	err     error         // set by a failed commit, for good
	closed  bool          // by Close or Crash
	crashed bool
	clean   bool // a Close has made everything durable

	wanted  int           // events that somebody wants durable
	awaited uint64        // the last claim that somebody wants recorded
	results int           // applied since wanted was moved
	timer   *time.Timer   // moves wanted GroupDelay after the first event; nil when there is none
	running bool          // commit is running
	abandon func()        // cancels the barrier of the running commit
	idle    chan struct{} // closed when commit has returned; nil before the first
}

var _ frontier.Frontier = (*Model)(nil)

// New returns an empty frontier.
func New(o frontier.Options) *Model {
	return newModel(nil, 0, opened{options: o})
}

// Reopen returns the frontier that is found when the place that m kept is opened again. It panics when m is still
// open: that would be a second owner.
func (m *Model) Reopen(o frontier.Options) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		panic("frontier/model: the model is reopened before Close or Crash")
	}
	how := opened{options: o}
	if !m.clean {
		how.unclean, how.flight = true, m.flight
	}
	return newModel(m.journal[:m.durable], m.told, how)
}

// newModel opens the frontier that journal tells of, of which Options.Tell has been told so much. That it has been opened is
// durable before anything else; what is closed by that is told with the first commit, or after the next opening.
func newModel(journal []event, told int, how opened) *Model {
	journal = append(slices.Clip(journal), event{at: time.Now(), opened: &how})
	s := fold(journal)
	m := &Model{
		dealer:  newDealer(s),
		journal: journal,
		durable: len(journal),
		told:    told,
		wanted:  len(journal),
		epoch:   uint64(s.openings),
		changed: make(chan struct{}),
	}
	m.mu.Lock() // the commit that this arms may come at once
	defer m.mu.Unlock()
	if m.untold() {
		m.arm()
	}
	return m
}

// untold reports whether there is something for Options.Tell. The caller holds mu, or m alone.
func (m *Model) untold() bool { return m.told < len(m.dealer.operated) }

// Crash ends m as kill -9 would end a process: what was applied but not committed is lost.
func (m *Model) Crash() {
	m.mu.Lock()
	m.shut()
	m.crashed = true
	if m.abandon != nil {
		m.abandon()
	}
	idle := m.idle
	m.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

// Close implements frontier.Frontier.
func (m *Model) Close() error {
	m.mu.Lock()
	if err := m.usable(); err != nil {
		m.shut()
		m.mu.Unlock()
		return err
	}
	m.shut()
	m.flush()
	idle := m.idle
	m.mu.Unlock()
	if idle != nil {
		<-idle
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clean = m.err == nil && !m.crashed
	if m.clean && m.dealer.unclean && m.dealer.options.Operator {
		m.clean, m.flight = false, nil
	}
	return m.err
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
	switch {
	case m.err != nil:
		return m.err
	case m.closed:
		return frontier.ErrClosed
	}
	return nil
}

// broadcast wakes everybody who waits for a change. The caller holds mu.
func (m *Model) broadcast() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// record applies an event, for the next group to commit. The caller holds mu.
func (m *Model) record(e event) frontier.Added {
	m.journal = append(m.journal, e)
	added := m.dealer.apply(e)
	m.arm()
	if e.result != nil {
		if m.results++; m.results >= frontier.GroupPages {
			m.flush()
		}
	}
	m.broadcast()
	return added
}

// arm sees to it that there is a commit within GroupDelay. The caller holds mu.
func (m *Model) arm() {
	if m.timer == nil {
		m.timer = time.AfterFunc(frontier.GroupDelay, m.tick)
	}
}

// tick ends the wait for more company in a group.
func (m *Model) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = nil
	if m.usable() == nil {
		m.flush()
	}
}

// flush sees to it that all events so far become durable. The caller holds mu.
func (m *Model) flush() {
	m.wanted, m.awaited, m.results = len(m.journal), m.claims, 0
	if m.running || m.wanted == m.durable && m.awaited == m.known && !m.untold() {
		return
	}
	m.running, m.idle = true, make(chan struct{})
	go m.commit() // Close and Crash wait for it
}

// commit makes durable what is wanted, group by group. Meanwhile events go on being applied: they are for the next.
func (m *Model) commit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.err == nil && !m.crashed && (m.durable < m.wanted || m.known < m.awaited || m.untold()) {
		group, told, claims, flight := len(m.journal), len(m.dealer.operated), m.claims, m.dealer.flight()
		err := m.barrier(m.dealer.operated[m.told:told])
		switch {
		case m.crashed:
		case err != nil:
			m.err = fmt.Errorf("frontier/model: commit: barrier: %w", err)
		default:
			m.durable, m.told, m.known, m.flight = group, told, claims, flight
		}
		m.broadcast()
	}
	m.running = false
	close(m.idle)
}

// barrier calls Options.Tell and Options.Barrier without mu, which the caller holds before and after.
func (m *Model) barrier(closed []operated) error {
	tell, call := m.dealer.options.Tell, m.dealer.options.Barrier
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.abandon = cancel
	m.mu.Unlock()
	defer m.mu.Lock()
	if tell != nil && len(closed) > 0 {
		if err := tell(ctx, droppedBy(closed)); err != nil {
			return err
		}
	}
	if call == nil {
		return nil
	}
	return call(ctx)
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

// sync waits until all events so far are durable. The caller holds mu; it is free during the wait.
func (m *Model) sync(ctx context.Context) error {
	m.flush()
	for upto := len(m.journal); m.durable < upto; {
		if err := m.halted(ctx); err != nil {
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
		return nil
	case <-timer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Add implements frontier.Frontier.
func (m *Model) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	for i, c := range cs {
		if c.URL.IsZero() {
			return frontier.Added{}, fmt.Errorf("frontier/model: add: candidate %d has no URL", i)
		}
	}
	if err := ctx.Err(); err != nil {
		return frontier.Added{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return frontier.Added{}, err
	}
	added := m.record(event{at: time.Now(), added: slices.Clone(cs)})
	return added, m.sync(ctx)
}
