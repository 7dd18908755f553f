package host

import (
	"net/netip"
	"slices"
	"sync"

	"curtsy/frontier/canon"
)

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
