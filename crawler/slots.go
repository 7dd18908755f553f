package crawler

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// slots space the starts of exchanges at one address, whatever hosts are there (politeness rule 10). Hosts stand in line:
// who asks for a start and cannot have it now is told when to come, keeps its place and is let pass when it comes. The
// line moves with what really happens, not by a timetable made once:
//
//   - A start is granted to the first in line, no sooner than every after the last one.
//   - Who is late by more than half of that does not hold up those behind, and keeps its place for a minute.
//   - Who comes too soon, because somebody was late, is told anew and keeps its place.
//
// A start is granted before the connection is made, which takes its time; so the request itself waits once more, for
// what is left until every has passed since the last request went out at that address (send, sent).
//
// Other crawls of the same user keep the pace of an address with us: shared, if not nil, has the last word before a request
// goes out (politeness rule 26).
type slots struct {
	every  time.Duration
	shared hostLocks

	mu      sync.Mutex
	spots   map[netip.Prefix]*spot
	held    map[canon.Authority]*place
	sweepAt int // how many spots and places there are when the next sweep is due
}

// spot is an address, as far as the pace goes.
type spot struct {
	granted time.Time // when the last start was
	sent    time.Time // when the last request went out
	line    []*place  // first come, first served
}

// place is a host's place in the line before an address. A host has one at most.
type place struct {
	authority canon.Authority
	spot      netip.Prefix
	due       time.Time // when it was told to come
}

const (
	placeLife  = time.Minute // how long after its time a place is kept
	leastSweep = 1024
)

func newSlots(every time.Duration) *slots {
	return &slots{every: every, spots: map[netip.Prefix]*spot{}, held: map[canon.Authority]*place{}, sweepAt: leastSweep}
}

// Spot is what counts as one address for the pace of rule 10.
func Spot(addr netip.Addr) netip.Prefix { return spotOf(addr) }

// spotOf is an IPv4 address, or the /64 of an IPv6 one: what one customer of a network has. What leads to an IPv4 address is
// that one: a network without IPv4 sees all hosts that have nothing else in a single /64 (RFC 6052 2.1).
func spotOf(addr netip.Addr) netip.Prefix {
	addr = fetch.LeadsTo(addr)
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // it fails for bits out of range only, and gives the zero Prefix for the zero Addr
	return p
}

// take asks for a start at addr now. With a wait there is none, and a's place in line is kept. due is when a had been
// told to come, if it had to wait for this start.
func (s *slots) take(a canon.Authority, addr netip.Addr) (wait time.Duration, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	p, at := s.ask(a, addr, now)
	if at.After(now) {
		s.tell(a, p, spotOf(addr), at)
		return at.Sub(now), time.Time{}
	}
	if p != nil {
		s.leave(p)
		if due = p.due; due.After(now) { // those before it did not come, and it came early
			due = now
		}
	}
	s.spots[spotOf(addr)].granted = now
	return 0, due
}

// ask returns a's place in line, if it has one, and when its turn is. The caller holds mu.
func (s *slots) ask(a canon.Authority, addr netip.Addr, now time.Time) (p *place, at time.Time) {
	if len(s.spots)+len(s.held) >= s.sweepAt {
		s.sweep(now)
	}
	key := spotOf(addr)
	if p = s.held[a]; p != nil && (p.spot != key || p.over(now)) {
		s.leave(p)
		p = nil
	}
	sp := s.spot(key)
	for len(sp.line) > 0 && sp.line[0].over(now) {
		s.leave(sp.line[0])
	}
	if at = sp.open(s.every); at.Before(now) {
		at = now
	}
	punctual := func(o *place) bool { return now.Before(o.due.Add(s.every / 2)) }
	if n := len(sp.line); p == nil && n > 0 && punctual(sp.line[n-1]) {
		if behind := sp.line[n-1].due.Add(s.every); behind.After(at) {
			at = behind
		}
		return nil, at
	}
	for _, o := range sp.line {
		if o == p {
			break
		}
		if punctual(o) {
			at = at.Add(s.every)
		}
	}
	return p, at
}

// tell notes when a is to come; without a place it gets one at the end of the line. The caller holds mu.
func (s *slots) tell(a canon.Authority, p *place, key netip.Prefix, at time.Time) {
	if p == nil {
		p = &place{authority: a, spot: key}
		s.held[a] = p
		s.spots[key].line = append(s.spots[key].line, p)
	}
	p.due = at
}

// leave takes a place out of its line. The caller holds mu.
func (s *slots) leave(p *place) {
	delete(s.held, p.authority)
	sp := s.spots[p.spot]
	if i := slices.Index(sp.line, p); i >= 0 {
		sp.line = slices.Delete(sp.line, i, i+1)
	}
}

// spot returns the spot of that name. The caller holds mu.
func (s *slots) spot(key netip.Prefix) *spot {
	sp := s.spots[key]
	if sp == nil {
		sp = &spot{}
		s.spots[key] = sp
	}
	return sp
}

// open is when the next start may be.
func (sp *spot) open(every time.Duration) time.Time {
	last := sp.granted
	if sp.sent.After(last) {
		last = sp.sent
	}
	if last.IsZero() {
		return last
	}
	return last.Add(every)
}

// over reports whether a place is kept no longer.
func (p *place) over(now time.Time) bool { return now.After(p.due.Add(placeLife)) }

// sweep forgets what has no meaning any more, so that memory goes with the hosts in line. The caller holds mu.
func (s *slots) sweep(now time.Time) {
	for key, sp := range s.spots {
		sp.line = slices.DeleteFunc(sp.line, func(p *place) bool {
			if p.over(now) {
				delete(s.held, p.authority)
			}
			return p.over(now)
		})
		if len(sp.line) == 0 && !sp.open(s.every).After(now) {
			delete(s.spots, key)
		}
	}
	s.sweepAt = max(leastSweep, 2*(len(s.spots)+len(s.held)))
}

// send waits until a request may go out at addr, and notes that it does. An error is that of ctx, or of our own state.
func (s *slots) send(ctx context.Context, addr netip.Addr) error {
	for {
		wait, err := s.trySend(spotOf(addr))
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

// trySend is send, but that it returns how long to wait.
func (s *slots) trySend(key netip.Prefix) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp, now := s.spot(key), time.Now()
	if wait := sp.sent.Add(s.every).Sub(now); !sp.sent.IsZero() && wait > 0 {
		return wait, nil
	}
	if s.shared != nil {
		if wait, err := s.shared.Start(key, s.every); err != nil || wait > 0 {
			return wait, err
		}
	}
	sp.sent = now
	return 0, nil
}

// sent notes that a request has gone out at addr: a busy machine may take its time between send and that.
func (s *slots) sent(addr netip.Addr) error {
	s.mu.Lock()
	s.spot(spotOf(addr)).sent = time.Now()
	s.mu.Unlock()
	if s.shared != nil {
		return s.shared.Started(spotOf(addr), s.every)
	}
	return nil
}

// waiting counts the hosts whose time at their address is still to come.
func (s *slots) waiting() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, now := int64(0), time.Now()
	for _, p := range s.held {
		if p.due.After(now) {
			n++
		}
	}
	return n
}
