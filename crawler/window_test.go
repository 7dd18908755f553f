package crawler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
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
		if !w.cfg.Window.Open(r.Start) {
			t.Errorf("%s at %v", r.Target, r.Start)
		}
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
				if err != nil {
					t.Error(err)
				}
				opens := ""
				if s.Opens != nil {
					opens = s.Opens.UTC().Format(" 15:04")
				}
				states[s.State+opens] = true
			}
		}()
		s, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
			if err != nil {
				t.Fatal(err)
			}
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
		if all := w.web.Referee().Requests(); len(all) > 0 {
			t.Errorf("%d requests", len(all))
		}
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
