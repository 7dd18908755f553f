package crawler

import (
	"bytes"
	"compress/gzip"
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
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/model"
	"curtsy/robots"
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
		if g.mended.Load() {
			fmt.Fprint(rw, fileOfGated)
			return
		}
		answer(rw, r)
	})
	g.world = newWorld(t, []string{scheme + "://a.test/open.html", scheme + "://a.test/closed.html"}, append(others, site)...)
	g.cfg.MaxWait = 30 * time.Second // longer than any pace, shorter than the rest after a failure
	return g
}

// fetchBy replaces the fetcher by one that is configured otherwise.
func (w *world) fetchBy(change func(*fetch.Config)) {
	w.t.Helper()
	cfg := fetch.Config{
		Identity: fetch.Identity{Version: "1"}, Resolve: w.web.Resolve, Dial: w.web.Dial,
		AllowNet: []netip.Prefix{w.web.Net()}, SpoolDir: w.t.TempDir(),
	}
	change(&cfg)
	f, err := fetch.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { f.Close() })
	w.cfg.Fetcher = f
}

// policy is what the frontier keeps of a host's robots.txt.
func (w *world) policy(url string) (s robots.State) {
	w.t.Helper()
	h, ok, err := w.front.Host(w.t.Context(), parse(w.t, url).Authority())
	if err != nil || !ok {
		w.t.Fatalf("%s: %v, %v", url, ok, err)
	}
	if len(h.Robots) > 0 {
		if err := s.UnmarshalBinary(h.Robots); err != nil {
			w.t.Fatal(err)
		}
	}
	return s
}

// reopen closes the frontier in order and opens it again, as a restart does.
func (w *world) reopen() {
	w.t.Helper()
	m := w.front.(*model.Model)
	if err := m.Close(); err != nil {
		w.t.Fatal(err)
	}
	m = m.Reopen(frontier.Options{Barrier: record.Barrier(w.archive, w.ledger), Pace: Floor})
	w.t.Cleanup(func() { m.Close() })
	w.front, w.cfg.Frontier = m, m
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

// withStatus answers with a status and no body.
func withStatus(code int, fields ...string) http.HandlerFunc {
	return body(code, "", fields...)
}

// body answers with a body and header fields, given by name and value.
func body(code int, text string, fields ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			rw.Header().Set(fields[i], fields[i+1])
		}
		rw.WriteHeader(code)
		fmt.Fprint(rw, text) // an error means that nobody listens any more
	}
}

// raw answers with octets, and closes the connection.
func raw(octets string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		conn.Write([]byte(octets))
	}
}

// zipped is text, coded with gzip.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	return b.String()
}

// failing fails each dial, or look-up, until the host is mended.
func (g *gated) failing(dial, resolve error) {
	g.fetchBy(func(cfg *fetch.Config) {
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dial != nil && !g.mended.Load() {
				return nil, dial
			}
			return g.web.Dial(ctx, network, address)
		}
		cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			switch {
			case host == "private.test":
				return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
			case resolve != nil && !g.mended.Load():
				return nil, resolve
			}
			return g.web.Resolve(ctx, host)
		}
	})
}
