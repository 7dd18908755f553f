package cdxj

import "math/bits"

// A slot is 26 bits of a hash and 38 bits of a place (plus 1, so that 0 is an empty slot).
const (
	shards    = 256
	tagBits   = 26
	placeBits = 64 - tagBits
	maxPlace  = 1<<placeBits - 2
)

// table finds places by a hash, in about 12 bytes for each: open addressing with linear probing, 0.6 to 0.85 full.
// The caller compares the record at a place: a table knows 34 bits of the hash. Each shard grows by itself,
// so that no growth holds up much or doubles the memory. Hashes must come from a keyed function: of digests alone an
// adversary could choose those that collide.
type table struct {
	shard [shards][]uint64
	used  [shards]int
	n     int
}

// add adds a place for a hash; it does not look whether one is there already. It reports false for a place that is too
// large to be kept.
func (t *table) add(hash uint64, place int64) bool {
	if place < 0 || place > maxPlace {
		return false
	}
	i := hash >> (64 - 8)
	if s := t.shard[i]; (t.used[i]+1)*20 > len(s)*17 {
		t.shard[i] = grown(s)
	}
	insert(t.shard[i], hash<<8>>(64-tagBits)<<placeBits|uint64(place+1))
	t.used[i]++
	t.n++
	return true
}

func grown(old []uint64) []uint64 {
	s := make([]uint64, len(old)+len(old)*2/5+4)
	for _, slot := range old {
		if slot != 0 {
			insert(s, slot)
		}
	}
	return s
}

func insert(s []uint64, slot uint64) {
	i := home(s, slot>>placeBits)
	for s[i] != 0 {
		if i++; i == len(s) {
			i = 0
		}
	}
	s[i] = slot
}

// home is where the search for a tag begins.
func home(s []uint64, tag uint64) int {
	i, _ := bits.Mul64(tag<<placeBits, uint64(len(s)))
	return int(i)
}

// find calls is for each place that may be that of a hash until it reports true or an error.
func (t *table) find(hash uint64, is func(place int64) (bool, error)) error {
	s := t.shard[hash>>(64-8)]
	if len(s) == 0 {
		return nil
	}
	tag := hash << 8 >> (64 - tagBits)
	for i := home(s, tag); s[i] != 0; {
		if s[i]>>placeBits == tag {
			if ok, err := is(int64(s[i]&(1<<placeBits-1)) - 1); ok || err != nil {
				return err
			}
		}
		if i++; i == len(s) {
			i = 0
		}
	}
	return nil
}
