package bolt

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// seen is the set of fingerprints of all URLs that were ever accepted: open addressing in 256 shards, nothing but the
// fingerprints in the tables. A shard grows by a quarter when four fifths are used, so the set takes 10 to 12.5
// octets per URL, and only one shard at a time exists twice. Shards have their own locks so that links can be looked
// up without holding up the frontier; only accept adds.
type seen struct {
	shards [256]shard
}

type shard struct {
	mu    sync.RWMutex
	slots []frontier.Fingerprint // zero is empty
	used  int
}

// has reports whether p is in the set.
func (s *seen) has(p frontier.Fingerprint) bool {
	sh := &s.shards[p>>56]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if len(sh.slots) == 0 {
		return false
	}
	return sh.slots[sh.find(p)] == p
}

// add puts p into the set and reports whether it was new.
func (s *seen) add(p frontier.Fingerprint) bool {
	sh := &s.shards[p>>56]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if 5*(sh.used+1) > 4*len(sh.slots) {
		sh.resize(len(sh.slots) + len(sh.slots)/4 + 8)
	}
	i := sh.find(p)
	if sh.slots[i] == p {
		return false
	}
	sh.slots[i] = p
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

// len returns the number of fingerprints in the set.
func (s *seen) len() int {
	n := 0
	for i := range s.shards {
		s.shards[i].mu.RLock()
		n += s.shards[i].used
		s.shards[i].mu.RUnlock()
	}
	return n
}

// find returns the slot that holds p or, if none does, the empty one where it belongs. The home slot is the fraction
// of the table that the low 56 bits are of their range: any size will do, and no division is needed.
func (sh *shard) find(p frontier.Fingerprint) int {
	home, _ := bits.Mul64(uint64(p)<<8, uint64(len(sh.slots)))
	i := int(home)
	for sh.slots[i] != 0 && sh.slots[i] != p {
		if i++; i == len(sh.slots) {
			i = 0
		}
	}
	return i
}

// resize moves the fingerprints into a table of n slots.
func (sh *shard) resize(n int) {
	old := sh.slots
	sh.slots = make([]frontier.Fingerprint, n)
	for _, p := range old {
		if p != 0 {
			sh.slots[sh.find(p)] = p
		}
	}
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
			return ErrDamaged
		}
		for ; len(body) > 0; body = body[8:] {
			if err := f(frontier.Fingerprint(binary.BigEndian.Uint64(body))); err != nil {
				return err
			}
		}
		return nil
	})
}
