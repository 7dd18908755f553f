package bolt

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// few fails if step allocates more than most times on average.
func few(t *testing.T, name string, most float64, step func()) {
	t.Helper()
	step() // allocates the parts that are made once
	if n := testing.AllocsPerRun(500, step); n > most {
		t.Errorf("%s: %v allocations, want %v at most", name, n, most)
	}
}

func TestAllocs_ReadCell(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 2))
	r := fetched(e.turn(1))
	r.Host = &frontier.HostUpdate{Robots: make([]byte, 300), Memory: make([]byte, 24)}
	e.finish(r)
	e.sync()
	err := e.db.View(func(tx *bbolt.Tx) error {
		cells := layout.Lookup{Tx: tx, Journal: layout.StateJournal}
		few(t, "one cell of several", 1, func() {
			if b, err := cells.ReadState(e.Frontier.hosts.all[0].at[layout.KindRobots-1], layout.Address{Kind: layout.KindRobots}); err != nil || len(b) != 300 {
				t.Fatalf("%d octets, error %v", len(b), err)
			}
		})
		return nil
	})
	require.NoError(t, err)
}

func TestAllocs_FinishOfKnownLinks(t *testing.T) {
	if racing {
		t.Skip("allocations are more under the race detector")
	}
	e := newEngine(t, t.TempDir(), frontier.Options{})
	links := e.links("a", 0, 3000)
	e.add(links)
	page := func(links []frontier.Candidate) func() {
		return func() {
			turn := e.turn(1)
			r := fetched(turn)
			r.Found = links
			e.finish(r)
		}
	}
	none := testing.AllocsPerRun(500, page(nil))
	few(t, "400 known links", none+2, page(links[:400]))
}

func TestAllocs_ClaimAndFinish(t *testing.T) {
	if racing {
		t.Skip("allocations are more under the race detector")
	}
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 3000))
	few(t, "claim and finish", 40, func() { e.finish(fetched(e.turn(1))) })
}
