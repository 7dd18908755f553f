package dashboard

import (
	"cmp"
	"maps"
	"slices"
)

// mostWords is how many values of a label are told apart.
const mostWords = 50

// others is the value under which the rest is counted.
const others = "others"

// known are the values of a label that are told apart: the first that were met, so that none ever changes its place.
type known map[string]bool

// bounded is values with what there is no room for under others; called with mu held.
func (c *crawls) bounded(of string, values map[string]float64) map[string]float64 {
	k := c.words[of]
	if k == nil {
		k = &known{}
		c.words[of] = k
	}
	told := map[string]float64{}
	for _, octets := range largest(values) {
		word := valid(octets)
		if !(*k)[word] && len(*k) < mostWords {
			(*k)[word] = true
		}
		if (*k)[word] {
			told[word] += values[octets]
		} else {
			told[others] += values[octets]
		}
	}
	return told
}

// largest are the words of values, those that count most first.
func largest(values map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
}
