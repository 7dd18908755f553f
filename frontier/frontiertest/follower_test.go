package frontiertest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// stops follows an engine that is killed repeatedly with its only task in flight; spoil changes the stops that it
// counts. The first kill comes before the turn is recorded, or after.
func stops(t testing.TB, recorded bool, kills int, spoil func(kill int, flight []suspicion)) {
	u, err := canon.Parse("http://a.test/0")
	require.NoError(t, err)
	f := newFollower(t, frontier.Options{})
	f.Add([]frontier.Candidate{{URL: u, Kind: frontier.KindSeed}})
	for n := range kills {
		time.Sleep(time.Hour)
		engine := fold(f.steps)
		h := engine.hosts[u.Authority()]
		x := h.taskOf(u)
		require.NotNil(t, x, "in quarantine early")
		f.Lease(frontier.Turn{
			Lease: frontier.Lease{Authority: u.Authority(), Token: frontier.Token(n + 1), Length: engine.length(), Width: 1},
			Host:  h.view(time.Now()), Tasks: []frontier.Task{x.Task},
		}, 1)
		if n > 0 || recorded {
			engine = fold(f.steps)
			time.Sleep(frontier.GroupDelay + time.Millisecond)
		}
		flight := engine.flight()
		spoil(n+1, flight)
		engine.open(time.Now(), frontier.Options{}, true, flight)
		f.Crashed(time.Now(), takePicture(engine.stats(time.Now()), engine.views(time.Now()), engine.seeds), func(u canon.URL) frontier.Entry {
			if x := engine.hosts[u.Authority()].taskOf(u); x != nil {
				return frontier.Entry{Stops: x.Stops, Alone: x.alone}
			}
			return frontier.Entry{Reason: frontier.ReasonQuarantined}
		})
	}
	assert.EqualValues(t, 1, f.ended[ending{frontier.Failed, frontier.ReasonQuarantined}], "in quarantine")
}

// An engine counts a stop when its record names the task: for the last kill it does, for the first perhaps.
func TestFollower_CountsStops(t *testing.T) {
	const most = frontier.QuarantineStops
	for _, c := range []struct {
		name          string
		recorded      bool // at the first kill
		kills         int
		spoiled, made int // the kill at which the engine counts made instead of one stop alone; zero means none
		faulty        bool
	}{
		{"three recorded stops, in quarantine", true, most, 0, 0, false},
		{"the first is not recorded, in quarantine at the fourth", false, most + 1, 0, 0, false},
		{"the first is recorded but not counted as alone", true, most, 1, 0, true},
		{"the first is not recorded, the second counts twice", false, most, 2, 2, true},
		{"the last is not counted as alone", true, most, most, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spoil := func(kill int, flight []suspicion) {
					if kill == c.spoiled {
						flight[0].alone = c.made
					}
				}
				assert.Equal(t, c.faulty, fails(t, func(t testing.TB) { stops(t, c.recorded, c.kills, spoil) }), "the follower finds a fault")
			})
		})
	}
}
