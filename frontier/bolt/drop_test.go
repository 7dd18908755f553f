package bolt

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// A Drop of a host with more URLs than a group is committed in several. After a crash in between, the next opening does
// the rest.
func TestSteer_KillDuringDropLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector")
	}
	const all = 2*maxPrints + 100
	for _, way := range []string{"open", "export"} {
		var armed, commits, reported, kept atomic.Int64
		dead := errors.New("dead")
		report := func(_ context.Context, c frontier.Closings) error {
			reported.Store(c.Hosts[authority(t, "a")])
			return nil
		}
		e := newEngine(t, t.TempDir(), frontier.Options{Tell: report, Barrier: func(context.Context) error {
			if armed.Load() > 0 && commits.Add(1) > armed.Load() {
				return dead
			}
			kept.Add(reported.Swap(0))
			return nil
		}})
		e.add(e.links("a", 0, all))
		e.add(e.links("b", 0, 1))
		armed.Store(2)
		s := frontier.Steering{Act: frontier.Drop, Authority: authority(t, "a"), Reason: "legal"}
		_, err := e.Steer(context.Background(), s)
		require.ErrorIs(t, err, dead, "Steer")
		e.kill()
		armed.Store(0)
		if way == "export" {
			st := stateOf(t, e.file).stats
			require.Truef(t, st.Outcomes[frontier.Dropped] != 0 && st.Queued >= 2, "the kill was not in the middle: %+v", st)
			move(t, e.file)
		}
		e.start()
		st := e.stats()
		if st.Outcomes[frontier.Dropped] != all || st.Queued != 1 || st.Reasons[frontier.Dropped][frontier.ReasonOperator] != all {
			t.Errorf("%s: %d dropped, %d queued", way, st.Outcomes[frontier.Dropped], st.Queued)
		}
		require.NoError(t, e.Sync(context.Background()))
		if n := kept.Load(); way == "open" && n != all {
			t.Errorf("%d are reported and durable, want %d", n, all)
		}
		assert.Equalf(t, (frontier.Steered{}), e.steer(s), "%s: a repeat does something", way)
		if way == "export" {
			break
		}
		// URLs that are reopened while the host is dropped wait for Resume: the drop does not include them.
		n := e.retry(frontier.Retrial{Outcome: frontier.Dropped})
		e.kill()
		e.start()
		if st := e.stats(); n.URLs != all || st.Queued != all+1 {
			t.Errorf("%s: %d are retried, %d queued", way, n.URLs, st.Queued)
		}
		e.shut()
	}
}

// The caller of a Drop may give up; the Drop continues to its end.
func TestSteer_StartedDropIsNotCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var armed atomic.Bool
	e := newEngine(t, t.TempDir(), frontier.Options{Barrier: func(context.Context) error {
		if armed.Load() {
			cancel()
		}
		return nil
	}})
	e.add(e.links("a", 0, maxPrints+100))
	armed.Store(true)
	_, err := e.Steer(ctx, frontier.Steering{Act: frontier.Drop, Authority: authority(t, "a")})
	require.True(t, err == nil || errors.Is(err, context.Canceled), err)
	st := e.stats()
	assert.Truef(t, st.Queued == 0 && st.State == frontier.Drained, "%d are still queued", st.Queued)
}

// Between two batches of a Drop nothing can be given, and yet the frontier is Busy: a claim must not end then.
func TestSteer_BusyDuringDrop(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 3))
	e.mu.Lock()
	h, now := e.Frontier.hosts.byName[authority(t, "a")], e.clock.Now()
	e.groups.touch(now)
	e.obey(h, frontier.Steering{Act: frontier.Drop, Authority: h.authority}, now)
	e.setClosing(h, true)
	under, _ := e.scheduler.summary(now)
	e.dropBatch(h)
	after, _ := e.scheduler.summary(now)
	e.mu.Unlock()
	assert.Truef(t, under == frontier.Busy && after == frontier.Drained, "state %d under way, then %d; want %d, then %d", under, after, frontier.Busy, frontier.Drained)
}
