package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
	"curtsy/storage"

	"github.com/stretchr/testify/assert"
)

// The crawler waits exactly as long as Crawl-delay and Request-rate ask, also after robots.txt. Package robots tests
// the forms of their values. The group of the token and that of curtsy both bind: the longer delay holds.
func TestRule07_DelaysOfRobotsTxt(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		token, file string
		want        time.Duration
	}{
		{"", "User-agent: *\nCrawl-delay: 2.5\n", 2500 * time.Millisecond},
		{"", "User-agent: *\nCrawl-delay: 300\n", 300 * s}, // --max-crawl-delay itself
		// Less than the floor does not shorten the delay.
		{"", "User-agent: *\nCrawl-delay: 0.2\n", Floor},
		// Request-rate becomes a delay; the longer of the two holds.
		{"", "User-agent: *\nRequest-rate: 1/5\nCrawl-delay: 8\n", 8 * s},
		{"libbot", "User-agent: curtsy\nCrawl-delay: 6\nDisallow: /x\n\nUser-agent: libbot\nCrawl-delay: 2\n", 6 * s},
		{"libbot", "User-agent: curtsy\nCrawl-delay: 2\nDisallow: /x\n\nUser-agent: libbot\nCrawl-delay: 6\n", 6 * s},
		{"libbot", "User-agent: libbot\nCrawl-delay: 2\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 6\n", 2 * s},
	} {
		site := crawltest.Tree("a.test", 5)
		site.Robots.Body = tt.file
		playAll(t, []scenario{{
			name: tt.file, sites: []*crawltest.Site{site}, set: func(w *world) { w.as(fetch.Identity{Token: tt.token, Version: "1"}) },
			figures: map[string]int64{"fetched": 5}, rules: crawltest.Rules{Token: tt.token, Pace: Floor},
			check: func(_ *testing.T, w *world, _ Summary) { w.wantGaps(tt.want) },
		}})
	}
}

// wantGaps checks the delay between exchanges to a millisecond, which the crawler's rounding may add.
func (w *world) wantGaps(want time.Duration) {
	w.t.Helper()
	requests := w.web.Referee().Requests()
	for i, r := range requests[1:] {
		if gap := r.Start.Sub(requests[i].End); gap < want || gap > want+time.Millisecond {
			w.t.Errorf("%s came %v after the end of %s, want %v", r.Target, gap, requests[i].Target, want)
		}
	}
}

// A host whose delay is above --max-crawl-delay gets a request for robots.txt only, and is reported.
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

// The delay of a robots.txt binds its host from when it is first read, also when it is read for another host whose
// robots.txt redirects to it.
func TestRule07_APaceReadForAnotherHostIsKept(t *testing.T) {
	for _, tt := range []struct {
		name, asks string
		by         storage.PaceBy
		hops       int
	}{
		{"at once", "Request-rate: 2/5s", storage.ByRequestRate, 0},
		{"by one redirect", "Crawl-delay: 2.5", storage.ByCrawlDelay, 1},
		{"by several", "Request-rate: 2/5s", storage.ByRequestRate, 3},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, leadingTo("b.test"), ruledBy("b.test", tt.hops, "User-agent: *\n"+tt.asks+"\n"))
			w.cfg.Scope.Mode = scope.ModeAny
			w.run()
			w.wantKept("b.test", tt.hops+1, tt.hops+2, 2500*time.Millisecond, tt.by)
			w.judged(crawltest.Rules{Pace: Floor})
		})
	}
}

