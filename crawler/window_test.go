package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
)

// within is a crawl of site in a window, run in virtual time, which begins at midnight of a Saturday.
func within(t *testing.T, site *crawltest.Site, maxWait time.Duration, spans ...string) (w *world, c *Crawl) {
	t.Helper()
	w = newWorld(t, []string{"http://a.test/0"}, site)
	var err error
	if w.cfg.Window, err = host.ParseSpans(spans); err != nil {
		t.Fatal(err)
	}
	w.cfg.MaxWait = maxWait
	if c, err = New(t.Context(), w.cfg); err != nil {
		t.Fatal(err)
	}
	return w, c
}

// asksWithin fails for each request that was sent outside of the window.
func (w *world) asksWithin(t *testing.T) {
	t.Helper()
	for _, r := range w.web.Referee().Requests() {
		assert.Truef(t, w.cfg.Window.Open(r.Start), "%s at %v", r.Target, r.Start)
	}
}

// Outside of its window a crawl asks nobody for anything, robots.txt included, says until when, and goes on by itself.
func TestOutsideOfItsWindowACrawlWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := within(t, chain(100), 2*time.Hour, "Sat 00:01-00:02", "Sat 01:30-02:00 UTC")
		states := map[string]bool{}
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range 7 {
				time.Sleep(20 * time.Second)
				s, err := c.Status(t.Context())
				assert.NoError(t, err)
				opens := ""
				if s.Opens != nil {
					opens = s.Opens.UTC().Format(" 15:04")
				}
				states[s.State+opens] = true
			}
		}()
		s, err := c.Run(t.Context())
		require.NoError(t, err)
		<-over
		w.asksWithin(t)
		if s.EndedBy != EndedDrained || s.Status.Fetched != 100 || s.Opens != nil {
			t.Errorf("ended by %s with %d pages", s.EndedBy, s.Status.Fetched)
		}
		if !states[status.OutsideWindow+" 00:01"] || !states["running"] || !states[status.OutsideWindow+" 01:30"] || len(states) != 3 {
			t.Errorf("states %v", states)
		}
		w.judged(crawltest.Rules{Token: DefaultAgent, Pace: Floor})
	})
}

// An exchange that is under way when the window closes comes to its end, and nothing follows it. The crawl ends then, and says
// when it may go on, if that is later than it is willing to wait.
func TestAnExchangeUnderWayOutlastsTheWindow(t *testing.T) {
	for _, maxWait := range []time.Duration{time.Minute, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
				"/0": {Links: []string{"/1"}, Delay: 18 * time.Second}, "/1": {Links: []string{"/2"}, Delay: 18 * time.Second},
				"/2": {Links: []string{"/3"}, Delay: 18 * time.Second}, "/3": {Delay: 18 * time.Second},
			}}
			w, c := within(t, site, maxWait, "00:00-00:01")
			s, err := c.Run(t.Context())
			require.NoError(t, err)
			w.asksWithin(t)
			tomorrow := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
			switch {
			case maxWait == time.Minute && (s.EndedBy != EndedWaiting || !s.Incomplete || s.Opens == nil || !s.Opens.Equal(tomorrow) || s.Status.Fetched == 0 || s.Status.InFlight != 0):
				t.Errorf("ended by %s, incomplete %v, opens %v, %d pages", s.EndedBy, s.Incomplete, s.Opens, s.Status.Fetched)
			case maxWait > time.Minute && (s.EndedBy != EndedDrained || s.Status.Fetched != 4):
				t.Errorf("ended by %s with %d pages", s.EndedBy, s.Status.Fetched)
			}
			for _, l := range w.ledger.all {
				if strings.Contains(l.Reason, "abort") || l.Reason == "stopped" {
					t.Errorf("%s was cut: %s", l.URL, l.Reason)
				}
			}
		})
	}
}

// Who ends a crawl that waits for its window does not wait for it.
func TestACrawlOutsideOfItsWindowEndsWhenItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := within(t, chain(5), 48*time.Hour, "Sun 00:00-24:00")
		time.AfterFunc(time.Hour, c.Drain)
		s, err := c.Run(t.Context())
		if err != nil || s.EndedBy != EndedInterrupted || s.Status.Elapsed > 3601 {
			t.Errorf("%v: ended by %s after %v s", err, s.EndedBy, s.Status.Elapsed)
		}
		assert.Empty(t, w.web.Referee().Requests(), "requests")
	})
}

