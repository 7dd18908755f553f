package cdxj

import (
	"fmt"
	"testing"

	"curtsy/storage/warc"
)

func entry(i int) warc.Entry {
	return warc.Entry{
		File: "curtsy-00000.warc.gz", Offset: int64(i) * 7000, Length: 7000, Kind: "response", ID: "urn:uuid:6d0f2c3a-6f2f-4c5e-9d5b-0a2b3c4d5e6f",
		URL: fmt.Sprintf("https://www.a.test/some/page/%d.html?a=b", i), Date: began, Status: 200, Type: "text/html",
		Payload: digestOf(fmt.Sprint(i)), HasPayload: true, Repeatable: true,
	}
}

// BenchmarkAdd is what indexing costs an exchange.
func BenchmarkAdd(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := s.Add(entry(i)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOriginal is what it costs to ask for a payload, known and not.
func BenchmarkOriginal(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const n = 100_000
	for i := range n {
		if err := s.Add(entry(i)); err != nil {
			b.Fatal(err)
		}
	}
	for name, from := range map[string]int{"known": 0, "new": n} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, known, err := s.Original(digestOf(fmt.Sprint(from + i%n))); err != nil || known != (from == 0) {
					b.Fatal(known, err)
				}
			}
		})
	}
}
