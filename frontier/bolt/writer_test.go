package bolt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// Results within GroupDelay of the first are one transaction; the next begins with the next result.
func TestGroup_OneTransactionPerDelay(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 100))
		before := e.transactions()
		for range 20 {
			e.finish(fetched(e.turn(1)))
			time.Sleep(frontier.GroupDelay / 20)
		}
		synctest.Wait()
		require.EqualValues(t, 1, e.transactions()-before, "transactions in one GroupDelay, want 1")
		time.Sleep(10 * frontier.GroupDelay)
		require.EqualValues(t, 1, e.transactions()-before, "transactions after an idle time, want 1")
		e.finish(fetched(e.turn(1)))
		time.Sleep(frontier.GroupDelay - 1)
		synctest.Wait()
		require.EqualValues(t, 1, e.transactions()-before, "transactions before the delay was over, want 1")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.EqualValues(t, 2, e.transactions()-before, "transactions, want 2")
	})
}

// At most GroupPages results are in one transaction, and that many wait for nothing.
func TestGroup_OneTransactionPerThousandPages(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 3))
		before := e.transactions()
		turn := e.turn(1)
		var rs []frontier.Result
		for range 3 * frontier.GroupPages {
			rs = append(rs, frontier.Result{Authority: turn.Authority, Token: turn.Token, Keep: true})
		}
		e.finish(rs[:frontier.GroupPages-1]...)
		synctest.Wait()
		require.EqualValues(t, 0, e.transactions()-before, "transactions with a page short of a group, want none")
		e.finish(rs[:1]...)
		synctest.Wait()
		require.EqualValues(t, 1, e.transactions()-before, "transactions with a group, want 1")
		e.finish(rs...)
		synctest.Wait()
		require.EqualValues(t, 4, e.transactions()-before, "transactions with four groups, want 4")
	})
}

func TestGroup_SyncAddAndCloseCommitAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := newEngine(t, dir, frontier.Options{})
		before := e.transactions()
		e.add(e.links("a", 0, 3))
		e.finish(fetched(e.turn(1)))
		e.sync()
		e.sync() // no work remains
		e.stats()
		e.turn(1)
		e.sync() // another task is in flight
		require.EqualValues(t, 3, e.transactions()-before, "transactions, want 3: Add and two of Sync")
		e.shut()
		require.EqualValues(t, 0, time.Since(begin), "time passed")
	})
}

// Applying continues while a commit hangs, up to eight groups; then Finish waits, and can be cancelled.
func TestGroup_FinishWaitsForSlowDisk(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{}, 1)
		slow <- struct{}{}
		e := newEngine(t, dir, frontier.Options{Barrier: func(context.Context) error { <-slow; slow <- struct{}{}; return nil }})
		e.add(e.links("a", 0, 3))
		<-slow // from now on every commit hangs
		turn := e.turn(1)
		group := make([]frontier.Result, frontier.GroupPages)
		for i := range group {
			group[i] = frontier.Result{Authority: turn.Authority, Token: turn.Token, Keep: true}
		}
		for range maxQueued {
			e.finish(group...)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := e.Finish(ctx, group[:1])
		require.ErrorIsf(t, err, context.DeadlineExceeded, "Finish behind %d groups: %v, want it to wait", maxQueued, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			e.Finish(context.Background(), []frontier.Result{fetched(turn)})
		}()
		synctest.Wait()
		slow <- struct{}{}
		<-done
		require.EqualValues(t, 1, e.stats().Outcomes[frontier.Fetched], "fetched, want 1")
	})
}

// An update made in the slices of the turn counts.
func TestFinish_UpdateInPlace(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 1))
		turn := e.turn(1)
		e.finish(frontier.Result{Authority: turn.Authority, Token: turn.Token,
			Host: &frontier.HostUpdate{Robots: []byte("robots 1"), Memory: []byte("memory 1")}})
		for range 2 {
			turn = e.turn(1)
			turn.Host.Robots[7]++
			turn.Host.Memory[7]++
			e.finish(frontier.Result{Authority: turn.Authority, Token: turn.Token, Host: &turn.Host.HostUpdate})
			e.sync()
		}
		e.crash()
		h, _, err := e.Host(t.Context(), turn.Authority)
		if err != nil || string(h.Robots) != "robots 3" || string(h.Memory) != "memory 3" {
			t.Fatalf("robots %q, memory %q, error %v; want those of the second update", h.Robots, h.Memory, err)
		}
	})
}

// A task that is deferred, sealed and closed again before the first commit is closed after a crash, without a retry.
func TestFinish_DeferredAndClosedInOneGroup(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 1))
		turn := e.turn(1)
		e.finish(frontier.Result{Authority: turn.Authority, Token: turn.Token,
			Deferred: []frontier.Deferral{{Print: turn.Tasks[0].Print, Reason: "status 500"}}})
		turn = e.turn(1)
		require.EqualValues(t, 1, turn.Tasks[0].Attempts, "attempts")
		e.finish(fetched(turn))
		e.add(e.links("a", 1, 1))
		e.sync()
		require.Empty(t, e.retries.of, "retries are kept of closed tasks")
		e.crash()
		if st := e.stats(); st.Outcomes[frontier.Fetched] != 1 || st.Deferred != 0 || st.Queued != 1 || len(e.retries.of) != 0 {
			t.Fatalf("%+v, %d retries", st, len(e.retries.of))
		}
	})
}

func TestSync_LeavesNothingOfTheGroupInRAM(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 300))
		r := fetched(e.turn(10))
		r.Found = e.links("b", 0, 300)
		r.Host = &frontier.HostUpdate{Robots: []byte("robots"), Memory: []byte("memory")}
		r.Extend = []frontier.Seed{{URL: mustURL(t, "http://a.test/seed")}}
		e.finish(r)
		if len(e.groups.fresh) == 0 || len(e.groups.unwritten) != 2 {
			t.Fatalf("%d records and %d cells before the commit", len(e.groups.fresh), len(e.groups.unwritten))
		}
		e.sync()
		if len(e.groups.fresh)+len(e.groups.unwritten)+len(e.groups.queue) > 0 || e.groups.open != nil {
			t.Fatalf("%d records, %d cells, %d groups are left", len(e.groups.fresh), len(e.groups.unwritten), len(e.groups.queue))
		}
	})
}
