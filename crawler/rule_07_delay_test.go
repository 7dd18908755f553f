package crawler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
)

// Rule 7: what Crawl-delay and Request-rate of a file become as delays between requests, also after robots.txt: not less,
// and not more. Package robots tests each form of their values.
func TestRule07_DelaysOfRobotsTxt(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		file string
		want time.Duration
	}{
		{"User-agent: *\nCrawl-delay: 2.5\n", 2500 * time.Millisecond},
		{"User-agent: *\nCrawl-delay: 300\n", 300 * s}, // --max-crawl-delay itself
		// Less than the floor shortens nothing.
		{"User-agent: *\nCrawl-delay: 0.2\n", Floor},
		// Request-rate becomes a delay; the longer of the two holds.
		{"User-agent: *\nRequest-rate: 1/5\nCrawl-delay: 8\n", 8 * s},
	} {
		bubble(t, tt.file, func(t *testing.T) {
			site := crawltest.Tree("a.test", 5)
			site.Robots.Body = tt.file
			w := newWorld(t, []string{"http://a.test/"}, site)
			if s := w.run(); s.Status.Fetched != 5 {
				t.Fatalf("%d fetched", s.Status.Fetched)
			}
			w.judged(crawltest.Rules{Pace: Floor})
			w.wantGaps(tt.want)
		})
	}
}

// wantGaps checks that between two exchanges with a.test there is this pause: to within a millisecond, which the
// crawler's own rounding may add.
func (w *world) wantGaps(want time.Duration) {
	w.t.Helper()
	requests := w.web.Referee().Requests()
	for i, r := range requests[1:] {
		if gap := r.Start.Sub(requests[i].End); gap < want || gap > want+time.Millisecond {
			w.t.Errorf("%s came %v after the end of %s, want %v", r.Target, gap, requests[i].Target, want)
		}
	}
}

// Rule 7: by any name, the group that names curtsy and that of the name both bind: the longer delay holds.
func TestRule07_TheLongestDelayOfAllGroupsThatBind(t *testing.T) {
	for file, want := range map[string]time.Duration{
		"User-agent: curtsy\nCrawl-delay: 6\nDisallow: /x\n\nUser-agent: libbot\nCrawl-delay: 2\n": 6 * time.Second,
		"User-agent: curtsy\nCrawl-delay: 2\nDisallow: /x\n\nUser-agent: libbot\nCrawl-delay: 6\n": 6 * time.Second,
		"User-agent: libbot\nCrawl-delay: 2\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 6\n":      2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			site := crawltest.Tree("a.test", 4)
			site.Robots.Body = file
			w := newWorld(t, []string{"http://a.test/"}, site)
			w.as(fetch.Identity{Token: "libbot", Version: "1"})
			w.run()
			w.wantGaps(want)
		})
	}
}

// Rule 7: who asks for more than --max-crawl-delay is asked for nothing but robots.txt in this run, and is reported; a
// run with a longer one serves it, at the pace it asks for.
func TestRule07_AboveTheMaximumTheHostIsReportedNotHurried(t *testing.T) {
	for _, line := range []string{"Crawl-delay: 301", "Request-rate: 1/1h"} {
		bubble(t, line, func(t *testing.T) {
			site := crawltest.Tree("a.test", 3)
			site.Robots.Body = "User-agent: *\n" + line + "\n"
			w := newWorld(t, []string{"http://a.test/"}, site)
			s := w.run()
			w.wantAsked("a.test", "/robots.txt")
			if len(s.Status.Resting) != 1 || !strings.Contains(s.Status.Resting[0].Reason, "is longer than --max-crawl-delay 5m0s") || !s.Incomplete {
				t.Errorf("%+v", s)
			}
			if line != "Crawl-delay: 301" {
				return
			}
			w.cfg.MaxCrawlDelay = 400 * time.Second
			w.reopen()
			if s = w.run(); s.Status.Fetched != 3 || s.Incomplete {
				t.Errorf("with a longer --max-crawl-delay: %+v", s)
			}
			w.judged(crawltest.Rules{Pace: Floor})
		})
	}
}