// The host's own policy replaces the delay, also when robots.txt is gone by then.
func TestRule07_TheHostsOwnPolicyEndsThePaceReadForAnother(t *testing.T) {
	for _, then := range []string{"User-agent: *\nDisallow: /x\n", ""} {
		synctest.Test(t, func(t *testing.T) {
			a, read := leadingTo("b.test"), 0
			a.Pages["/"] = crawltest.Page{Links: []string{"http://b.test/", "http://b.test/2", "http://b.test/3"}}
			b := &crawltest.Site{Name: "b.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch {
				case r.RequestURI != "/robots.txt":
				case read == 0:
					read++
					fmt.Fprint(rw, "User-agent: *\nCrawl-delay: 7\n")
				case then == "":
					rw.WriteHeader(http.StatusNotFound)
				default:
					fmt.Fprint(rw, then)
				}
			})}
			w := newWorld(t, []string{"http://a.test/"}, a, b)
			w.cfg.Scope.Mode = scope.ModeAny
			w.run()
			var paces []time.Duration
			for _, l := range w.ledger.all {
				if l.Attempt > 0 && strings.HasPrefix(l.URL, "http://b.test/") {
					paces = append(paces, l.Pace)
				}
			}
			// That after the exchange which brought the policy was due when it began.
			if want := []time.Duration{Floor, 7 * time.Second, 7 * time.Second, Floor, Floor}; !slices.Equal(paces, want) {
				t.Errorf("then %q: %v, want %v", then, paces, want)
			}
		})
	}
}

// leadingTo is a.test, whose robots.txt redirects to that of another host, and whose page links to that host.
func leadingTo(name string) *crawltest.Site {
	return &crawltest.Site{
		Name: "a.test", Robots: crawltest.Robots{Redirect: "http://" + name + "/robots.txt"},
		Pages: map[string]crawltest.Page{"/": {Links: []string{"http://" + name + "/"}}},
	}
}

// ruledBy is a host whose robots.txt is a file behind a number of redirects within the host.
func ruledBy(name string, hops int, file string) *crawltest.Site {
	return &crawltest.Site{Name: name, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n := 0
		switch _, err := fmt.Sscanf(r.RequestURI, "/rules/%d", &n); {
		case r.RequestURI != "/robots.txt" && err != nil:
			rw.Header().Set("Content-Type", "text/html")
		case n < hops:
			http.Redirect(rw, r, fmt.Sprintf("/rules/%d", n+1), http.StatusFound)
		default:
			fmt.Fprint(rw, file)
		}
	})}
}

// wantKept checks the delay of the exchanges with a host that follow those that read its robots.txt.
func (w *world) wantKept(host string, before, follow int, want time.Duration, by storage.PaceBy) {
	w.t.Helper()
	n := 0
	for _, l := range w.ledger.all {
		if l.Attempt == 0 || !strings.HasPrefix(l.URL, "http://"+host+"/") {
			continue
		}
		if n++; n > before && (l.Gap < want || l.Pace != want || l.PaceBy != by) {
			w.t.Errorf("%s (via %q) came after %v; the line has %v by %q, want %v by %q", l.URL, l.Via, l.Gap, l.Pace, l.PaceBy, want, by)
		}
	}
	if n != before+follow {
		w.t.Errorf("%d exchanges with %s, want %d", n, host, before+follow)
	}
}

func TestRule14_TheWholeCrawlKeepsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, pages := 5, crawltest.Tree("a.test", 6).Pages
		site := pagesBy("a.test", func(rw http.ResponseWriter, r *http.Request) {
			left--
			rw.Header().Set("RateLimit", fmt.Sprintf(`"q";r=%d;t=40`, left))
			if left == 0 {
				left = 10
			}
			rw.Header().Set("Content-Type", "text/html")
			for _, l := range pages[r.RequestURI].Links {
				fmt.Fprintf(rw, `<a href="%s">x</a>`, l)
			}
		})
		w := newWorld(t, []string{"http://a.test/"}, site)
		begin := time.Now()
		s := w.run()
		// After the robots.txt 1 s, then 40 s / 4, 3, 2, 1, then all of 40 s.
		want := time.Second + 10*time.Second + 13333334*time.Microsecond + 20*time.Second + 40*time.Second + 40*time.Second
		if took := time.Since(begin).Truncate(time.Millisecond); s.Status.Fetched != 6 || took != want.Truncate(time.Millisecond) {
			t.Errorf("%d fetched in %v, want 6 in %v", s.Status.Fetched, took, want)
		}
		for _, l := range w.ledger.all {
			assert.Falsef(t, l.PaceBy == storage.ByRateLimit && l.Gap < l.Pace, "%s: a gap of %v at a pace of %v", l.URL, l.Gap, l.Pace)
		}
		by := keptPaces(t, w.ledger.all)
		assert.Equal(t, 5, by[string(storage.ByRateLimit)], "waited for RateLimit: four were spaced by it, one waited for a new quota")
	})
}
