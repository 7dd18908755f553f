package bolt

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// seen is the set of fingerprints of all URLs that were ever accepted: open addressing in 256 shards, nothing but the
// fingerprints in the tables. A shard grows by a quarter when four fifths are used, so the set takes 10 to 12.5
// octets per URL, and only one shard at a time exists twice.
//
// One goroutine at a time adds: accept does, under the mutex of the frontier. Others look up meanwhile without a lock: a
// slot changes once, from empty to what it holds ever after, and a table that has grown takes the place of the old one
// when it is whole. So a look may miss what is being added, and never finds what was not.
type seen struct {
	shards [256]shard
}

type shard struct {
	table atomic.Pointer[slots]
	used  int // only for who adds
}

// slots is a table of fingerprints; zero is an empty slot.
type slots []frontier.Fingerprint

// look returns what slot i holds.
func (t slots) look(i int) frontier.Fingerprint {
	return frontier.Fingerprint(atomic.LoadUint64((*uint64)(&t[i])))
}

// home returns the slot where p belongs. It is the fraction of the table that the low 56 bits are of their range: any
// size will do, and no division is needed.
func (t slots) home(p frontier.Fingerprint) int {
	i, _ := bits.Mul64(uint64(p)<<8, uint64(len(t)))
	return int(i)
}

// find returns the slot that holds p or, if none does, the empty one where it goes, and what is in it.
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

// slots returns the table of the shard.
func (sh *shard) slots() slots {
	if t := sh.table.Load(); t != nil {
		return *t
	}
	return nil
}

// has reports whether p is in the set.
func (s *seen) has(p frontier.Fingerprint) bool {
	t := s.shards[p>>56].slots()
	if len(t) == 0 {
		return false
	}
	_, x := t.find(p)
	return x != 0
}

// glance is how many fingerprints strike looks up side by side.
const glance = 64

// strike sets those of ps to zero that are in the set. The tables are much larger than any cache of the processor, so
// that each look is a miss. The first looks of many fingerprints therefore stand together, with nothing that depends on
// them in between, not even a guess: the processor has their misses under way at the same time.
func (s *seen) strike(ps []frontier.Fingerprint) {
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
			if first[i] == p || first[i] != 0 && s.has(p) {
				ps[i] = 0
			}
		}
		ps = ps[n:]
	}
}

// add puts p into the set and reports whether it was new.
func (s *seen) add(p frontier.Fingerprint) bool {
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

// reserve makes room for n fingerprints, so that loading them does not grow the tables step by step.
func (s *seen) reserve(n int) {
	each := n / len(s.shards)
	for i := range s.shards {
		s.shards[i].resize(each + each*3/10 + 8)
	}
}

// len returns the number of fingerprints in the set. It is for who adds.
func (s *seen) len() int {
	n := 0
	for i := range s.shards {
		n += s.shards[i].used
	}
	return n
}

// all yields the fingerprints in the set, in no order that means anything.
func (s *seen) all() iter.Seq[frontier.Fingerprint] {
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

// resize moves the fingerprints into a table of n slots, and returns it.
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

// writeSeen appends fingerprints to their journal, 250 to a value.
func writeSeen(tx *bbolt.Tx, ps []frontier.Fingerprint) error {
	w := packer{tx: tx, journal: seenJournal}
	var item [8]byte
	for _, p := range ps {
		binary.BigEndian.PutUint64(item[:], uint64(p))
		if err := w.add(item[:]); err != nil {
			return err
		}
	}
	return w.flush()
}

// readSeen calls f for every fingerprint in the journal.
func readSeen(tx *bbolt.Tx, f func(frontier.Fingerprint) error) error {
	return seenJournal.each(tx, func(_ uint64, body []byte) error {
		if len(body)%8 != 0 {
			return frontier.ErrDamaged
		}
		for ; len(body) > 0; body = body[8:] {
			if err := f(frontier.Fingerprint(binary.BigEndian.Uint64(body))); err != nil {
				return err
			}
		}
		return nil
	})
}
