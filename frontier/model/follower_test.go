package model

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// bench is a judge of a Follower that ends the run at the first fault.
type bench struct{}

func (bench) Helper() {}

func (bench) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// kill opens m again after a crash; spoil changes what it counts as in flight. The follower must be told.
func kill(t *testing.T, m *Model, f *Follower, spoil func([]suspicion)) *Model {
	at := time.Now()
	m.Crash()
	m = m.reopen(frontier.Options{}, spoil)
	st, err := m.Stats(t.Context())
	require.NoError(t, err)
	hosts, err := m.Hosts(t.Context(), canon.Authority{}, 9)
	require.NoError(t, err)
	f.Crashed(at, Take(st, hosts, m.seeds), func(u canon.URL) frontier.Entry {
		e, _, err := m.Entry(t.Context(), u)
		require.NoError(t, err)
		return e
	})
	return m
}

// An engine counts a stop when its record names the task. The last of the kills comes when the record is durable, the
// first may come before.
func TestFollower_CountsStops(t *testing.T) {
	const stops = frontier.QuarantineStops
	for _, c := range []struct {
		name          string
		recorded      bool // at the first kill
		kills         int
		spoiled, made int // at which kill the engine counts what, in place of one stop alone; zero means none
		faulty        bool
	}{
		{"three recorded stops, in quarantine", true, stops, 0, 0, false},
		{"the first is not recorded, in quarantine at the fourth", false, stops + 1, 0, 0, false},
		{"the first is recorded but not counted as alone", true, stops, 1, 0, true},
		{"the first is not recorded, the second counts twice", false, stops, 2, 2, true},
		{"the last is not counted as alone", true, stops, stops, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer func() {
					found := fmt.Sprint(recover())
					if c.faulty != strings.Contains(found, "in none of the states") || !c.faulty && found != "<nil>" {
						t.Errorf("the follower finds %q, want a fault: %v", found, c.faulty)
					}
				}()
				u, err := canon.Parse("http://a.test/0")
				require.NoError(t, err)
				m, f := New(frontier.Options{}), NewFollower(bench{}, frontier.Options{})
				seeds := []frontier.Candidate{{URL: u, Kind: frontier.KindSeed}}
				if _, err := m.Add(t.Context(), seeds); err != nil {
					t.Fatal(err)
				}
				f.Add(seeds)
				for n := range c.kills {
					got, err := m.Claim(t.Context(), frontier.Want{MaxWait: time.Hour})
					require.NoError(t, err)
					require.Lenf(t, got.Turns, 1, "Claim: %d turns, state %d, error %v", len(got.Turns), got.State, err)
					f.Lease(got.Turns[0], 1)
					if n > 0 || c.recorded {
						time.Sleep(frontier.GroupDelay + time.Millisecond)
					}
					m = kill(t, m, f, func(flight []suspicion) {
						if n+1 == c.spoiled {
							flight[0].alone = c.made
						}
					})
				}
				if n := m.ended[ending{frontier.Failed, frontier.ReasonQuarantined}]; n != 1 {
					t.Errorf("%d in quarantine after %d kills", n, c.kills)
				}
			})
		})
	}
}
