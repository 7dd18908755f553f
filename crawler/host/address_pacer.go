package host

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// Pacer spaces the starts of exchanges at one address, whatever hosts are there (politeness rule 10). Hosts queue: one
// that asks for a start and cannot have it now is told when to come, keeps its place and is let pass when it comes. The
// queue moves with the starts that take place, not by a timetable made once:
//
//   - The first in the queue gets a start, no sooner than every after the last one.
//   - A host that is late by more than half of that does not hold up those behind it, and keeps its place for a minute.
//   - A host that comes too soon, because another was late, is told anew and keeps its place.
//
// A start is granted before the connection is made, which takes its time; so the request itself waits once more, for
// what is left until every has passed since the last request went out at that address (Send, Sent).
//
// Its methods may be called concurrently.
type Pacer struct {
	every time.Duration
	locks Locks // may be nil

	mu      sync.Mutex
	resumed time.Time // see Resumed
	addrs   map[netip.Prefix]*addr
	waiters map[canon.Authority]*waiter
	sweepAt int // how many addrs and waiters there are when the next sweep is due
}

// Locks keep the pace of an address with other crawls of the same user (politeness rule 26). They have the last word
// before a request goes out.
type Locks interface {
	// Start grants the start of an exchange at an address by returning zero, and keeps others from one there until Started,
	// which says that it has taken place and must follow, and every is over; or it returns how long to wait before asking
	// again.
	Start(addr netip.Prefix, every time.Duration) (wait time.Duration, err error)
	Started(addr netip.Prefix, every time.Duration) error
}

// addr is an address, as far as the pace goes.
type addr struct {
	granted time.Time // when the last start was
	sent    time.Time // when the last request went out
	queue   []*waiter // first come, first served
}

// waiter is a host that waits for an address. A host waits for one at most.
type waiter struct {
	authority canon.Authority
	addr      netip.Prefix
	due       time.Time // when it was told to come
}

const (
	waiterLife = time.Minute // how long after its time a waiter keeps its place
	leastSweep = 1024
)

// NewPacer returns a Pacer with that pause between two starts at one address. Without locks there are no other crawls.
func NewPacer(every time.Duration, locks Locks) *Pacer {
	return &Pacer{every: every, locks: locks, addrs: map[netip.Prefix]*addr{}, waiters: map[canon.Authority]*waiter{}, sweepAt: leastSweep}
}

// Resumed says that a run before this one may have had starts until now, at any address. It comes before all other calls.
func (p *Pacer) Resumed() { p.resumed = time.Now() }

// Network is the address as it counts for the pace: an IPv4 address whole, of an IPv6 one the /64, which is as much as one
// customer of a network has. An IPv6 address that leads to an IPv4 one counts as that: a network without IPv4 sees all
// hosts that have nothing else in a single /64 (RFC 6052 2.1).
func Network(addr netip.Addr) netip.Prefix {
	addr = fetch.LeadsTo(addr)
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // it fails for bits out of range only, and gives the zero Prefix for the zero Addr
	return p
}

// Take asks for a start at addr now. With a wait there is none, and a's place in the queue is kept. due is when a had been
// told to come, if it had to wait for this start.
func (p *Pacer) Take(a canon.Authority, addr netip.Addr) (wait time.Duration, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	w, at := p.ask(a, addr, now)
	if at.After(now) {
		p.tell(a, w, Network(addr), at)
		return at.Sub(now), time.Time{}
	}
	if w != nil {
		p.leave(w)
		if due = w.due; due.After(now) { // those before it did not come, and it came early
			due = now
		}
	}
	p.addrs[Network(addr)].granted = now
	return 0, due
}

// ask returns the waiter that a is, if it is one, and when its turn is. The caller holds mu.
func (p *Pacer) ask(a canon.Authority, addr netip.Addr, now time.Time) (w *waiter, at time.Time) {
	if len(p.addrs)+len(p.waiters) >= p.sweepAt {
		p.sweep(now)
	}
	key := Network(addr)
	if w = p.waiters[a]; w != nil && (w.addr != key || w.over(now)) {
		p.leave(w)
		w = nil
	}
	ad := p.addr(key)
	for len(ad.queue) > 0 && ad.queue[0].over(now) {
		p.leave(ad.queue[0])
	}
	if at = ad.open(p.every); at.Before(now) {
		at = now
	}
	punctual := func(o *waiter) bool { return now.Before(o.due.Add(p.every / 2)) }
	if n := len(ad.queue); w == nil && n > 0 && punctual(ad.queue[n-1]) {
		if behind := ad.queue[n-1].due.Add(p.every); behind.After(at) {
			at = behind
		}
		return nil, at
	}
	for _, o := range ad.queue {
		if o == w {
			break
		}
		if punctual(o) {
			at = at.Add(p.every)
		}
	}
	return w, at
}

// tell notes when a is to come; it joins the end of the queue if it is not in it. The caller holds mu.
func (p *Pacer) tell(a canon.Authority, w *waiter, key netip.Prefix, at time.Time) {
	if w == nil {
		w = &waiter{authority: a, addr: key}
		p.waiters[a] = w
		p.addrs[key].queue = append(p.addrs[key].queue, w)
	}
	w.due = at
}

