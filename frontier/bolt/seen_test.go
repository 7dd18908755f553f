package bolt

import (
	"fmt"
	"math/rand/v2"
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
			if octets := 8 * slots(&grown); float64(octets) > 13*float64(n) {
				t.Errorf("%d octets for %d fingerprints", octets, n)
			}
		}
	}
	if a, b := 8*slots(&made), 13*400_000; a > b {
		t.Errorf("%d octets for 400,000 fingerprints that were announced", a)
	}
}

func slots(s *seen) int {
	n := 0
	for i := range s.shards {
		n += len(s.shards[i].slots)
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
