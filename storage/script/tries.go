package script

import (
	"hash/maphash"
	"sync"

	"curtsy/frontier/canon"
)

// The bounds of Tries.
const (
	maxTries = 6       // mentions of a name on a host that are tried
	maxTried = 100_000 // names that are remembered; more are tried no further
)

// Tries bounds how often a name is tried: scripts that stand in each page of a site name the same files, relative to the
// root that they know, and each folder would be asked for them. It remembers as long as it lives. The zero value is ready.
type Tries struct {
	mu    sync.Mutex
	seed  maphash.Seed
	tries map[uint64]uint8 // by a hash of authority and name
}

// Again reports whether a name is to be tried as u.
func (t *Tries) Again(name string, u canon.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tries == nil {
		t.seed, t.tries = maphash.MakeSeed(), map[uint64]uint8{}
	}
	at := maphash.String(t.seed, u.Authority().String()+"\n"+name)
	n, known := t.tries[at]
	if n == maxTries || !known && len(t.tries) == maxTried {
		return false
	}
	t.tries[at] = n + 1
	return true
}
