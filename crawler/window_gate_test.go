package crawler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
)

// run is what a windowGate acts on, and what it did, each with the clock's time. A bubble begins at 00:00 UTC of a Saturday.
type shutterRun struct {
	*windowGate
	left    windowLeft
	fault   error
	held    bool
	did     []string
	over    chan struct{}
	drained chan struct{}
}

func newShutterRun(t *testing.T, maxWait time.Duration, spans ...string) *shutterRun {
	t.Helper()
	w, err := host.ParseSpans(spans)
	if err != nil {
		t.Fatal(err)
	}
	r := &shutterRun{over: make(chan struct{}), drained: make(chan struct{})}
	did := func(what string) { r.did = append(r.did, time.Now().UTC().Format("15:04:05 ")+what) }
	r.windowGate = newWindowGate(w)
	r.MaxWait, r.Dates = maxWait, record.NewDates()
	r.Hold = func(on bool) {
		if on != r.held {
			did(map[bool]string{true: "hold", false: "go on"}[on])
		}
		r.held = on
	}
	r.windowGate.Left = func(context.Context) (windowLeft, error) { return r.left, r.fault }
	r.End = func(_ windowLeft, missed bool) {
		did(fmt.Sprintf("end, missed %v", missed))
		close(r.over)
	}
	r.Log = func(format string, args ...any) { did("log " + strings.Fields(fmt.Sprintf(format, args...))[0]) }
	return r
}

// keep runs the windowGate until it ends the run, or for so long.
func (r *shutterRun) keep(t *testing.T, most time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Keep(ctx, r.over, r.drained) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(most):
		close(r.drained)
		return <-ended
	}
}

func (r *shutterRun) wants(t *testing.T, did ...string) {
	t.Helper()
	if !slices.Equal(r.did, did) {
		t.Errorf("did\n  %s\nwant\n  %s", strings.Join(r.did, "\n  "), strings.Join(did, "\n  "))
	}
}

func TestARunIsHeldToTheSecondAndGoesOnWhenItsWindowOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShutterRun(t, 24*time.Hour, "00:00-01:00", "05:00-06:00")
		r.left.Queued = 7
		if err := r.keep(t, 5*time.Hour+30*time.Minute); err != nil {
			t.Fatal(err)
		}
		r.wants(t, "01:00:00 hold", "01:00:00 log outside", "05:00:00 go on", "05:00:00 log within")
		if r.Until() != nil || r.Missed() != nil {
			t.Error(r.Until(), r.Missed())
		}
	})
}

func TestARunSaysUntilWhenItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShutterRun(t, 24*time.Hour, "05:00-06:00")
		r.left.Queued = 7
		if err := r.Look(t.Context()); err != nil || r.Until() == nil || r.Until().Format("15:04") != "05:00" || r.Open() {
			t.Error(err, r.Until(), r.Open())
		}
	})
}

func TestARunThatWouldWaitForTooLongEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShutterRun(t, 4*time.Hour-time.Second, "00:00-01:00", "05:00-06:00")
		r.left.Queued = 7
		if err := r.keep(t, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		r.wants(t, "01:00:00 hold", "01:00:00 log outside", "01:00:00 end, missed true")
		if r.Missed() == nil || r.Missed().Format("15:04") != "05:00" {
			t.Error(r.Missed())
		}
	})
}

func TestWhatIsUnderWayIsLeftToEndBeforeTheRunDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShutterRun(t, 0, "00:00-01:00")
		over := time.Now().Add(time.Hour + 90*time.Second)
		r.Left = func(context.Context) (windowLeft, error) {
			if time.Now().Before(over) {
				return windowLeft{InFlight: 1, Queued: 7}, nil
			}
			return windowLeft{Queued: 7}, nil
		}
		if err := r.keep(t, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		r.wants(t, "01:00:00 hold", "01:00:00 log outside", "01:01:30 end, missed true")
	})
}

func TestNothingIsWaitedForWithNothingLeftOrABudgetSpent(t *testing.T) {
	for _, left := range []windowLeft{{}, {Queued: 7, Spent: "max-pages"}} {
		synctest.Test(t, func(t *testing.T) {
			r := newShutterRun(t, 24*time.Hour, "05:00-06:00")
			r.left = left
			if err := r.keep(t, 24*time.Hour); err != nil || !strings.HasSuffix(r.did[len(r.did)-1], "end, missed false") || r.Missed() != nil {
				t.Error(err, r.did, r.Missed())
			}
		})
	}
}

func TestACountThatCannotBeReadEndsTheLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShutterRun(t, 24*time.Hour, "05:00-06:00")
		r.fault = errors.New("the disk is gone")
		if err := r.keep(t, 24*time.Hour); !errors.Is(err, r.fault) {
			t.Error(err)
		}
	})
}

func TestARunWithoutAWindowIsLeftAlone(t *testing.T) {
	r := newShutterRun(t, 0)
	close(r.over)
	if err := errors.Join(r.Look(t.Context()), r.Keep(t.Context(), r.over, nil)); err != nil || !r.Open() || len(r.did) > 0 {
		t.Error(err, r.did)
	}
	if q := r.Within(fetch.Request{}); q.Begin != nil {
		t.Error("a request is looked at")
	}
}

// A request waits for its address and its connection: the window can close meanwhile, and then it does not go out.
func TestARequestGoesOutWithinTheWindowOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShutterRun(t, 0, "00:00-01:00")
		wait, begun := time.Duration(0), 0
		refused := errors.New("refused")
		var first error
		q := r.Within(fetch.Request{
			Begin: func(context.Context) error { time.Sleep(wait); return first },
			Begun: func() { begun++ },
		})
		if err := q.Begin(t.Context()); err != nil || begun != 0 {
			t.Errorf("within: %v, %d", err, begun)
		}
		first = refused
		if err := q.Begin(t.Context()); !errors.Is(err, refused) || begun != 0 {
			t.Errorf("refused by others: %v, %d", err, begun)
		}
		first, wait = nil, time.Hour
		if err := q.Begin(t.Context()); !errors.Is(err, errShut) || begun != 1 {
			t.Errorf("it closed meanwhile: %v, %d", err, begun)
		}
	})
}
