package trap

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Misra and Gries 1982: of n, a count lacks at most n/(k+1).
func TestCountsAreNeverMoreThanTrueAndLackAKnownShare(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		table := table{most: 1 + rng.IntN(maxPaths)}
		groups := 1 + rng.IntN(4*table.most)
		zipf := rand.NewZipf(rng, 1.01+rng.Float64(), 1, uint64(groups))
		exact := map[group]int{}
		for n := 1; n <= 5000; n++ {
			g := group(1 + zipf.Uint64())
			if round%2 == 0 {
				g = group(1 + rng.IntN(groups))
			}
			table.add(g)
			exact[g]++
			require.LessOrEqualf(t, len(table.entries), table.most, "%d counters, there are %d", len(table.entries), table.most)
			if n%500 != 0 {
				continue
			}
			for g, is := range exact {
				got := table.count(g)
				require.Truef(t, got <= is && got >= is-n/(table.most+1), "with %d counters, after %d URLs: %d counted, %d are true", table.most, n, got, is)
			}
		}
	}
}

func TestFewGroupsAreCountedExactly(t *testing.T) {
	table := table{most: maxTemplates}
	for i := range 10 * maxTemplates {
		table.add(group(1 + i%maxTemplates))
	}
	for g := range group(maxTemplates) {
		n := table.count(1 + g)
		assert.Truef(t, n == 10, "group %d: %d of 10", 1+g, n)
	}
}

// Politeness rule 22: less than 5 % of the last 200 pages.
func TestRule22_BarrenIsLessThanFivePerCentOfTheLastPages(t *testing.T) {
	for _, tt := range []struct {
		limit, pages, fresh int
		want                bool
	}{
		{1000, 200, 0, true}, {1000, 200, 9, true}, {1000, 200, 10, false}, {1000, 199, 0, false},
		{100, 100, 4, true}, {100, 100, 5, false}, {100, 99, 0, false},
		{64, 64, 3, true}, {64, 64, 4, false}, {65, 65, 3, true}, {128, 128, 6, true}, {128, 128, 7, false},
		{1, 1, 0, true}, {1, 1, 1, false}, {20, 20, 0, true}, {20, 20, 1, false}, {21, 21, 1, true},
	} {
		for _, late := range []bool{false, true} { // the place of the fresh ones does not matter
			var w window
			for i := range tt.pages {
				if late {
					i = tt.pages - 1 - i
				}
				w.add(i < tt.fresh)
			}
			assert.Equalf(t, tt.want, w.barren(tt.limit), "limit %d, %d pages, %d new", tt.limit, tt.pages, tt.fresh)
		}
	}
}

func TestAWindowHoldsTheLastPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, limit := range []int{1, 63, 64, 65, 127, 150, 199, 200, 5000} {
		var w window
		var all []bool
		for range 1000 {
			fresh := rng.IntN(1+rng.IntN(60)) == 0
			w.add(fresh)
			all = append(all, fresh)
			look, n := min(limit, span), 0
			if len(all) < look {
				continue
			}
			for _, f := range all[len(all)-look:] {
				if f {
					n++
				}
			}
			want := 20*n < look
			require.Truef(t, w.barren(limit) == want, "limit %d, after %d pages, %d of the last %d new: %t", limit, len(all), n, look, !want)
		}
	}
}
