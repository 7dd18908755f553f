package script

import (
	"hash/maphash"
	"slices"
	"sync"

	"curtsy/frontier/canon"
)

// The bounds of Tries.
const (
	maxTries = 6       // places on a host that a name is tried at
	maxTried = 100_000 // names that are remembered; more are not tried
)

// Tries bounds how often a name is tried: scripts that stand in each page of a site name the same files, relative to the
// root that they know, and each folder would be asked for them. It remembers as long as it lives. The zero value is ready.
type Tries struct {
	mu    sync.Mutex
	seed  maphash.Seed
	tried map[uint64][]uint64 // places by a hash of authority and name
}

// Try reports whether a name is to be tried as u: it was before, or at few other places.
func (t *Tries) Try(name string, u canon.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tried == nil {
		t.seed, t.tried = maphash.MakeSeed(), map[uint64][]uint64{}
	}
	what := maphash.String(t.seed, u.Authority().String()+"\n"+name)
	place := maphash.String(t.seed, u.Key())
	places, known := t.tried[what]
	switch {
	case slices.Contains(places, place):
		return true
	case len(places) == maxTries || !known && len(t.tried) == maxTried:
		return false
	}
	t.tried[what] = append(places, place)
	return true
}
