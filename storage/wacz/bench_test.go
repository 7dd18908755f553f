package wacz

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// BenchmarkPack packs an archive of pages that compress to a third.
func BenchmarkPack(b *testing.B) {
	words := make([]byte, 20<<10)
	var all []exchange
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		for j := range words {
			words[j] = "abcdefgh "[rng.IntN(9)]
		}
		all = append(all, exchange{url: fmt.Sprintf("http://a.test/%d", i), body: fmt.Sprintf("<title>Page %d</title>%s", i, words)})
	}
	o := crawl(b, 0, all...).options(b)
	for b.Loop() {
		r, err := Write(b.Context(), io.Discard, o)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(r.Octets)
	}
}
