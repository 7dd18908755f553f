package pauses

import (
	"testing"
	"time"
)

// The median is exact for few pauses, and near for many.
func TestMedian(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 63, 1000, 100000} {
		var g Sample
		for i := range n {
			g.Add(time.Duration((i*7919)%n) * time.Millisecond)
		}
		want, got := float64(n/2), float64(g.Median())/1e6
		if near := 0.2 * float64(n); n < maxSample && got != want || got < want-near || got > want+near {
			t.Errorf("of 0…%d ms: %v ms", n-1, got)
		}
		if g.least != 0 || g.n != int64(n) || len(g.sample) > maxSample {
			t.Errorf("of 0…%d ms: %+v", n-1, g)
		}
	}
}