// leave takes a waiter out of its queue. The caller holds mu.
func (p *Pacer) leave(w *waiter) {
	delete(p.waiters, w.authority)
	ad := p.addrs[w.addr]
	if i := slices.Index(ad.queue, w); i >= 0 {
		ad.queue = slices.Delete(ad.queue, i, i+1)
	}
}

// addr returns the address of that name. The caller holds mu.
func (p *Pacer) addr(key netip.Prefix) *addr {
	ad := p.addrs[key]
	if ad == nil {
		ad = &addr{granted: p.resumed, sent: p.resumed}
		p.addrs[key] = ad
	}
	return ad
}

// open is when the next start may be.
func (ad *addr) open(every time.Duration) time.Time {
	last := ad.granted
	if ad.sent.After(last) {
		last = ad.sent
	}
	if last.IsZero() {
		return last
	}
	return last.Add(every)
}

// over reports whether the waiter keeps its place no longer.
func (w *waiter) over(now time.Time) bool { return now.After(w.due.Add(waiterLife)) }

// sweep forgets what has no meaning any more, so that memory goes with the hosts that wait. The caller holds mu.
func (p *Pacer) sweep(now time.Time) {
	for key, ad := range p.addrs {
		ad.queue = slices.DeleteFunc(ad.queue, func(w *waiter) bool {
			if w.over(now) {
				delete(p.waiters, w.authority)
			}
			return w.over(now)
		})
		if len(ad.queue) == 0 && !ad.open(p.every).After(now) {
			delete(p.addrs, key)
		}
	}
	p.sweepAt = max(leastSweep, 2*(len(p.addrs)+len(p.waiters)))
}

// Send waits until a request may go out at addr, and notes that it does. An error is that of ctx, or of our own state.
func (p *Pacer) Send(ctx context.Context, addr netip.Addr) error {
	for {
		wait, err := p.trySend(Network(addr))
		if err != nil || wait <= 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// trySend is Send, but that it returns how long to wait.
func (p *Pacer) trySend(key netip.Prefix) (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ad, now := p.addr(key), time.Now()
	if wait := ad.sent.Add(p.every).Sub(now); !ad.sent.IsZero() && wait > 0 {
		return wait, nil
	}
	if p.locks != nil {
		if wait, err := p.locks.Start(key, p.every); err != nil || wait > 0 {
			return wait, err
		}
	}
	ad.sent = now
	return 0, nil
}

// Sent notes that a request has gone out at addr: a busy machine may take its time between Send and that.
func (p *Pacer) Sent(addr netip.Addr) error {
	p.mu.Lock()
	p.addr(Network(addr)).sent = time.Now()
	p.mu.Unlock()
	if p.locks != nil {
		return p.locks.Started(Network(addr), p.every)
	}
	return nil
}

// Waiting counts the hosts whose time at their address is still to come.
func (p *Pacer) Waiting() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, now := int64(0), time.Now()
	for _, w := range p.waiters {
		if w.due.After(now) {
			n++
		}
	}
	return n
}

// Chooser remembers which address of its host each authority was last asked at: the next exchange goes there, too, as
// long as the name leads there, for its connection may be open still and its pace is known. It remembers the last ones
// only; a host that it has forgotten begins with the resolver's first address again.
type Chooser struct {
	mu       sync.Mutex
	now, old map[canon.Authority]used
}

type used struct {
	addr   netip.Addr
	failed int // addresses that could not be reached in a row, this one the last
}

// maxChosen bounds each of the two generations of a Chooser: together about 4 MiB.
const maxChosen = 1 << 14

// NewChooser returns a Chooser that remembers nothing.
func NewChooser() *Chooser { return &Chooser{now: map[canon.Authority]used{}} }

// Pick chooses among the addresses that the name leads to, of which there is at least one: the last one used, or, when
// that could not be reached, the one behind it.
func (s *Chooser) Pick(a canon.Authority, among []netip.AddrPort) netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last(a)
	i := slices.IndexFunc(among, func(ap netip.AddrPort) bool { return ap.Addr() == last.addr })
	switch {
	case !ok || i < 0:
		return among[0]
	case last.failed > 0:
		return among[(i+1)%len(among)]
	}
	return among[i]
}

// Used notes that addr was reached, or that it was not, and then whether another one of so many is still to be tried
// before the host itself counts as out of reach.
func (s *Chooser) Used(a canon.Authority, addr netip.Addr, reached bool, of int) (another bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := used{addr: addr}
	if !reached {
		last, _ := s.last(a)
		if next.failed = last.failed + 1; last.failed >= of {
			next.failed = 1 // a new round
		}
		another = next.failed < of
	}
	if len(s.now) >= maxChosen {
		s.now, s.old = make(map[canon.Authority]used, maxChosen), s.now
	}
	s.now[a] = next
	return another
}

// last returns what is remembered of a. The caller holds mu.
func (s *Chooser) last(a canon.Authority) (used, bool) {
	if last, ok := s.now[a]; ok {
		return last, true
	}
	last, ok := s.old[a]
	return last, ok
}
