package bolt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func TestSeen_EqualsAMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s seen
	m := map[frontier.Fingerprint]bool{}
	for range 60_000 {
		// Few shards and few homes: long chains that wrap around, and many hits.
		p := frontier.Fingerprint(rnd.Uint64N(3)<<56 | rnd.Uint64N(4)<<54 | rnd.Uint64N(500))
		if rnd.IntN(3) == 0 {
			p = frontier.Fingerprint(rnd.Uint64())
		}
		p = max(p, 1)
		if s.has(p) != m[p] {
			t.Fatalf("has(%x) = %v", p, !m[p])
		}
		struck := []frontier.Fingerprint{p}
		if s.strike(struck); (struck[0] == 0) != m[p] {
			t.Fatalf("strike(%x) = %x", p, struck[0])
		}
		if s.add(p) == m[p] {
			t.Fatalf("add(%x) = %v", p, m[p])
		}
		m[p] = true
	}
	if s.len() != len(m) {
		t.Fatalf("%d, want %d", s.len(), len(m))
	}
	for p := range m {
		if !s.has(p) {
			t.Fatalf("%x is lost", p)
		}
	}
}

// Looks need no lock: what has been added is found, whatever grows meanwhile, and what was not is not.
func TestSeen_IsLookedAtWhileItGrows(t *testing.T) {
	var s seen
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
				if s.strike(ps); slices.Max(append(ps, 0)) != 0 {
					t.Errorf("one of %d is not found", n)
					return
				}
				if s.has(frontier.Fingerprint(mix(n) &^ 1)) {
					t.Errorf("one that was never added is found")
					return
				}
			}
		})
	}
	for i := range uint64(all) {
		s.add(frontier.Fingerprint(mix(i) | 1))
		added.Store(i + 1)
	}
	looks.Wait()
	if !s.has(frontier.Fingerprint(mix(all-1) | 1)) {
		t.Error("the last one is not found")
	}
}

// The tables take at most 12.5 octets for each fingerprint, once they are not tiny, whether they grew or were made.
func TestSeen_Memory(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	var grown, made seen
	made.reserve(400_000)
	for n := 1; n <= 400_000; n++ {
		p := frontier.Fingerprint(max(rnd.Uint64(), 1))
		grown.add(p)
		made.add(p)
		if n%50_000 == 0 {
			if octets := 8 * slotsOf(&grown); float64(octets) > 13*float64(n) {
				t.Errorf("%d octets for %d fingerprints", octets, n)
			}
		}
	}
	if a, b := 8*slotsOf(&made), 13*400_000; a > b {
		t.Errorf("%d octets for 400,000 fingerprints that were announced", a)
	}
}

func slotsOf(s *seen) int {
	n := 0
	for i := range s.shards {
		n += len(s.shards[i].slots())
	}
	return n
}

func TestPrinter_EqualsPrint(t *testing.T) {
	secret := []byte("a secret of this test, 32 octets")
	p := newPrinter(secret)
	for i := range 100 {
		u := mustURL(t, fmt.Sprintf("https://www.site-%d.example/a/%%7Eb?c=%d", i%7, i))
		if got, want := p.print(u), frontier.Print(secret, u); got != want {
			t.Fatalf("%s: %x, want %x", u, got, want)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	p := newPrinter(make([]byte, 32))
	u := mustURL(b, "https://www.site-000123.example/archive/products/category-library-1234567.html")
	b.ReportAllocs()
	for b.Loop() {
		p.print(u)
	}
}

func mustURL(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
