package main

import (
	"math/rand/v2"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// noise is text that no compression makes smaller, the same for the same seed.
func noise(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return string(b)
}
