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
		if n%2 == 1 { // what is kept is in order too
			odd := func(e entry) bool { return e.At%2 == 1 }
			h.Keep(odd)
			all = slices.DeleteFunc(all, func(e entry) bool { return !odd(e) })
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

func TestHeap_NoAllocationsOnceItHasRoom(t *testing.T) {
	var h heap
	for i := range 1000 {
		h.Push(entry{At: int64(i)})
	}
	require.EqualValues(t, 0, testing.AllocsPerRun(100, func() { e := h.Pop(); e.At += 1000; h.Push(e) }), "allocations")
}

func TestHeap_RemoveKeepsTheOrderOfTheOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var h heap
		var all []entry
		for i := range rng.IntN(60) + 1 {
			e := entry{At: rng.Int64N(20), Tie: uint64(i)}
			h.Push(e)
			all = append(all, e)
		}
		i := rng.IntN(len(all))
		h.Remove(all[i])
		h.Remove(entry{At: 99})
		all = slices.Delete(all, i, i+1)
		slices.SortFunc(all, func(a, b entry) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		for _, want := range all {
			if got := h.Pop(); got != want {
				t.Fatalf("%+v, want %+v", got, want)
			}
		}
		require.Empty(t, h, "there is more")
	}
}
