package bolt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func (e *engine) steer(s frontier.Steering) frontier.Steered {
	e.Helper()
	n, err := e.Steer(context.Background(), s)
	if err != nil {
		e.Fatalf("Steer %+v: %v", s, err)
	}
	return n
}

func (e *engine) look(a canon.Authority) frontier.Host {
	e.Helper()
	h, ok, err := e.Host(context.Background(), a)
	if err != nil || !ok {
		e.Fatalf("Host %s: known %t, %v", a, ok, err)
	}
	return h
}

// authority is that of links.
func authority(t testing.TB, host string) canon.Authority {
	return mustURL(t, "http://"+host+".test/").Authority()
}

func (e *engine) state() (frontier.State, time.Duration) {
	e.Helper()
	st := e.stats()
	return st.State, st.Due
}

func TestSteer_AParkOutlivesADeathAndEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, t.TempDir(), frontier.Options{})
		a := authority(t, "a")
		if n := e.steer(frontier.Steering{Act: frontier.Park, Authority: a, For: time.Hour, Reason: "asked"}); !n.Changed {
			t.Error("a park of an unknown host is no change")
		}
		e.add(e.links("a", 0, 3))
		time.Sleep(10 * time.Minute)
		e.die()
		time.Sleep(10 * time.Minute)
		e.start()
		if k, want := e.look(a).Hold, (frontier.Hold{Act: frontier.Park, Reason: "asked", Wait: 40 * time.Minute}); k != want {
			t.Errorf("hold %+v, want %+v", k, want)
		}
		if s, due := e.state(); s != frontier.Waiting || due != 40*time.Minute || e.stats().Stopped != 1 {
			t.Errorf("state %d, due in %v, %d stopped", s, due, e.stats().Stopped)
		}
		began := time.Now()
		c, err := e.Claim(context.Background(), frontier.Want{MaxWait: time.Hour})
		if err != nil || len(c.Turns) != 1 || time.Since(began) != 40*time.Minute {
			t.Fatalf("%d turns after %v, %v", len(c.Turns), time.Since(began), err)
		}
		if h := e.look(a); h.Hold != (frontier.Hold{}) || c.Turns[0].Host.Hold != (frontier.Hold{}) || e.stats().Stopped != 0 {
			t.Errorf("it holds on: %+v", h.Hold)
		}
		e.finish(frontier.Result{Authority: a, Token: c.Turns[0].Token})
		e.die()
		e.start()
		if h := e.look(a); h.Hold != (frontier.Hold{}) {
			t.Errorf("it holds again: %+v", h.Hold)
		}
	})
}

func TestSteer_ADropClosesAllThatIsPendingAndRefusesWhatComes(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	a := authority(t, "a")
	e.add(e.links("a", 0, 20))
	turn := e.turn(2)
	e.finish(frontier.Result{Authority: a, Token: turn.Token, Deferred: []frontier.Deferral{
		{Print: turn.Tasks[0].Print, After: time.Hour}, {Print: turn.Tasks[1].Print},
	}})
	turn = e.turn(6) // one of them after its deferral
	if n := e.steer(frontier.Steering{Act: frontier.Drop, Authority: a}); n != (frontier.Steered{Changed: true, URLs: 14}) {
		t.Errorf("%+v", n)
	}
	if n := e.steer(frontier.Steering{Act: frontier.Drop, Authority: a}); n.Changed || n.URLs != 0 {
		t.Errorf("a second time: %+v", n)
	}
	if h := e.look(a); h.InFlight != 6 || h.Queued+h.Deferred != 0 || h.Outcomes[frontier.Dropped] != 14 {
		t.Errorf("under the lease: %+v", h)
	}
	e.finish(frontier.Result{
		Authority: a, Token: turn.Token, Found: append(e.links("a", 100, 2), e.links("b", 0, 1)...),
		Done:     []frontier.Done{{Print: turn.Tasks[1].Print, Outcome: frontier.Fetched}},
		Deferred: []frontier.Deferral{{Print: turn.Tasks[0].Print}, {Print: turn.Tasks[2].Print}},
	})
	check := func() {
		t.Helper()
		st := e.stats()
		if st.Outcomes[frontier.Dropped] != 21 || st.Outcomes[frontier.Fetched] != 1 || st.Queued != 1 || st.Discovered != 23 {
			t.Errorf("%+v", st)
		}
		if n := st.Reasons[frontier.Dropped][frontier.ReasonOperator]; n != 21 || st.Stopped != 1 {
			t.Errorf("%d for that reason, %d stopped", n, st.Stopped)
		}
	}
	check()
	e.sync()
	e.die()
	e.start()
	check()
	if n := e.steer(frontier.Steering{Act: frontier.Resume, Authority: a}); !n.Changed {
		t.Error("resume changes nothing")
	}
	if n := e.retry(frontier.Retrial{Outcome: frontier.Dropped, Reason: frontier.ReasonOperator}); n.URLs != 19 {
		t.Errorf("%d URLs are pending again", n.URLs)
	}
}

