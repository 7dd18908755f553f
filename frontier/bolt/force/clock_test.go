package force_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
)

// The clock of a bubble begins at the same instant each time: a file written late in one and read early in the next
// sees the wall clock go back.

const parked, deferredFor = 3 * time.Hour, 2 * time.Hour

// sleepThenWrite makes a file with a parked host, a host with a pace of a minute, and a deferred task, at a late
// wall-clock time.
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
			require.NoError(t, err)
			require.Lenf(t, c.Turns, 1, "Claim: %d turns, %v", len(c.Turns), err)
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
			_, err = f.Finish(ctx, []frontier.Result{r})
			require.NoError(t, err)
		}
		require.NoError(t, f.Sync(ctx))
		if !killed {
			mustClose(t, f)
			return
		}
		copyNow := mustRead(t, file) // the state that a kill would leave
		mustClose(t, f)
		mustWrite(t, file, copyNow)
	})
}

func mustOpen(t *testing.T, file string) *bolt.Frontier {
	t.Helper()
	f, err := bolt.Open(file, options())
	require.NoError(t, err)
	return f
}

func mustClose(t *testing.T, f *bolt.Frontier) {
	t.Helper()
	require.NoError(t, f.Close())
}

// claims takes turns until the frontier is drained and returns when each URL was given, since the opening.
func claims(t *testing.T, f *bolt.Frontier) map[string]time.Duration {
	t.Helper()
	began, given := time.Now(), map[string]time.Duration{}
	for {
		c, err := f.Claim(t.Context(), frontier.Want{MaxWait: 1000 * time.Hour})
		require.NoError(t, err)
		if len(c.Turns) == 0 {
			return given
		}
		turn := c.Turns[0]
		r := frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: time.Minute}
		for _, x := range turn.Tasks {
			given[x.URL.String()] = time.Since(began)
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
		}
		_, err = f.Finish(t.Context(), []frontier.Result{r})
		require.NoError(t, err)
	}
}

// Between two runs the wall clock steps by -late+early; a step forward looks like time that has passed.
func TestClock_StepBetweenRuns(t *testing.T) {
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
		}
	}
}

// When the clock was set back by more than the length of a park, openings in a row must not restart it each time.
func TestClock_OpeningsDoNotProlongParks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "frontier.db")
	sleepThenWrite(t, file, 1000*time.Hour, true)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for {
			f := mustOpen(t, file)
			h, ok, err := f.Host(t.Context(), parse("http://parked.test/").Authority())
			require.True(t, err == nil && ok, err)
			time.Sleep(50 * time.Minute)
			mustClose(t, f)
			if h.Wait <= time.Minute {
				break
			}
			require.Truef(t, time.Since(began) <= 2*parked, "parked for %s, and %s after the first opening for %s longer", parked, time.Since(began), h.Wait)
		}
	})
}

// stepClock steps the wall clock in a child while one host waits for an hour, and four are due.
func stepClock(ctx context.Context, file string) error {
	f, err := openAndReport(file)
	if err != nil {
		return err
	}
	s := newScript()
	s.steps = s.steps[:2]
	if _, err := f.Add(ctx, candidates([]string{"http://a.test/", "http://b.test/"})); err != nil {
		return err
	}
	for _, step := range s.steps {
		if err := step(ctx, f); err != nil {
			return err
		}
	}
	host := parse("http://a.test/").Authority() // the first that was added, and so the first that was claimed
	for i, step := range []string{"0", "-86400", "86400", "-315360000", "315360000"} {
		if err := os.Setenv(clockKey, step); err != nil {
			return err
		}
		h, _, err := f.Host(ctx, host)
		if err != nil || h.Condition != frontier.Parked || h.Wait > time.Hour || h.Wait < 55*time.Minute {
			return fmt.Errorf("after a step of %s s the host waits %s, of an hour: %w", step, h.Wait, err)
		}
		got, err := f.Claim(ctx, frontier.Want{Hosts: 10, Tasks: 1})
		if err != nil {
			return err
		}
		if n := map[bool]int{true: 4}[i == 0]; len(got.Turns) != n {
			return fmt.Errorf("after a step of %s s there are %d turns, want %d", step, len(got.Turns), n)
		}
		var rs []frontier.Result
		for _, turn := range got.Turns {
			rs = append(rs, frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: time.Hour, Host: &frontier.HostUpdate{Pace: time.Hour}})
		}
		if _, err := f.Finish(ctx, rs); err != nil {
			return err
		}
		say("step")
	}
	return f.Close()
}

func TestClock_StepWithinRunMovesNoHost(t *testing.T) {
	p := start(t, hookedBinary(t), "step", filepath.Join(t.TempDir(), "frontier.db"), nil)
	err := p.wait()
	require.Truef(t, err == nil && p.steps == 5 && p.errors.Len() == 0, "%d steps, child: %v\n%s", p.steps, err, p.errors.String())
}
