package record

import (
	"hash/maphash"
	"sync"
)

// Recent remembers which keys it has met, the last ones of them: it may forget, and then says of a key that it is
// new. It keeps lines of the ledger that say the same apart by more than a page.
type Recent struct {
	seed maphash.Seed

	mu       sync.Mutex
	now, old map[uint64]struct{}
}

// maxRecent bounds each of the two generations of a Recent: together about 5 MiB.
const maxRecent = 1 << 16

// NewRecent returns a Recent that has met nothing.
func NewRecent() *Recent {
	return &Recent{seed: maphash.MakeSeed(), now: map[uint64]struct{}{}}
}

// Met reports whether key is remembered.
func (r *Recent) Met(key string) bool {
	h := maphash.String(r.seed, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, now := r.now[h]
	_, old := r.old[h]
	return now || old
}

// First reports whether key is new, and remembers it.
func (r *Recent) First(key string) bool {
	h := maphash.String(r.seed, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.now[h]; ok {
		return false
	}
	_, met := r.old[h]
	if len(r.now) >= maxRecent {
		r.now, r.old = make(map[uint64]struct{}, maxRecent), r.now
	}
	r.now[h] = struct{}{}
	return !met
}