// What is under a lease when the process dies was dropped all the same: the host, or single URLs.
func TestSteer_ADeathUnderALeaseLosesNoDrop(t *testing.T) {
	for _, single := range []bool{false, true} {
		e := newEngine(t, t.TempDir(), frontier.Options{})
		e.add(e.links("a", 0, 5))
		s := frontier.Steering{Act: frontier.Drop, Authority: authority(t, "a")}
		if single {
			for _, c := range append(e.links("a", 1, 3), e.links("a", 77, 1)...) {
				s.URLs = append(s.URLs, c.URL)
			}
		}
		turn := e.turn(3)
		want := frontier.Steered{Changed: true, URLs: 2}
		closed := int64(5)
		if single {
			want, closed = frontier.Steered{URLs: 1}, 3
		}
		if n := e.steer(s); n != want {
			t.Errorf("single %t: %+v", single, n)
		}
		if single {
			if n := e.steer(s); n != (frontier.Steered{}) {
				t.Errorf("a second time: %+v", n)
			}
		}
		for range 2 {
			e.die()
			e.start()
			if st := e.stats(); st.Outcomes[frontier.Dropped] != closed || st.Queued != 5-closed {
				t.Errorf("single %t: %+v", single, st)
			}
			e.sync()
		}
		if n := e.retry(frontier.Retrial{Outcome: frontier.Dropped}).URLs; single && n != closed {
			t.Errorf("%d URLs are pending again", n)
		}
		e.die()
		e.start()
		if st := e.stats(); single && st.Queued != 5 {
			t.Errorf("after Retry: %+v", st)
		}
		_ = turn
		e.shut()
	}
}

// A dropped URL that its holder defers is closed; one that he settles is what he says.
func TestSteer_ADroppedURLUnderALeaseIsClosedWhenThatEnds(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 4))
	turn := e.turn(3)
	s := frontier.Steering{Act: frontier.Drop, Authority: turn.Authority}
	for _, x := range turn.Tasks {
		s.URLs = append(s.URLs, x.URL)
	}
	if n := e.steer(s); n != (frontier.Steered{}) {
		t.Errorf("%+v", n)
	}
	e.finish(frontier.Result{
		Authority: turn.Authority, Token: turn.Token,
		Done:     []frontier.Done{{Print: turn.Tasks[2].Print, Outcome: frontier.Gone}},
		Deferred: []frontier.Deferral{{Print: turn.Tasks[1].Print}},
	})
	if st := e.stats(); st.Queued != 1 || st.Deferred != 0 || st.Outcomes[frontier.Dropped] != 2 || st.Outcomes[frontier.Gone] != 1 {
		t.Errorf("%+v", st)
	}
}

func TestSteer_ResumeOpensAHostAndWakesAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, t.TempDir(), frontier.Options{})
		a := authority(t, "a")
		e.add(append(e.links("a", 0, 2), e.links("b", 0, 1)...))
		turn := e.turn(1)
		e.finish(frontier.Result{Authority: a, Token: turn.Token, Host: &frontier.HostUpdate{Condition: frontier.Refused}, Wait: time.Minute})
		b := e.turn(1) // keeps the frontier busy
		e.steer(frontier.Steering{Act: frontier.Park, Authority: a})
		began := time.Now()
		got := make(chan frontier.Claimed)
		go func() {
			c, _ := e.Claim(context.Background(), frontier.Want{})
			got <- c
		}()
		time.Sleep(time.Second)
		for _, changed := range []bool{true, false} {
			if n := e.steer(frontier.Steering{Act: frontier.Resume, Authority: a}); n.Changed != changed {
				t.Errorf("Changed is %t", n.Changed)
			}
		}
		if c := <-got; len(c.Turns) != 1 || time.Since(began) != time.Minute {
			t.Errorf("%+v after %v", c, time.Since(began))
		}
		e.finish(fetched(b))
		if _, err := e.Steer(context.Background(), frontier.Steering{Act: frontier.Resume, Authority: authority(t, "nobody")}); err != nil {
			t.Error(err)
		}
		if _, ok, _ := e.Host(context.Background(), authority(t, "nobody")); ok {
			t.Error("Resume made a host known")
		}
	})
}

