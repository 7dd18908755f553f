package crawler

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
	"curtsy/storage/hostrule"
)

// within is a crawl of site in a window. Its virtual time begins at midnight of a Saturday.
func within(t *testing.T, site *crawltest.Site, maxWait time.Duration, spans ...string) (w *world, c *Crawl) {
	t.Helper()
	w = newWorld(t, []string{"http://a.test/0"}, site)
	window, err := hostrule.ParseSpans(spans)
	require.NoError(t, err)
	w.cfg.Window, w.cfg.MaxWait = window, maxWait
	return w, w.crawl()
}

func (w *world) asksWithin(t *testing.T) {
	t.Helper()
	for _, r := range w.web.Referee().Requests() {
		assert.Truef(t, w.cfg.Window.Open(r.Start), "%s at %v", r.Target, r.Start)
	}
}

// Outside its window a crawl sends no requests, reports when it opens, and resumes without a command.
func TestWindow_CrawlWaitsOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := within(t, chain(100), 88*time.Minute, "Sat 00:01-00:02", "Sat 01:30-02:00 UTC")
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
		s := w.finish(c)
		<-over
		w.asksWithin(t)
		opens := time.Date(2000, 1, 1, 1, 30, 0, 0, time.UTC)
		again := slices.IndexFunc(w.web.Referee().Requests(), func(r crawltest.Request) bool { return !r.Start.Before(opens) })
		if at := w.web.Referee().Requests()[again].Start; at.Sub(opens) > 2*time.Second {
			t.Errorf("it continues at %v", at)
		}
		if s.EndedBy != EndedDrained || s.Status.Fetched != 100 || s.Opens != nil {
			t.Errorf("ended by %s with %d pages", s.EndedBy, s.Status.Fetched)
		}
		if !states[status.OutsideWindow+" 00:01"] || !states["running"] || !states[status.OutsideWindow+" 01:30"] || len(states) != 3 {
			t.Errorf("states %v", states)
		}
		w.judged(crawltest.Rules{Token: DefaultAgent, Pace: Floor})
	})
}

// An exchange under way when the window closes completes. The crawl then ends with the time it may continue, if that is beyond
// --max-wait.
func TestAnExchangeUnderWayOutlastsTheWindow(t *testing.T) {
	for _, maxWait := range []time.Duration{time.Minute, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
				"/0": {Links: []string{"/1"}, Delay: 18 * time.Second}, "/1": {Links: []string{"/2"}, Delay: 18 * time.Second},
				"/2": {Links: []string{"/3"}, Delay: 18 * time.Second}, "/3": {Delay: 18 * time.Second},
			}}
			w, c := within(t, site, maxWait, "00:00-00:01")
			s := w.finish(c)
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

// The operator's pause and the window hold a crawl independently.
func TestWindow_IsIndependentOfPause(t *testing.T) {
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

// A run without URLs to fetch, or with a spent budget, does not wait for the window.
func TestWindow_IdleRunDoesNotWait(t *testing.T) {
	for pages, ended := range map[int64]string{0: EndedDrained, 5: EndedMaxPages} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := within(t, chain(10), 24*time.Hour, "00:00-00:01")
			w.cfg.MaxPages = pages
			w.run()
			time.Sleep(time.Hour)
			w.reopen()
			begin := time.Now()
			if s := w.run(); s.EndedBy != ended || time.Since(begin) > time.Second {
				t.Errorf("ended by %s after %v, want %s", s.EndedBy, time.Since(begin), ended)
			}
		})
	}
}

// gateOf is the gate of a window, by the clock of a bubble.
func gateOf(t *testing.T, span string) *windowGate {
	t.Helper()
	w, err := hostrule.ParseSpans([]string{span})
	require.NoError(t, err)
	g := newWindowGate(w)
	g.Dates, g.Hold = record.NewDates(), func(bool) {}
	return g
}

func TestACountThatCannotBeReadEndsTheLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateOf(t, "05:00-06:00")
		gone := errors.New("the disk is gone")
		g.Left = func(context.Context) (windowLeft, error) { return windowLeft{}, gone }
		assert.ErrorIs(t, g.Keep(t.Context(), nil, nil), gone)
	})
}

// A request whose window closes while it waits for its address and connection is not sent.
func TestARequestGoesOutWithinTheWindowOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait, begun := time.Duration(0), 0
		refused := errors.New("refused")
		var first error
		q := gateOf(t, "00:00-01:00").Within(fetch.Request{
			Begin: func(context.Context) error { time.Sleep(wait); return first },
			Begun: func() { begun++ },
		})
		require.NoError(t, q.Begin(t.Context()))
		first = refused
		require.ErrorIs(t, q.Begin(t.Context()), refused, "refused by others")
		assert.Zero(t, begun)
		first, wait = nil, time.Hour
		require.ErrorIs(t, q.Begin(t.Context()), errShut, "it closed meanwhile")
		assert.Equal(t, 1, begun)
	})
}

// chain is a site of pages that each lead to the next.
func chain(pages int) *crawltest.Site {
	s := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/" + strconv.Itoa(pages-1): {}}}
	for i := range pages - 1 {
		s.Pages["/"+strconv.Itoa(i)] = crawltest.Page{Links: []string{"/" + strconv.Itoa(i+1)}}
	}
	return s
}

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
		s := w.finish(c)
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
