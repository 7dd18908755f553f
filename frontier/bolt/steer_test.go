package bolt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func (e *engine) steer(s frontier.Steering) frontier.Steered {
	e.Helper()
	n, err := e.Steer(context.Background(), s)
	require.NoErrorf(e, err, "Steer %+v", s)
	return n
}

func authority(t testing.TB, host string) canon.Authority {
	return mustURL(t, "http://"+host+".test/").Authority()
}

func TestSteer_ScheduleKeepsOneEntryPerHost(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	for h := range 5 {
		e.add(e.links(fmt.Sprint("h", h), 0, 1))
	}
	for i := range 200 {
		a := authority(t, fmt.Sprint("h", i%5))
		e.steer(frontier.Steering{Act: frontier.Park, Authority: a, For: time.Duration(i%2) * time.Hour})
		e.steer(frontier.Steering{Act: frontier.Resume, Authority: a})
	}
	assert.Equal(t, 5, len(e.scheduler.due.heap), "entries")
}

// A drop of more than a batch survives, and costs little more than one word of eight bytes per URL.
func TestSteer_OctetsOfDrop(t *testing.T) {
	const urls = maxPrints + 1000
	e := newEngine(t, t.TempDir(), frontier.Options{})
	for from := 0; from < urls; from += 10_000 {
		e.add(e.links("a", from, min(10_000, urls-from)))
	}
	before := e.transactions()
	assert.EqualValues(t, urls, e.steer(frontier.Steering{Act: frontier.Drop, Authority: authority(t, "a")}).URLs)
	n := e.transactions() - before
	assert.Truef(t, n <= 3, "%d transactions", n)
	f, u := e.writer.folded, e.writer.unfolded
	assert.Truef(t, f+u == urls, "%d words", f+u)
	e.crash()
	st := e.stats()
	assert.Truef(t, st.Outcomes[frontier.Dropped] == urls && st.State == frontier.Drained, "%+v", st)
}

func TestOperator_EndedContextChangesNothing(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 3))
	e.closeAll(frontier.Gone)
	e.add(e.links("b", 0, 3))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := e.Steer(ctx, frontier.Steering{Act: frontier.Drop, Authority: authority(t, "b")})
	assert.ErrorIs(t, err, context.Canceled)
	n, err := e.Retry(ctx, frontier.Retrial{Outcome: frontier.Gone})
	assert.Truef(t, errors.Is(err, context.Canceled) && n.URLs == 0, "%+v, %v", n, err)
	st := e.stats()
	assert.Truef(t, st.Queued == 3 && st.Stopped == 0 && st.Outcomes[frontier.Gone] == 3, "%+v", st)
}
