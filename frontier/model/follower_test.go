package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// fault is what a Follower has found, as a panic.
type fault string

// bench is a judge of a Follower that ends the run at the first fault.
type bench struct{}

func (bench) Helper() {}

func (bench) Fatalf(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }

// course is an engine with one URL, and its follower.
type course struct {
	*testing.T
	engine *Model
	follow *Follower
}

func newCourse(t *testing.T) *course {
	u, err := canon.Parse("http://a.test/0")
	if err != nil {
		t.Fatal(err)
	}
	c := &course{T: t, engine: New(frontier.Options{}), follow: NewFollower(bench{}, frontier.Options{})}
	seeds := []frontier.Candidate{{URL: u, Kind: frontier.KindSeed}}
	if _, err := c.engine.Add(t.Context(), seeds); err != nil {
		t.Fatal(err)
	}
	c.follow.Add(seeds)
	return c
}

// claim leases the URL, which must say that it was in flight at so many stops.
func (c *course) claim(stops int) {
	c.Helper()
	got, err := c.engine.Claim(c.Context(), frontier.Want{MaxWait: time.Hour})
	if err != nil || len(got.Turns) != 1 {
		c.Fatalf("Claim: %d turns, state %d, error %v", len(got.Turns), got.State, err)
	}
	if n := got.Turns[0].Tasks[0].Stops; n != stops {
		c.Fatalf("the task has %d stops, want %d", n, stops)
	}
	c.follow.Lease(got.Turns[0], 1)
}

// crash kills the engine and opens it again; spoil changes what it counts.
func (c *course) crash(spoil func(flight []suspicion)) {
	c.Helper()
	at := time.Now()
	c.engine.Crash()
	spoil(c.engine.flight)
	c.engine = c.engine.Reopen(frontier.Options{})
	c.follow.Crashed(at, c.picture())
}

func (c *course) picture() Picture {
	ctx := context.Background()
	st, err := c.engine.Stats(ctx)
	if err != nil {
		c.Fatal(err)
	}
	hosts, err := c.engine.Hosts(ctx, canon.Authority{}, 9)
	if err != nil {
		c.Fatal(err)
	}
	var seeds []frontier.Seed
	for s, err := range c.engine.AllSeeds(ctx) {
		if err != nil {
			c.Fatal(err)
		}
		seeds = append(seeds, s)
	}
	return Take(st, hosts, seeds)
}

// run returns the fault that the follower finds in the kills of an engine with one URL, which is in flight at each. At
// the first the follower cannot know whether the engine has recorded that; the next Task.Stops tells. The others come
// when it is durable.
func run(t *testing.T, recorded bool, kills int, spoil func(kill int, flight []suspicion)) (found fault) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p := recover(); p != nil {
				found = p.(fault)
			}
		}()
		c, stops := newCourse(t), 0
		for kill := range kills {
			c.claim(stops)
			switch {
			case kill > 0:
				time.Sleep(frontier.GroupDelay + time.Millisecond)
				stops++
			case recorded:
				if err := c.engine.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				stops++
			}
			c.crash(func(flight []suspicion) {
				if spoil != nil {
					spoil(kill, flight)
				}
			})
		}
		n := c.engine.dealer.reasons[frontier.Failed][frontier.ReasonQuarantined]
		if (n == 1) != (stops == frontier.QuarantineStops) {
			t.Errorf("%d in quarantine after %d stops", n, stops)
		}
	})
	return found
}

// An engine counts a stop when its record names the task, which the follower may not know at first.
func TestFollowerLearnsFromStopsWhatWasAlone(t *testing.T) {
	miscount := func(at int, as count) func(int, []suspicion) {
		return func(kill int, flight []suspicion) {
			if kill == at {
				flight[0].added = []count{as}
			}
		}
	}
	const stops = frontier.QuarantineStops
	for _, c := range []struct {
		name     string
		recorded bool
		kills    int
		spoil    func(int, []suspicion)
		faulty   bool
	}{
		{"three recorded stops, in quarantine", true, stops, nil, false},
		{"the first is not recorded, in quarantine at the fourth", false, stops + 1, nil, false},
		{"the first is recorded but not counted as alone: too late", true, stops, miscount(0, together), true},
		{"the first is not recorded, the second counts twice: too early", false, stops, miscount(1, count{1, 2}), true},
		{"the last is not counted as alone: too late", true, stops, miscount(stops-1, together), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := run(t, c.recorded, c.kills, c.spoil)
			if c.faulty != strings.Contains(string(found), "in none of the states") || !c.faulty && found != "" {
				t.Errorf("the follower finds %q, want a fault: %v", found, c.faulty)
			}
		})
	}
}

// Records that may be the last make several counts possible; Task.Stops leaves those that go with it.
func TestFollowerCountsEveryWayThatRecordsMayRun(t *testing.T) {
	x := &task{}
	x.counted(x.after([]count{absent, alone}))
	x.counted(x.after([]count{together, alone}))
	want := []count{{1, 0}, {1, 1}, {2, 1}, {2, 2}}
	if !slices.Equal(x.counts, want) || x.fewest() != 1 || x.Stops != 2 {
		t.Fatalf("counts %v, %d to %d stops; want %v", x.counts, x.fewest(), x.Stops, want)
	}
	x.acquit()
	if len(x.counts) != 0 || x.Stops != 0 || x.fewest() != 0 {
		t.Errorf("acquitted, it has counts %v, %d to %d stops", x.counts, x.fewest(), x.Stops)
	}
}
