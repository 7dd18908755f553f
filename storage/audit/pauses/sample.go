package pauses

import (
	"slices"
	"time"
)

// Sample is a number of pauses: how many, the shortest, and enough of them for the median. When there are too many,
// every second is left out, and from then on only so many are taken.
type Sample struct {
	n      int64
	least  time.Duration
	sample []time.Duration
	stride int64
}

const maxSample = 64

func (g *Sample) Add(d time.Duration) {
	if g.n == 0 || d < g.least {
		g.least = d
	}
	g.stride = max(g.stride, 1)
	if g.n%g.stride == 0 {
		g.sample = append(g.sample, d)
	}
	g.n++
	if len(g.sample) == maxSample {
		for i := range maxSample / 2 {
			g.sample[i] = g.sample[2*i]
		}
		g.sample = g.sample[:maxSample/2]
		g.stride *= 2
	}
}

// N is how many were added.
func (g *Sample) N() int64 { return g.n }

// Least is the shortest of them; zero without any.
func (g *Sample) Least() time.Duration { return g.least }

// Median is exact for up to maxSample pauses.
func (g *Sample) Median() time.Duration {
	if len(g.sample) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(g.sample))
	if len(s)%2 == 0 {
		return (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return s[len(s)/2]
}