// The operator's pause and the window's hold a crawl each by itself: to end the one does not end the other.
func TestAPauseAndAWindowHoldACrawlEachByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := within(t, chain(100), 48*time.Hour, "00:00-00:01", "01:00-02:00")
		for at, on := range map[time.Duration]bool{30 * time.Second: true, 30 * time.Minute: false, 40 * time.Minute: true, 90 * time.Minute: false} {
			time.AfterFunc(at, func() { c.Pause(on) })
		}
		w.finish(c)
		w.asksWithin(t)
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, r := range w.web.Referee().Requests() {
			if at := r.Start.Sub(begin); at > 30*time.Second && at < 90*time.Minute {
				t.Errorf("%s after %v", r.Target, at)
			}
		}
	})
}

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
	require.NoError(t, err)
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

func TestAWindowHoldsARunAndEndsIt(t *testing.T) {
	pending := windowLeft{Queued: 7}
	for _, tt := range []struct {
		name    string
		maxWait time.Duration
		spans   string
		left    windowLeft
		busy    time.Duration // that what is under way takes
		want    []string
		missed  string // the opening that is not waited for
	}{
		{"to the second, until it opens", 24 * time.Hour, "00:00-01:00 05:00-06:00", pending, 0,
			[]string{"01:00:00 hold", "01:00:00 log outside", "05:00:00 go on", "05:00:00 log within"}, ""},
		{"opens too late", 4*time.Hour - time.Second, "00:00-01:00 05:00-06:00", pending, 0,
			[]string{"01:00:00 hold", "01:00:00 log outside", "01:00:00 end, missed true"}, "05:00"},
		{"what is under way ends first", 0, "00:00-01:00", pending, time.Hour + 90*time.Second,
			[]string{"01:00:00 hold", "01:00:00 log outside", "01:01:30 end, missed true"}, "00:00"},
		{"nothing is left", 24 * time.Hour, "05:00-06:00", windowLeft{}, 0, []string{"00:00:00 hold", "00:00:00 end, missed false"}, ""},
		{"a budget is spent", 24 * time.Hour, "05:00-06:00", windowLeft{Queued: 7, Spent: "max-pages"}, 0,
			[]string{"00:00:00 hold", "00:00:00 log outside", "00:00:00 end, missed false"}, ""},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			r := newShutterRun(t, tt.maxWait, strings.Fields(tt.spans)...)
			began := time.Now()
			r.Left = func(context.Context) (windowLeft, error) {
				if time.Since(began) < tt.busy {
					return windowLeft{InFlight: 1, Queued: tt.left.Queued}, nil
				}
				return tt.left, nil
			}
			require.NoError(t, r.Look(t.Context()))
			require.NoError(t, r.keep(t, 5*time.Hour+30*time.Minute))
			missed := ""
			if r.Missed() != nil {
				missed = r.Missed().Format("15:04")
			}
			if !slices.Equal(r.did, tt.want) || missed != tt.missed {
				t.Errorf("did\n  %s\nwant\n  %s; missed %q", strings.Join(r.did, "\n  "), strings.Join(tt.want, "\n  "), missed)
			}
		})
	}
}

func TestACountThatCannotBeReadEndsTheLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newShutterRun(t, 24*time.Hour, "05:00-06:00")
		r.fault = errors.New("the disk is gone")
		assert.ErrorIs(t, r.keep(t, 24*time.Hour), r.fault)
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

// chain is a site of so many pages, each of which leads to the next.
func chain(pages int) *crawltest.Site {
	return &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= pages {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		if n+1 < pages {
			fmt.Fprintf(rw, `<a href="/%d">next</a>`, n+1)
		}
	})}
}

// A pause begins no exchange, ends no crawl, and leaves the pace as it is: what an operator pauses goes on as it was.
func TestAPauseBeginsNoExchangeAndEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := chain(20)
		w := newWorld(t, []string{"http://a.test/0"}, site)
		w.cfg.MaxWait = time.Second
		c := w.crawl()
		var before, during int
		var state string
		over := make(chan struct{})
		time.AfterFunc(5500*time.Millisecond, func() {
			defer close(over)
			c.Pause(true)
			time.Sleep(1500 * time.Millisecond)
			before = len(w.asked("a.test"))
			time.Sleep(time.Hour)
			during = len(w.asked("a.test"))
			st, err := c.Status(t.Context())
			assert.NoError(t, err)
			state = st.State
			c.Pause(false)
		})
		s, err := c.Run(t.Context())
		require.NoError(t, err)
		<-over
		if before == 0 || before != during || state != "paused" {
			t.Errorf("asked %d times before the pause and %d at its end, in state %q", before, during, state)
		}
		if s.EndedBy != EndedDrained || s.Status.Fetched != 20 {
			t.Errorf("ended by %s with %d pages", s.EndedBy, s.Status.Fetched)
		}
		w.judged(crawltest.Rules{Token: DefaultAgent, Pace: Floor})
	})
}
