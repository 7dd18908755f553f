package export

// sets are disjoint sets of pages (Galler and Fischer 1964). The number of a set is the least of its pages'.
type sets struct {
	above []uint32 // of each page one of its set with a lower number, or itself
	gone  []uint64 // bits: pages that do not count
	ghost []uint64 // and those of them that are compared all the same
}

func newSets(n int) sets {
	s := sets{above: make([]uint32, n), gone: make([]uint64, n/64+1), ghost: make([]uint64, n/64+1)}
	for i := range s.above {
		s.above[i] = uint32(i)
	}
	return s
}

func (s *sets) drop(n uint32)         { s.gone[n/64] |= 1 << (n % 64) }
func (s *sets) revive(n uint32)       { s.ghost[n/64] |= 1 << (n % 64) }
func (s *sets) skipped(n uint32) bool { return s.dropped(n) && s.ghost[n/64]>>(n%64)&1 == 0 }
func (s *sets) dropped(n uint32) bool { return s.gone[n/64]>>(n%64)&1 == 1 }

// root is the number of the set that n is in.
func (s *sets) root(n uint32) uint32 {
	for s.above[n] != n {
		s.above[n] = s.above[s.above[n]]
		n = s.above[n]
	}
	return n
}

func (s *sets) join(a, b uint32) {
	a, b = s.root(a), s.root(b)
	s.above[max(a, b)] = min(a, b)
}

// sizes are how many pages each set has, under its number.
func (s *sets) sizes() []uint32 {
	sizes := make([]uint32, len(s.above))
	for n := range uint32(len(s.above)) {
		if !s.dropped(n) {
			sizes[s.root(n)]++
		}
	}
	return sizes
}
