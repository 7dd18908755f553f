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

// Pacer spaces the starts of exchanges at one address over all its hosts (politeness rule 10). A host that cannot start now
// gets a time to come back, and keeps its place in a queue, which moves with the starts that take place:
//
//   - The first in the queue gets a start, at least every after the last one.
//   - A host that is late by more than half of every does not hold up others, and keeps its place for a minute.
//   - A host that comes too early, because another was late, gets a new time and keeps its place.
//
// A start is granted before the connection is made, so the request itself waits again until every has passed since the last
// one at the address (Send, Sent). The methods may be called concurrently.
type Pacer struct {
	every time.Duration
	locks Locks // may be nil

	mu      sync.Mutex
	resumed time.Time // see Resumed
	addrs   map[netip.Prefix]*addr
	waiters map[canon.Authority]*waiter
	sweepAt int // the number of addrs and waiters at which to sweep
}

// Locks keep the delay of an address with other crawls of the same user (politeness rule 26). They are called last.
type Locks interface {
	// Start grants the start of an exchange by returning zero, or returns the time until the next try. Call Started once the
	// exchange has begun: others may start every later.
	Start(addr netip.Prefix, every time.Duration) (wait time.Duration, err error)
	Started(addr netip.Prefix, every time.Duration) error
}

type addr struct {
	granted time.Time // the last start
	sent    time.Time // the last request
	queue   []*waiter // first come, first served
}

// waiter is a host that waits for an address, of which it has at most one.
type waiter struct {
	authority canon.Authority
	addr      netip.Prefix
	due       time.Time
}

const (
	waiterLife = time.Minute // a waiter keeps its place so long after its time
	leastSweep = 1024
)

// NewPacer returns a Pacer. Nil locks mean that there are no other crawls.
func NewPacer(every time.Duration, locks Locks) *Pacer {
	return &Pacer{every: every, locks: locks, addrs: map[netip.Prefix]*addr{}, waiters: map[canon.Authority]*waiter{}, sweepAt: leastSweep}
}

// Resumed means that an earlier run may have had starts until now, at any address. Call it first.
func (p *Pacer) Resumed() { p.resumed = time.Now() }

// Network returns the address as it counts for the delay: an IPv4 address, or the /64 of an IPv6 address, which one customer
// of a network has. An IPv6 address that leads to an IPv4 one counts as that: a network without IPv4 sees all IPv4-only
// hosts in a single /64 (RFC 6052 2.1).
func Network(addr netip.Addr) netip.Prefix {
	addr = fetch.LeadsTo(addr)
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // cannot fail; the zero Addr has the zero Prefix
	return p
}

// Take requests a start at addr now. If it returns a wait, a gets no start, and keeps its place in the queue. due is
// the time when a was due, if it had to wait for this start.
func (p *Pacer) Take(a canon.Authority, addr netip.Addr) (wait time.Duration, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	w, at := p.ask(a, addr, now)
	if at.After(now) {
		if w == nil {
			w = &waiter{authority: a, addr: Network(addr)}
			p.waiters[a] = w
			p.addrs[w.addr].queue = append(p.addrs[w.addr].queue, w)
		}
		w.due = at
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

// ask returns the waiter of a, if it is one, and when it may start. It needs mu.
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

// leave removes a waiter. It needs mu.
func (p *Pacer) leave(w *waiter) {
	delete(p.waiters, w.authority)
	ad := p.addrs[w.addr]
	if i := slices.Index(ad.queue, w); i >= 0 {
		ad.queue = slices.Delete(ad.queue, i, i+1)
	}
}

// addr returns the entry of an address. It needs mu.
func (p *Pacer) addr(key netip.Prefix) *addr {
	ad := p.addrs[key]
	if ad == nil {
		ad = &addr{granted: p.resumed, sent: p.resumed}
		p.addrs[key] = ad
	}
	return ad
}

// open returns the earliest next start.
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

// over reports whether a waiter has lost its place.
func (w *waiter) over(now time.Time) bool { return now.After(w.due.Add(waiterLife)) }

// sweep removes unused entries, so that memory depends on the waiting hosts. It needs mu.
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

// Send waits until a request may be sent to addr, and records it. The error is that of ctx or Locks.
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

// trySend is Send, but returns the wait.
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

// Sent records that a request was sent to addr, which may be long after Send on a busy machine.
func (p *Pacer) Sent(addr netip.Addr) error {
	p.mu.Lock()
	p.addr(Network(addr)).sent = time.Now()
	p.mu.Unlock()
	if p.locks != nil {
		return p.locks.Started(Network(addr), p.every)
	}
	return nil
}

// Waiting counts the hosts whose time has not come.
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

// Chooser keeps each host at the address of its last exchange while the name leads there, since the connection may be open and
// the delay is known. It forgets the oldest hosts, which begin with the resolver's first address again.
type Chooser struct {
	mu       sync.Mutex
	now, old map[canon.Authority]used
}

type used struct {
	addr   netip.Addr
	failed int // unreachable addresses in a row, including this one
}

// maxChosen bounds each of the two generations of a Chooser: together about 4 MiB.
const maxChosen = 1 << 14

func NewChooser() *Chooser { return &Chooser{now: map[canon.Authority]used{}} }

// Pick chooses one of the addresses of a, of which there is at least one: the last one used or, if that was unreachable, the
// next one.
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

// Used records whether addr was reached. If not, it reports whether to try another one of its addresses, before the host counts
// as unreachable.
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

// last needs mu.
func (s *Chooser) last(a canon.Authority) (used, bool) {
	if last, ok := s.now[a]; ok {
		return last, true
	}
	last, ok := s.old[a]
	return last, ok
}
