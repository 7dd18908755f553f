package proof

import (
	"fmt"
	"io"
	"testing"

	"curtsy/storage"
)

// BenchmarkProve makes the bundle of one host of a crawl of 100,000 lines and 1,000 hosts, from its directory.
func BenchmarkProve(b *testing.B) {
	s := newSite(b)
	for i := range 100_000 {
		s.line(storage.Line{URL: fmt.Sprintf("http://name-%04d.test/page/%d", i%1000, i/1000), Via: fmt.Sprintf("http://name-%04d.test/", i*7%1000),
			Decision: storage.DecisionAllow, Kind: storage.KindLink, Reason: "no match", Standard: "rfc9309", Outcome: storage.OutcomeFailed})
	}
	if err := s.book.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		g, err := s.gathered("name-0500.test")
		if err != nil {
			b.Fatal(err)
		}
		made, err := Make(b.Context(), io.Discard, g.Source)
		if err != nil || made.Summary.Lines != 100 {
			b.Fatal(made, err)
		}
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
