package crawler

import (
	"net/netip"
	"slices"
	"sync"

	"curtsy/frontier/canon"
)

// addresses remembers which address of its host each authority was last asked at: the next exchange goes there, too, as
// long as the name leads there, for its connection may be open still and its pace is known. It remembers the last ones
// only; a host that it has forgotten begins with the resolver's first address again.
type addresses struct {
	mu       sync.Mutex
	now, old map[canon.Authority]lastAddress
}

type lastAddress struct {
	addr   netip.Addr
	failed int // addresses that could not be reached in a row, this one the last
}

// maxAddresses bounds each of the two generations of addresses: together about 4 MiB.
const maxAddresses = 1 << 14

func newAddresses() *addresses { return &addresses{now: map[canon.Authority]lastAddress{}} }

// pick chooses among the addresses that the name leads to, of which there is at least one: the last one used, or, when
// that could not be reached, the one behind it.
func (s *addresses) pick(a canon.Authority, among []netip.AddrPort) netip.AddrPort {
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

// used notes that addr was reached, or that it was not, and then whether another one of so many is still to be tried
// before the host itself counts as out of reach.
func (s *addresses) used(a canon.Authority, addr netip.Addr, reached bool, of int) (another bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := lastAddress{addr: addr}
	if !reached {
		last, _ := s.last(a)
		if next.failed = last.failed + 1; last.failed >= of {
			next.failed = 1 // a new round
		}
		another = next.failed < of
	}
	if len(s.now) >= maxAddresses {
		s.now, s.old = make(map[canon.Authority]lastAddress, maxAddresses), s.now
	}
	s.now[a] = next
	return another
}

// last returns what is remembered of a. The caller holds mu.
func (s *addresses) last(a canon.Authority) (lastAddress, bool) {
	if last, ok := s.now[a]; ok {
		return last, true
	}
	last, ok := s.old[a]
	return last, ok
}
