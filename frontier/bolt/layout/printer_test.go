package layout

import (
	"fmt"
	"testing"

	"curtsy/frontier"
)

func TestPrinter_EqualsPrint(t *testing.T) {
	secret := []byte("a secret of this test, 32 octets")
	p := NewPrinter(secret)
	for i := range 100 {
		u := mustURL(t, fmt.Sprintf("https://www.site-%d.example/a/%%7Eb?c=%d", i%7, i))
		if got, want := p.Print(u), frontier.Print(secret, u); got != want {
			t.Fatalf("%s: %x, want %x", u, got, want)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	p := NewPrinter(make([]byte, 32))
	u := mustURL(b, "https://www.site-000123.example/archive/products/category-library-1234567.html")
	b.ReportAllocs()
	for b.Loop() {
		p.Print(u)
	}
}
