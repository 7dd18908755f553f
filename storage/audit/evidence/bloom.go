package evidence

import (
	"hash/maphash"
)

// bloomFilter remembers record ids in memory of a fixed size: it may take an id for seen that was not, about one in a
// hundred after three million of them, and never the other way round.
type bloomFilter struct {
	bits []uint64
	seed maphash.Seed
}

const seenBits = 1 << 25 // 4 MiB

func newBloomFilter() *bloomFilter {
	return &bloomFilter{make([]uint64, seenBits/64), maphash.MakeSeed()}
}

func (s *bloomFilter) places(id string) [4]uint64 {
	h := maphash.String(s.seed, id)
	a, b := h&(1<<32-1), h>>32|1
	var p [4]uint64
	for i := range p {
		p[i] = (a + uint64(i)*b) % seenBits
	}
	return p
}

func (s *bloomFilter) add(id string) {
	for _, p := range s.places(id) {
		s.bits[p/64] |= 1 << (p % 64)
	}
}

func (s *bloomFilter) has(id string) bool {
	for _, p := range s.places(id) {
		if s.bits[p/64]&(1<<(p%64)) == 0 {
			return false
		}
	}
	return true
}
