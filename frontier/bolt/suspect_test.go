package bolt

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// recorded returns the tasks in flight by the file.
func (e *engine) recorded() layout.InFlight {
	e.Helper()
	var r layout.InFlight
	err := e.db.View(func(tx *bbolt.Tx) (err error) {
		r, _, err = layout.ReadInFlight(tx)
		return err
	})
	require.NoError(e, err)
	return r
}

// The record names the first unsettled task of each lease, is written only when it has changed, and a Close clears it.
func TestInFlight_WrittenWhenChanged(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(append(e.links("a", 0, 3), e.links("b", 0, 3)...))
	a := e.turn(3)
	e.turn(3)
	e.sync()
	if r := e.recorded(); r.Leases != 2 || !slices.Equal(r.Refs, []layout.Ref{layout.MakeRef(1, 0), layout.MakeRef(1, 3)}) {
		t.Fatalf("recorded %+v", r)
	}
	r := frontier.Result{Authority: a.Authority, Token: a.Token, Keep: true}
	r.Done = []frontier.Done{{Print: a.Tasks[0].Print, Outcome: frontier.Fetched}}
	e.finish(r)
	e.sync()
	if r := e.recorded(); !slices.Equal(r.Refs, []layout.Ref{layout.MakeRef(1, 1), layout.MakeRef(1, 3)}) {
		t.Fatalf("recorded %+v after the first task was settled", r)
	}
	e.mu.Lock()
	now := e.clock.Now()
	g := e.groups.touch(now)
	e.groups.seal(now)
	e.mu.Unlock()
	require.Nil(t, g.inFlight, "a group that changes no lease writes the record")
	e.shut()
	e.start()
	if r := e.recorded(); r.Leases != 0 || len(r.Refs) != 0 {
		t.Fatalf("recorded after a Close: %+v", r)
	}
}

// A claim that waits for its record holds no lock, and when its caller gives up the tasks are free at once.
func TestClaim_CancelledReturnsItsTasks(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 2))
		e.die()
		hold := make(chan struct{})
		e.o.Barrier = func(context.Context) error { <-hold; return nil }
		e.start()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c, err := e.Claim(ctx, frontier.Want{Tasks: 2})
		require.ErrorIsf(t, err, context.DeadlineExceeded, "Claim: %d turns, error %v; want it to wait for the commit", len(c.Turns), err)
		if st := e.stats(); st.Leases != 0 || st.Queued != 2 || st.InFlight != 0 {
			t.Fatalf("%d leases, %d queued, %d in flight; want the tasks back", st.Leases, st.Queued, st.InFlight)
		}
		close(hold)
		require.Equal(t, 2, len(e.turn(2).Tasks), "tasks, want 2")
		require.EqualValues(t, 1, e.recorded().Leases, "leases in the record when the turn was given")
	})
}

// After as many results as there were hosts, and a group more, claims wait for no commit.
func TestClaim_IsCarefulForSoManyResults(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(append(e.links("a", 0, 1), e.links("b", 0, 1)...))
		e.crash()
		results := 0
		for {
			before := e.transactions()
			turn := e.turn(1)
			e.finish(frontier.Result{Authority: turn.Authority, Token: turn.Token})
			if e.transactions() == before {
				break
			}
			results++
		}
		require.Equal(t, 2+frontier.GroupPages, results, "turns waited for their record")
	})
}

func TestQuarantined_WhileHostsAreAdded(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 1))
	for range frontier.QuarantineStops {
		e.turn(1)
		e.sync()
		e.crash()
	}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 2000 {
			e.add(e.links(fmt.Sprint("new", i), 0, 1))
		}
	})
	for range 500 {
		c, err := e.Quarantined(context.Background())
		require.NoError(t, err)
		require.Len(t, c, 1)
	}
	all.Wait()
}
