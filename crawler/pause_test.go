package crawler

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
)

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
			if err != nil {
				t.Error(err)
			}
			state = st.State
			c.Pause(false)
		})
		s, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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

// A pause does not hold up the end: who drains a paused crawl has it stop.
func TestAPausedCrawlCanBeDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/0"}, chain(1))
		c := w.crawl()
		c.Pause(true)
		time.AfterFunc(time.Minute, c.Drain)
		begin := time.Now()
		s, err := c.Run(t.Context())
		if err != nil || s.EndedBy != EndedInterrupted || len(w.asked("a.test")) != 0 || time.Since(begin) != time.Minute {
			t.Errorf("%v: ended by %s after %v, asked %q", err, s.EndedBy, time.Since(begin), w.asked("a.test"))
		}
	})
}
