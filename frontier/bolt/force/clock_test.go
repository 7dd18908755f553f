package force_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
)

// The clock of a bubble begins at the same instant each time: what is written late in one and read early in the next
// sees the wall clock go back.

const parked, deferredFor = 3 * time.Hour, 2 * time.Hour

// sleepThenWrite makes a file in which one host is parked, another keeps a pace of a minute, and a third has a task
// that is deferred, at a time of the wall clock that is late by so much.
func sleepThenWrite(t *testing.T, file string, late time.Duration, killed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(late)
		f := mustOpen(t, file)
		ctx := t.Context()
		if _, err := f.Add(ctx, candidates([]string{
			"http://parked.test/1", "http://parked.test/2", "http://paced.test/1", "http://paced.test/2", "http://later.test/1",
		})); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c, err := f.Claim(ctx, frontier.Want{MaxWait: time.Hour})
			if err != nil || len(c.Turns) != 1 {
				t.Fatalf("Claim: %d turns, %v", len(c.Turns), err)
			}
			turn := c.Turns[0]
			r := frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: time.Minute, Host: &frontier.HostUpdate{Pace: time.Minute}}
			print := turn.Tasks[0].Print
			switch turn.Authority.Host() {
			case "parked.test":
				r.Host.Condition, r.Host.Reason, r.Wait = frontier.Parked, "status 503", parked
				r.Done = []frontier.Done{{Print: print, Outcome: frontier.Fetched}}
			case "paced.test":
				r.Done = []frontier.Done{{Print: print, Outcome: frontier.Fetched}}
			default:
				r.Deferred = []frontier.Deferral{{Print: print, After: deferredFor, Reason: "status 500"}}
			}
			if _, err := f.Finish(ctx, []frontier.Result{r}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		if !killed {
			mustClose(t, f)
			return
		}
		copyNow := mustRead(t, file) // what a kill would leave
		mustClose(t, f)
		mustWrite(t, file, copyNow)
	})
}

func mustOpen(t *testing.T, file string) *bolt.Frontier {
	t.Helper()
	f, err := bolt.Open(file, options())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustClose(t *testing.T, f *bolt.Frontier) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// claims takes turns until the frontier is drained and returns when each URL was given, from the opening on.
func claims(t *testing.T, f *bolt.Frontier) map[string]time.Duration {
	t.Helper()
	began, given := time.Now(), map[string]time.Duration{}
	for {
		c, err := f.Claim(t.Context(), frontier.Want{MaxWait: 1000 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Turns) == 0 {
			return given
		}
		turn := c.Turns[0]
		r := frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: time.Minute}
		for _, x := range turn.Tasks {
			given[x.URL.String()] = time.Since(began)
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
		}
		if _, err := f.Finish(t.Context(), []frontier.Result{r}); err != nil {
			t.Fatal(err)
		}
	}
}

// Between two runs the wall clock has gone from late to early: -late+early is the step, and nothing tells it from time
// that has passed when it is forward.
func TestClock_AStepBetweenRunsMakesNoBurstAndProlongsNoPark(t *testing.T) {
	tests := []struct {
		name                    string
		late, early             time.Duration
		parkedUntil, laterUntil time.Duration
	}{
		{"no step", 0, 0, parked, deferredFor},
		{"an hour on", 0, time.Hour, parked - time.Hour, deferredFor - time.Hour},
		{"an hour back", time.Hour, 0, parked, deferredFor},
		{"ten years back", 87600 * time.Hour, 0, parked, deferredFor},
		{"ten years on", 0, 87600 * time.Hour, time.Minute, time.Minute},
	}
	runs := 0
	for _, x := range tests {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %v", x.name, killed), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "frontier.db")
				sleepThenWrite(t, file, x.late, killed)
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(x.early)
					f := mustOpen(t, file)
					given := claims(t, f)
					mustClose(t, f)
					for url, want := range map[string]time.Duration{
						"http://parked.test/2": x.parkedUntil, "http://paced.test/2": time.Minute, "http://later.test/1": x.laterUntil,
					} {
						if got, ok := given[url]; !ok || got < want-time.Second || got > want+time.Second {
							t.Errorf("%s is given %s after the opening, want %s", url, got, want)
						}
					}
				})
				clean(t, file)
			})
			runs++
		}
	}
	t.Logf("clock: %d steps between runs", runs)
}

// When the clock was set back by more than a park is long, openings in a row must not begin the park anew each time.
func TestClock_AParkIsNotProlongedByOpeningsInARow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "frontier.db")
	sleepThenWrite(t, file, 1000*time.Hour, true)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for {
			f := mustOpen(t, file)
			h, ok, err := f.Host(t.Context(), parse("http://parked.test/").Authority())
			if err != nil || !ok {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Minute)
			mustClose(t, f)
			if h.Wait <= time.Minute {
				break
			}
			if time.Since(began) > 2*parked {
				t.Fatalf("parked for %s, and %s after the first opening for %s longer", parked, time.Since(began), h.Wait)
			}
		}
	})
}

// stepClock steps the wall clock while the frontier is open: seedKey chooses the host of whose waits it tells.
func stepClock(ctx context.Context, c *child) error {
	if err := c.open(frontier.Options{}); err != nil {
		return err
	}
	if err := c.addRange(ctx, 0, 8); err != nil {
		return err
	}
	if err := c.turn(ctx, 1); err != nil { // parked for an hour
		return err
	}
	var host canon.Authority
	for i := range 4 {
		a := parse(fmt.Sprintf("http://h%d.test/", i)).Authority()
		if h, _, err := c.f.Host(ctx, a); err != nil || h.Condition == frontier.Parked {
			host = a
		}
	}
	for _, step := range []string{"0", "-86400", "86400", "-315360000", "315360000"} {
		if err := os.Setenv(clockKey, step); err != nil {
			return err
		}
		h, _, err := c.f.Host(ctx, host)
		if err != nil {
			return err
		}
		got, err := c.f.Claim(ctx, frontier.Want{Hosts: 10, Tasks: 1})
		if err != nil {
			return err
		}
		var rs []frontier.Result
		for _, turn := range got.Turns {
			if turn.Authority == host {
				return fmt.Errorf("after a step of %s s the host that is parked is given", step)
			}
			rs = append(rs, frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: time.Hour, Host: &frontier.HostUpdate{Pace: time.Hour}})
		}
		if _, err := c.f.Finish(ctx, rs); err != nil {
			return err
		}
		c.about(event{Kind: claimed, Text: step, Wait: h.Wait, IDs: []int{len(got.Turns)}})
	}
	return c.f.Close()
}

func TestClock_AStepWithinARunMovesNoHost(t *testing.T) {
	binary := hookedBinary(t)
	steps := 0
	p := start(t, binary, "step", filepath.Join(t.TempDir(), "frontier.db"), 1, func(e event) {
		if e.Kind != claimed || e.Text == "" {
			return
		}
		steps++
		if e.Wait > time.Hour || e.Wait < 55*time.Minute {
			t.Errorf("after a step of %s s the host waits %s, of an hour", e.Text, e.Wait)
		}
		if want := map[bool]int{true: 4, false: 0}[steps == 1]; e.IDs[0] != want {
			t.Errorf("after a step of %s s there are %d turns, want %d", e.Text, e.IDs[0], want)
		}
	})
	if err := p.wait(); err != nil || steps != 5 || strings.TrimSpace(p.errors.String()) != "" {
		t.Fatalf("%d steps, child: %v\n%s", steps, err, p.errors.String())
	}
	t.Logf("clock: %d steps within a run", steps-1)
}
