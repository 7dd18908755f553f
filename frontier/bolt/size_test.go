package bolt

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// crawlUntilFull crawls an endless web, 20 turns at a time, and returns the number of links.
func (e *engine) crawlUntilFull(w *web, from int) int {
	e.Helper()
	n := from
	for pages := 0; ; {
		c, err := e.Claim(context.Background(), frontier.Want{Hosts: 20, Tasks: 4})
		require.NoError(e, err)
		if len(c.Turns) == 0 {
			require.Truef(e, c.State == frontier.Full, "state %d after %d pages, want Full", c.State, pages)
			return n
		}
		for _, t := range c.Turns {
			r := fetched(t)
			r.Blobs = [][]byte{fmt.Appendf(nil, "User-agent: *\nDisallow: /%d\n", pages)}
			for range 40 {
				r.Found = append(r.Found, w.link(e, n))
				n++
			}
			e.finish(r)
			pages++
		}
	}
}

// With a bound the crawl ends as Full with the file below it, turns that are out finish, and with a larger bound it
// continues.
func TestMaxSize_HoldsAndNothingIsLost(t *testing.T) {
	for _, most := range []int64{1 << 20, 2 << 20} {
		e := newEngine(t, t.TempDir(), frontier.Options{MaxSize: most})
		w := &web{hosts: 500}
		e.add([]frontier.Candidate{w.link(t, 0)})
		n := e.crawlUntilFull(w, 1)
		st := e.stats()
		require.Truef(t, st.State == frontier.Full && st.Size <= most, "state %d, %d octets of %d", st.State, st.Size, most)
		assert.GreaterOrEqualf(t, st.Size, most/2, "full with %d octets of %d", st.Size, most)
		e.shut()
		info, err := os.Stat(e.file)
		require.Truef(t, err == nil && info.Size() <= most, "the file has %d octets of %d, error %v", info.Size(), most, err)
		e.start()
		if got := e.stats(); got.State != frontier.Full || got.Discovered != st.Discovered || got.Outcomes != st.Outcomes {
			t.Fatalf("reopened: %+v; was %+v", got, st)
		}
		e.shut()
		e.o.MaxSize = 2 * most
		e.start()
		require.NotEqual(t, frontier.Full, e.stats().State, "full at half of the new bound")
		require.NotEqual(t, n, e.crawlUntilFull(w, n), "nothing was crawled with a larger bound")
	}
}

// A fold, which needs room for all endings, waits for it.
func TestMaxSize_FoldingDoesNotOvershoot(t *testing.T) {
	w := writer{size: 10 << 20, folded: 1 << 20, unfolded: 1 << 19, sizes: make(layout.Sizes, 1<<14)}
	for most, want := range map[int64]bool{0: true, 12 << 20: false, 40 << 20: true} {
		assert.Equalf(t, want, w.mayFold(most), "MaxSize %d", most)
	}
}
