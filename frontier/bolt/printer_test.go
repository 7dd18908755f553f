package bolt

import (
	"fmt"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

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