// Parks and resumes leave one entry of a host in the schedule, not one each.
func TestSteer_TheScheduleKeepsOneEntryPerHost(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	for h := range 5 {
		e.add(e.links(fmt.Sprint("h", h), 0, 1))
	}
	for i := range 200 {
		a := authority(t, fmt.Sprint("h", i%5))
		e.steer(frontier.Steering{Act: frontier.Park, Authority: a, For: time.Duration(i%2) * time.Hour})
		e.steer(frontier.Steering{Act: frontier.Resume, Authority: a})
	}
	if n := e.scheduler.due.Entries(); n != 5 {
		t.Errorf("%d entries", n)
	}
}

// A drop of more than a batch survives, and costs one word of eight octets per URL and next to nothing else.
func TestSteer_TheOctetsOfADrop(t *testing.T) {
	const urls = maxPrints + 1000
	e := newEngine(t, t.TempDir(), frontier.Options{})
	for from := 0; from < urls; from += 10_000 {
		e.add(e.links("a", from, min(10_000, urls-from)))
	}
	before := e.transactions()
	if n := e.steer(frontier.Steering{Act: frontier.Drop, Authority: authority(t, "a")}); n.URLs != urls {
		t.Errorf("%+v", n)
	}
	if n := e.transactions() - before; n > 3 {
		t.Errorf("%d transactions", n)
	}
	if f, u := e.writer.folded, e.writer.unfolded; f+u != urls {
		t.Errorf("%d words", f+u)
	}
	e.die()
	e.start()
	if st := e.stats(); st.Outcomes[frontier.Dropped] != urls || st.State != frontier.Drained {
		t.Errorf("%+v", st)
	}
}

func TestSteer_OfAReaderOrWithAnEndedContextChangesNothing(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 3))
	s := frontier.Steering{Act: frontier.Drop, Authority: authority(t, "a")}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Steer(ctx, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	e.shut()
	f, err := OpenReadOnly(e.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Steer(context.Background(), s); !errors.Is(err, frontier.ErrReadOnly) {
		t.Error(err)
	}
	if st, err := f.Stats(context.Background()); err != nil || st.Queued != 3 || st.Stopped != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// A task that was held comes back marked, in this run and the next, until it is deferred for another reason.
func TestRetry_AReleasedTaskSaysSo(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 2))
	turn := e.turn(2)
	e.finish(frontier.Result{Authority: turn.Authority, Token: turn.Token, Done: []frontier.Done{
		{Print: turn.Tasks[0].Print, Outcome: frontier.Held, Reason: "trap: calendar"},
		{Print: turn.Tasks[1].Print, Outcome: frontier.Held, Reason: "trap: depth"},
	}})
	if st := e.stats(); st.State != frontier.Drained || st.Outcomes[frontier.Held] != 2 {
		t.Errorf("%+v", st)
	}
	for reason, urls := range map[string]int64{"trap": 0, "trap: depth": 1} {
		if n := e.retry(frontier.Retrial{Outcome: frontier.Held, Reason: reason}).URLs; n != urls {
			t.Errorf("%q: %d URLs", reason, n)
		}
	}
	e.die()
	e.start()
	for _, reason := range []string{frontier.ReasonReleased, "status 503"} {
		turn = e.turn(5)
		if x := turn.Tasks; len(x) != 1 || x[0].Reason != reason || x[0].URL.Path() != "/1" {
			t.Fatalf("%+v, want reason %q", x, reason)
		}
		if st := e.stats(); st.InFlight != 1 || st.Queued+st.Deferred != 0 {
			t.Errorf("%+v", st)
		}
		e.finish(frontier.Result{Authority: turn.Authority, Token: turn.Token, Deferred: []frontier.Deferral{{Print: turn.Tasks[0].Print, Reason: "status 503"}}})
		e.sync()
		e.die()
		e.start()
	}
}
