package bolt

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

func (e *engine) closeAll(o frontier.Outcome) (n int64) {
	e.Helper()
	for e.stats().Queued > 0 {
		r := fetched(e.turn(5000))
		for i := range r.Done {
			r.Done[i].Outcome = o
			n++
		}
		e.finish(r)
	}
	return n
}

func (e *engine) retry(r frontier.Retrial) frontier.Retried {
	e.Helper()
	n, err := e.Retry(context.Background(), r)
	require.NoError(e, err, "Retry")
	return n
}

// More than a batch, with so many words that the done journal is folded between closing and opening, and again after.
func TestRetry_BatchesAndFoldsSurviveKill(t *testing.T) {
	const urls = maxPrints + 5000
	e := newEngine(t, t.TempDir(), frontier.Options{})
	for from := 0; from < urls; from += 10_000 {
		e.add(e.links("a", from, min(10_000, urls-from)))
	}
	for range 2 {
		require.EqualValues(t, urls, e.closeAll(frontier.Failed), "closed")
		require.Equal(t, (frontier.Retried{URLs: urls}), e.retry(frontier.Retrial{Outcome: frontier.Failed}), "Retried")
		e.crash()
		st := e.stats()
		require.Truef(t, st.Discovered == urls && st.Queued == urls && st.Outcomes == (frontier.Outcomes{}), "after the kill: %+v", st)
	}
	for i, x := range e.turn(300).Tasks {
		got, want := x.URL.Path(), fmt.Sprintf("/%d", i)
		require.Truef(t, got == want, "task %d is %s", i, got)
	}
}

// The cell of an old deferral must not come back, wherever the sweeper has moved it, nor the new one get lost.
func TestRetry_SweeperRestoresNoOldDeferral(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	const urls = 40
	e.add(e.links("a", 0, urls))
	cycles := 0
	for round := range 120 {
		turn := e.turn(urls)
		r := frontier.Result{Authority: turn.Authority, Token: turn.Token}
		for _, x := range turn.Tasks {
			require.Truef(t, x.Attempts == 0 && x.Reason == "", "round %d: %+v", round, x)
			r.Deferred = append(r.Deferred, frontier.Deferral{Print: x.Print, Reason: strings.Repeat("reason ", 100)})
		}
		e.finish(r)
		if round%3 == 0 {
			e.sync()
		}
		turn = e.turn(urls)
		x := turn.Tasks[0]
		require.Truef(t, len(turn.Tasks) == urls && x.Attempts == 1, "round %d: %d tasks, %+v", round, len(turn.Tasks), x)
		r = fetched(turn)
		for i := range r.Done {
			r.Done[i].Outcome = frontier.Disallowed
		}
		e.finish(r)
		n := e.retry(frontier.Retrial{Outcome: frontier.Disallowed}).URLs
		require.Truef(t, n == urls, "round %d: %d URLs", round, n)
		if e.writer.sweeper.Next != 0 {
			cycles++
		}
		if round%4 == 3 {
			e.crash()
		}
	}
	require.NotEqual(t, 0, cycles, "no cycle of the sweeper was under way: the test does not test it")
	st := e.stats()
	require.Truef(t, st.Queued == urls && st.Deferred == 0, "%+v", st)
}

// Concurrent calls of Retry open each closed URL once, while turns continue.
func TestRetry_ConcurrentCallsOpenEachOnce(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	const urls, hosts = 200, 6
	for h := range hosts {
		e.add(e.links(fmt.Sprint("h", h), 0, urls))
	}
	first := fetched(e.turn(20)) // there is something to open from the start
	for i := range first.Done {
		first.Done[i].Outcome = frontier.Gone
	}
	e.finish(first)
	var mu sync.Mutex
	opened := int64(0)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 15 {
				n, err := e.Retry(context.Background(), frontier.Retrial{Outcome: frontier.Gone, Robots: true})
				assert.NoError(t, err)
				mu.Lock()
				opened += n.URLs
				mu.Unlock()
			}
		})
	}
	closed := int64(len(first.Done))
	for range 300 {
		c, err := e.Claim(context.Background(), frontier.Want{Tasks: 20})
		require.NoError(t, err)
		for _, turn := range c.Turns {
			r := fetched(turn)
			for i := range r.Done {
				r.Done[i].Outcome = frontier.Gone
			}
			r.Host = &frontier.HostUpdate{Robots: []byte("r")}
			e.finish(r)
			closed += int64(len(r.Done))
		}
	}
	all.Wait()
	st := e.stats()
	if st.Discovered != urls*hosts || st.Outcomes[frontier.Gone] != closed-opened || st.Queued != urls*hosts-closed+opened {
		t.Fatalf("%d closed, %d opened, %+v", closed, opened, st)
	}
	require.True(t, opened != 0, "nothing was opened: the test does not test it")
}
