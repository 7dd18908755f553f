package dbfile

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

func TestSeen_EqualsMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s Set
	m := map[frontier.Fingerprint]bool{}
	for range 60_000 {
		// Few shards and few homes: long chains that wrap around, and many hits.
		p := frontier.Fingerprint(rnd.Uint64N(3)<<56 | rnd.Uint64N(4)<<54 | rnd.Uint64N(500))
		if rnd.IntN(3) == 0 {
			p = frontier.Fingerprint(rnd.Uint64())
		}
		p = max(p, 1)
		require.Truef(t, s.Has(p) == m[p], "has(%x) = %v", p, !m[p])
		struck := []frontier.Fingerprint{p}
		if s.Strike(struck); (struck[0] == 0) != m[p] {
			t.Fatalf("strike(%x) = %x", p, struck[0])
		}
		require.NotEqualf(t, m[p], s.Add(p), "Add(%x)", p)
		m[p] = true
	}
	require.Truef(t, s.Len() == len(m), "%d, want %d", s.Len(), len(m))
	for p := range m {
		require.Truef(t, s.Has(p), "%x is lost", p)
	}
}

// Looks need no lock: added fingerprints are found while the tables grow, and others are not.
func TestSeen_ReadWhileGrowing(t *testing.T) {
	var s Set
	var added atomic.Uint64
	const all = 200_000
	var looks sync.WaitGroup
	for range 2 {
		looks.Go(func() {
			ps := make([]frontier.Fingerprint, 0, 2*glance+1)
			for n := uint64(0); n < all; {
				n = added.Load()
				ps = ps[:0]
				for i := uint64(0); i < n && len(ps) < cap(ps); i += 1 + n/100 {
					ps = append(ps, frontier.Fingerprint(mix(i)|1))
				}
				if s.Strike(ps); slices.Max(append(ps, 0)) != 0 {
					t.Errorf("one of %d is not found", n)
					return
				}
				if s.Has(frontier.Fingerprint(mix(n) &^ 1)) {
					t.Errorf("one that was never added is found")
					return
				}
			}
		})
	}
	for i := range uint64(all) {
		s.Add(frontier.Fingerprint(mix(i) | 1))
		added.Store(i + 1)
	}
	looks.Wait()
	assert.True(t, s.Has(frontier.Fingerprint(mix(all-1)|1)), "the last one is not found")
}

func TestSeen_Memory(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	var grown, made Set
	made.Reserve(400_000)
	for n := 1; n <= 400_000; n++ {
		p := frontier.Fingerprint(max(rnd.Uint64(), 1))
		grown.Add(p)
		made.Add(p)
		if n%50_000 == 0 {
			octets := 8 * slotsOf(&grown)
			assert.Truef(t, float64(octets) <= 13*float64(n), "%d octets for %d fingerprints", octets, n)
		}
	}
	a, b := 8*slotsOf(&made), 13*400_000
	assert.Truef(t, a <= b, "%d octets for 400,000 fingerprints that were announced", a)
}

func slotsOf(s *Set) int {
	n := 0
	for i := range s.shards {
		n += len(s.shards[i].slots())
	}
	return n
}

func TestAllocs_SeenCheck(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 4))
	var s Set
	for range 10_000 {
		s.Add(frontier.Fingerprint(rnd.Uint64() | 1))
	}
	known := make([]frontier.Fingerprint, 0, 100)
	for p := range s.All() {
		if known = append(known, p); len(known) == cap(known) {
			break
		}
	}
	look := make([]frontier.Fingerprint, 100)
	few(t, "has", 0, func() { s.Has(known[7]) })
	few(t, "strike", 0, func() { copy(look, known); s.Strike(look) })
	few(t, "add of one that is there", 0, func() { s.Add(known[7]) })
}

// few fails if step allocates more than most times on average.
func few(t *testing.T, name string, most float64, step func()) {
	t.Helper()
	step() // allocates the parts that are made once
	if n := testing.AllocsPerRun(500, step); n > most {
		t.Errorf("%s: %v allocations, want %v at most", name, n, most)
	}
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): neighbours become independent.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
