package excerpts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkKeep keeps what of a page of 20 KiB its 40 links stand in, some 3 KB.
func BenchmarkKeep(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("a box of letters the spare key map town quiet corner winter timetable small door long table jar plums")
	pages := make([][]byte, 64)
	size := 0
	for i := range pages {
		var p strings.Builder
		p.WriteString("<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>What was found</title></head><body><main>")
		for range 40 {
			fmt.Fprintf(&p, `<a href="/%s/what-was-found-%08x.html">%s %s %s</a>`, words[rng.IntN(len(words))], rng.Uint32(), words[rng.IntN(len(words))], words[rng.IntN(len(words))], words[rng.IntN(len(words))])
		}
		pages[i] = []byte(p.String())
		size += p.Len()
	}
	w := NewWriter(b.TempDir())
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		w.Keep("urn:uuid:00000000-0000-4000-8000-000000000001", "utf-8", pages[n%len(pages)])
		if n++; n%100 == 0 {
			if err := w.Behind(b.Context(), durably); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(size)/float64(len(pages)), "B/page")
	b.ReportMetric(float64(int64(w.number)*fileSize+w.size)/float64(b.N), "B/written")
}
