package bolt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeap_EqualsSorting(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for n := range 300 {
		var h heap
		var all []entry
		for range n {
			e := entry{At: int64(rnd.IntN(n/3 + 1)), Tie: rnd.Uint64N(5)}
			h.Push(e)
			all = append(all, e)
		}
		if n%2 == 1 { // the rest stays in order
			odd := func(e entry) bool { return e.At%2 == 1 }
			h.Keep(odd)
			all = slices.DeleteFunc(all, func(e entry) bool { return !odd(e) })
		}
		for range len(all) / 3 { // also after some are removed
			i := rnd.IntN(len(all))
			h.Remove(all[i])
			h.Remove(entry{At: -1})
			all = slices.Delete(all, i, i+1)
		}
		slices.SortFunc(all, func(a, b entry) int {
			switch {
			case a.before(b):
				return -1
			case b.before(a):
				return 1
			}
			return 0
		})
		for i, want := range all {
			require.Equalf(t, want, h.Pop(), "%d of %d", i, len(all))
		}
		require.Empty(t, h, "entries are left")
	}
}
