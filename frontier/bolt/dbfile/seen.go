package dbfile

import (
	"iter"
	"math/bits"
	"sync/atomic"

	"curtsy/frontier"
)

// Set is a set of fingerprints, none of which is zero. The zero Set is empty. Add, Reserve and Len are for one
// goroutine at a time; the others are safe for concurrent use.
type Set struct {
	shards [256]shard
}

type shard struct {
	table atomic.Pointer[slots]
	used  int // by Add only
}

// slots is a table of fingerprints; zero is an empty slot.
type slots []frontier.Fingerprint

func (t slots) look(i int) frontier.Fingerprint {
	return frontier.Fingerprint(atomic.LoadUint64((*uint64)(&t[i])))
}

// home returns the slot where p belongs: the low 56 bits, as a fraction of their range, times the size of the table.
// Any size will do, and no division is needed.
func (t slots) home(p frontier.Fingerprint) int {
	i, _ := bits.Mul64(uint64(p)<<8, uint64(len(t)))
	return int(i)
}

// find returns the slot of p, or the empty one where it goes, and its content.
func (t slots) find(p frontier.Fingerprint) (int, frontier.Fingerprint) {
	i := t.home(p)
	for {
		x := t.look(i)
		if x == 0 || x == p {
			return i, x
		}
		if i++; i == len(t) {
			i = 0
		}
	}
}

func (sh *shard) slots() slots {
	if t := sh.table.Load(); t != nil {
		return *t
	}
	return nil
}

func (s *Set) Has(p frontier.Fingerprint) bool {
	t := s.shards[p>>56].slots()
	if len(t) == 0 {
		return false
	}
	_, x := t.find(p)
	return x != 0
}

const glance = 64 // fingerprints that Strike looks up side by side

// Strike sets those of ps to zero that are in the set. The tables are much larger than any cache of the processor, so
// each look is a miss. The first looks of many fingerprints are therefore made together, with no branch that depends on
// them in between: the processor has their misses under way at the same time.
func (s *Set) Strike(ps []frontier.Fingerprint) {
	var first [glance]frontier.Fingerprint
	for len(ps) > 0 {
		n := min(len(ps), glance)
		for i, p := range ps[:n] {
			first[i] = 0
			if t := s.shards[p>>56].slots(); len(t) > 0 {
				first[i] = t.look(t.home(p))
			}
		}
		for i, p := range ps[:n] {
			if first[i] == p || first[i] != 0 && s.Has(p) {
				ps[i] = 0
			}
		}
		ps = ps[n:]
	}
}

func (s *Set) Add(p frontier.Fingerprint) bool {
	sh := &s.shards[p>>56]
	t := sh.slots()
	if 5*(sh.used+1) > 4*len(t) {
		t = sh.resize(len(t) + len(t)/4 + 8)
	}
	i, x := t.find(p)
	if x != 0 {
		return false
	}
	atomic.StoreUint64((*uint64)(&t[i]), uint64(p))
	sh.used++
	return true
}

// Reserve makes room for n fingerprints, so that loading them does not grow the tables step by step.
func (s *Set) Reserve(n int) {
	each := n / len(s.shards)
	for i := range s.shards {
		s.shards[i].resize(each + each*3/10 + 8)
	}
}

func (s *Set) Len() int {
	n := 0
	for i := range s.shards {
		n += s.shards[i].used
	}
	return n
}

// All yields the fingerprints in the set, in arbitrary order.
func (s *Set) All() iter.Seq[frontier.Fingerprint] {
	return func(yield func(frontier.Fingerprint) bool) {
		for i := range s.shards {
			for _, p := range s.shards[i].slots() {
				if p != 0 && !yield(p) {
					return
				}
			}
		}
	}
}

func (sh *shard) resize(n int) slots {
	t := make(slots, n)
	for _, p := range sh.slots() {
		if p != 0 {
			i, _ := t.find(p)
			t[i] = p
		}
	}
	sh.table.Store(&t)
	return t
}
