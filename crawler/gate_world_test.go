package crawler

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
)

// fileOfGated closes one of the two pages of a gated host.
const fileOfGated = "User-agent: *\nDisallow: /closed.html\n"

// gated is a world around the robots.txt of a.test, which has /open.html and /closed.html. Until it is mended, robots.txt
// and whatever else it redirects to within the host are answered as the test likes.
type gated struct {
	*world
	mended atomic.Bool
}

// newGated seeds both pages; https says by which scheme.
func newGated(t *testing.T, scheme string, answer http.HandlerFunc, others ...*crawltest.Site) *gated {
	g := &gated{}
	site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/open.html": {}, "/closed.html": {}}}
	site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if answer == nil || g.mended.Load() {
			fmt.Fprint(rw, fileOfGated)
			return
		}
		answer(rw, r)
	})
	g.world = newWorld(t, []string{scheme + "://a.test/open.html", scheme + "://a.test/closed.html"}, append(others, site)...)
	g.cfg.MaxWait = 30 * time.Second // longer than any pace, shorter than the rest after a failure
	return g
}

// The outcomes of the table.
const (
	asRules  = "RULES"
	asEmpty  = "RULES without rules"
	asAllow  = "ALLOW"
	asClosed = "CLOSED" // 1996 3.1: access is restricted
	asDeny   = "DENY"   // in the words of 1996, visits are deferred
)

// wantPolicy checks what became of the two pages. why is the reason of a DENY.
func (g *gated) wantPolicy(want, why string, s Summary) {
	g.t.Helper()
	open, closed := g.seeds[0], g.seeds[1]
	var outcomes [2]string
	switch want {
	case asRules:
		outcomes = [2]string{"fetched: no match", "disallowed: disallow rule"}
	case asEmpty:
		outcomes = [2]string{"fetched: no rules", "fetched: no rules"}
	case asAllow:
		outcomes = [2]string{"fetched: unavailable", "fetched: unavailable"}
	case asClosed:
		outcomes = [2]string{"disallowed: restricted", "disallowed: restricted"}
	case asDeny:
		g.wantOutcomes(open)
		g.wantOutcomes(closed)
		for _, r := range g.web.Referee().Requests() {
			if strings.HasSuffix(r.Target, ".html") {
				g.t.Errorf("asked for %s, while robots.txt is unreachable", r.Target)
			}
		}
		if s.EndedBy != EndedWaiting || len(s.Status.Resting) == 0 || s.Status.Resting[0].Reason != "robots.txt: "+why {
			g.t.Errorf("ended by %q, resting %+v, want robots.txt: %s", s.EndedBy, s.Status.Resting, why)
		}
		return
	}
	g.wantOutcomes(open, outcomes[0])
	g.wantOutcomes(closed, outcomes[1])
	if s.EndedBy != EndedDrained {
		g.t.Errorf("ended by %q, resting %+v", s.EndedBy, s.Status.Resting)
	}
}

// timetable is a world in which a.test is asked once in each tick, as long as it does not rest: a clock of exchanges.
// Its pages are /1, /2, …, and none has a link.
type timetable struct {
	*world
	start time.Time
}

// newTimetable answers the n-th request for robots.txt by answer.
func newTimetable(t *testing.T, tick time.Duration, pages int, answer func(n int, rw http.ResponseWriter, r *http.Request)) *timetable {
	site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{}}
	var seeds []string
	for i := range pages {
		path := fmt.Sprintf("/%d", i+1)
		site.Pages[path] = crawltest.Page{}
		seeds = append(seeds, "http://a.test"+path)
	}
	var n atomic.Int64
	site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		answer(int(n.Add(1)), rw, r)
	})
	w := newWorld(t, seeds, site)
	w.cfg.Delay, w.cfg.MaxWait = tick, 3*24*time.Hour
	return &timetable{w, time.Now()}
}

// when returns at which times after the start the host was asked for robots.txt, or for everything else.
func (w *timetable) when(robots bool) (at []time.Duration) {
	for _, r := range w.web.Referee().Requests() {
		if (r.Target == "/robots.txt") == robots {
			at = append(at, r.Start.Sub(w.start))
		}
	}
	return at
}

// wantRobotsAt compares the times at which robots.txt was asked for, to the second.
func (w *timetable) wantRobotsAt(want ...time.Duration) {
	w.t.Helper()
	got := w.when(true)
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = got[i] >= want[i] && got[i] < want[i]+time.Second
	}
	if !ok {
		w.t.Errorf("robots.txt was asked for at %v, want %v", got, want)
	}
}

// robotsRequest returns the n-th request for robots.txt, from 1.
func (w *timetable) robotsRequest(n int) http.Header {
	w.t.Helper()
	for _, r := range w.web.Referee().Requests() {
		if r.Target == "/robots.txt" {
			if n--; n == 0 {
				return r.Header
			}
		}
	}
	w.t.Fatal("there are fewer requests for robots.txt")
	return nil
}

// failing fails each dial, or look-up, of a.test until it is mended.
func (g *gated) failing(dial, resolve error) {
	at := g.addr("a.test").String() + ":"
	g.fetchBy(func(cfg *fetch.Config) {
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, at) && dial != nil && !g.mended.Load() {
				return nil, dial
			}
			return g.web.Dial(ctx, network, address)
		}
		cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			switch {
			case host == "private.test":
				return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
			case host == "a.test" && resolve != nil && !g.mended.Load():
				return nil, resolve
			}
			return g.web.Resolve(ctx, host)
		}
	})
}
