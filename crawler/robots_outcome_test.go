package crawler

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/robots"
)

// outcomeRow is a row of the outcome table, section 3.1 of the robots policy.
type outcomeRow struct {
	name   string
	answer http.HandlerFunc // of a.test until it is repaired; nil means the file
	want   [3]string        // rfc9309, draft1996, std1994; empty: as the first
	why    string           // of a DENY
	flags  robots.Flags
	dial   error         // until it is repaired
	lookUp error         // until then
	took   time.Duration // zero: any
}

// over500KiB is a robots.txt whose last rule ends just before 500 KiB. The part of the line across that border and the lines
// behind it would disallow /open.html.
func over500KiB() string {
	const half = "Disallow: /o"
	room := robots.MaxBody - len(fileOfGated) - len(half)
	head := strings.TrimSuffix(fileOfGated, "Disallow: /closed.html\n")
	pad := strings.Repeat("#\n", room/2) + strings.Repeat("\n", room%2)
	return head + pad + "Disallow: /closed.html\n" + half + "ld\nDisallow: /open.html\n" + strings.Repeat("#\n", 50_000)
}

// hopsThen redirects from /robots.txt to /r1, /r2, … n times, and then responds by last.
func hopsThen(n, code int, last http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		hop, _ := strconv.Atoi(strings.TrimPrefix(r.RequestURI, "/r")) // 0 for /robots.txt
		if hop == n {
			last(rw, r)
			return
		}
		withStatus(code, "Location", fmt.Sprintf("/r%d", hop+1))(rw, r)
	}
}

// dripping sends a comment without an end.
func dripping(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprint(rw, fileOfGated)
	for r.Context().Err() == nil {
		fmt.Fprint(rw, "#\n")
		http.NewResponseController(rw).Flush()
		time.Sleep(10 * time.Second)
	}
}

// outcomeRows has a row for each path of an exchange through the crawler. Package robots tests the whole table, package fetch
// all failures.
func outcomeRows() []outcomeRow {
	all := func(want string) [3]string { return [3]string{want} }
	ok := body(200, fileOfGated)
	const many, private = "too many redirects", "private address (see --allow-net)"
	rows := []outcomeRow{
		{name: "200 with body", answer: ok, want: all(asRules)},
		{name: "204", answer: withStatus(204), want: all(asEmpty)},
		{name: "2xx HTML", answer: body(200, "<html><body>\n"+fileOfGated, "Content-Type", "text/html"), want: all(asRules), flags: robots.HTML},
		{name: "2xx looks binary", answer: body(200, "\x7FELF\x00\x00\n"), want: all(asEmpty), flags: robots.Binary},
		{name: "2xx body over 500 KiB", answer: body(200, over500KiB()), want: all(asRules), flags: robots.Truncated},
		{name: "gzip body over 500 KiB", answer: body(200, zipped(over500KiB()), "Content-Encoding", "gzip"), want: all(asRules), flags: robots.Truncated},
		{name: "401", answer: withStatus(401), want: [3]string{asAllow, asClosed, asAllow}},
		{name: "404", answer: body(404, fileOfGated), want: all(asAllow)},
		{name: "301, hop 1", answer: hopsThen(1, 301, ok), want: all(asRules)},
		{name: "308, hop 5", answer: hopsThen(5, 308, ok), want: all(asRules)},
		{name: "hop 6", answer: hopsThen(6, 302, ok), want: [3]string{asAllow, asRules, asDeny}, why: many},
		{name: "hop 11", answer: hopsThen(11, 302, ok), want: [3]string{asAllow, asDeny, asDeny}, why: many},
		{name: "206", answer: body(206, fileOfGated), want: all(asDeny), why: "partial content"},
		{name: "304", answer: withStatus(304), want: all(asDeny), why: "status 304"},
		{name: "429", answer: withStatus(429), want: all(asDeny), why: "status 429"},
		{name: "503", answer: body(503, fileOfGated), want: all(asDeny), why: "status 503"},
		{name: "2xx cut, gzip error", answer: body(200, zipped(fileOfGated)[:30], "Content-Encoding", "gzip"), want: all(asDeny), why: "coding"},
		{name: "gzip undeclared", answer: body(200, zipped(fileOfGated)), want: all(asDeny), why: "compressed, but not declared"},
		{name: "redirect without Location", answer: withStatus(302), want: all(asDeny), why: "redirect without Location"},
		{name: "redirect loop of two", answer: hopsThen(1, 302, withStatus(302, "Location", "/robots.txt")), want: all(asDeny), why: "redirect loop"},
		{name: "redirect to a private address", answer: withStatus(302, "Location", "http://10.0.0.1/robots.txt"), want: all(asDeny), why: private},
		{name: "redirect to a name with one", answer: withStatus(302, "Location", "http://private.test/robots.txt"), want: all(asDeny), why: private},
		{name: "not HTTP", answer: raw("220 mail.test ESMTP\r\n"), want: all(asDeny), why: "protocol"},
		{name: "timeout of the header", answer: silent, want: all(asDeny), why: "timeout", took: 20 * time.Second},
		{name: "timeout of the whole", answer: dripping, want: all(asDeny), why: "timeout", took: 30 * time.Second},
		{name: "DNS NXDOMAIN", want: all(asDeny), why: "nxdomain", lookUp: &net.DNSError{Name: "a.test", IsNotFound: true}},
		{name: "DNS failure", want: all(asDeny), why: "dns", lookUp: &net.DNSError{Name: "a.test", Err: "server misbehaving"}},
		{name: "connect refused", want: all(asDeny), why: "connect", dial: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
	}
	// A robots.txt that is cut short is never a shorter policy.
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(fileOfGated))
	for n := range len(head + fileOfGated) {
		why := "reset"
		if n >= len(head) {
			why = "incomplete"
		}
		rows = append(rows, outcomeRow{name: fmt.Sprintf("cut after %d bytes", n), answer: raw((head + fileOfGated)[:n]), want: all(asDeny), why: why})
	}
	return rows
}

// After a DENY the server is repaired, and its rules apply.
func TestGate_3_1(t *testing.T) {
	for _, row := range outcomeRows() {
		for i, standard := range robots.Standards() {
			if row.want[i] == "" || row.want[i] == row.want[0] && i > 0 {
				continue
			}
			bubble(t, "3.1 "+row.name+"/"+standard.String(), func(t *testing.T) {
				g := newGated(t, row.answer)
				g.failing(row.dial, row.lookUp)
				g.cfg.Standard = standard
				begin := time.Now()
				s := g.run()
				if took := time.Since(begin); row.took > 0 && took != row.took {
					t.Errorf("took %v, want %v", took, row.took)
				}
				g.wantPolicy(row.want[i], row.why, s)
				if got := g.policy("http://a.test/").Flags(); got != row.flags {
					t.Errorf("flags %q, want %q", got, row.flags)
				}
				if row.want[i] != asDeny {
					return
				}
				g.repaired.Store(true)
				time.Sleep(25 * time.Hour)
				g.reopen() // a host that was left alone comes back with the next run
				g.wantPolicy(asRules, "", g.run())
			})
		}
	}
}

// fileOfGated closes one of the two pages of a gated host.
const fileOfGated = "User-agent: *\nDisallow: /closed.html\n"

// gated is a world around the robots.txt of a.test, which has /open.html and /closed.html. Until it is repaired, the test
// responds to robots.txt and its redirects.
type gated struct {
	*world
	repaired atomic.Bool
}

// newGated seeds both pages.
func newGated(t *testing.T, answer http.HandlerFunc) *gated {
	g := &gated{}
	site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/open.html": {}, "/closed.html": {}}}
	site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if answer == nil || g.repaired.Load() {
			fmt.Fprint(rw, fileOfGated)
			return
		}
		answer(rw, r)
	})
	g.world = newWorld(t, []string{"http://a.test/open.html", "http://a.test/closed.html"}, site)
	g.cfg.MaxWait = 30 * time.Second // longer than any delay, shorter than the back-off after a failure
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

// wantPolicy checks the outcomes of the two pages. why is the reason of a DENY.
func (g *gated) wantPolicy(want, why string, s Summary) {
	g.t.Helper()
	open, closed := g.seeds[0], g.seeds[1]
	if want == asDeny {
		if v, ok := g.policy(open).Verdict(); ok && v.Allowed {
			g.t.Errorf("the policy allows all: %+v", v)
		}
		g.wantOutcomes(open)
		g.wantOutcomes(closed)
		asked := g.asked("a.test")
		assert.Falsef(g.t, slices.Contains(asked, "/open.html") || slices.Contains(asked, "/closed.html"), "requested %q", asked)
		if s.EndedBy != EndedWaiting || len(s.Status.Resting) == 0 || s.Status.Resting[0].Reason != "robots.txt: "+why {
			g.t.Errorf("ended by %q, resting %+v, want robots.txt: %s", s.EndedBy, s.Status.Resting, why)
		}
		return
	}
	outcomes := map[string][2]string{
		asRules: {"fetched: no match", "disallowed: disallow rule"}, asEmpty: {"fetched: no rules", "fetched: no rules"},
		asAllow: {"fetched: unavailable", "fetched: unavailable"}, asClosed: {"disallowed: restricted", "disallowed: restricted"},
	}[want]
	g.wantOutcomes(open, outcomes[0])
	g.wantOutcomes(closed, outcomes[1])
	if s.EndedBy != EndedDrained {
		g.t.Errorf("ended by %q, resting %+v", s.EndedBy, s.Status.Resting)
	}
}

// timetable is a world in which a.test gets one request in each tick while it is open. Its pages are /1, /2, … without links.
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
	n := 0
	site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { // of robots.txt
		n++
		answer(n, rw, r)
	})
	w := newWorld(t, seeds, site)
	w.cfg.Delay, w.cfg.MaxWait = tick, 3*24*time.Hour
	return &timetable{w, time.Now()}
}

// when returns the times of the requests for robots.txt, or of all others, since the start.
func (w *timetable) when(robots bool) (at []time.Duration) {
	for _, r := range w.web.Referee().Requests() {
		if (r.Target == "/robots.txt") == robots {
			at = append(at, r.Start.Sub(w.start))
		}
	}
	return at
}

// wantRobotsAt compares the times of requests for robots.txt, to the second.
func (w *timetable) wantRobotsAt(want ...time.Duration) {
	w.t.Helper()
	got := w.when(true)
	for i := range got {
		got[i] = got[i].Truncate(time.Second)
	}
	assert.Equal(w.t, want, got, "times of robots.txt requests")
}

// failing fails the dials or lookups of a.test until it is repaired.
func (g *gated) failing(dial, resolve error) {
	at := g.addr("a.test").String() + ":"
	g.fetchBy(func(cfg *fetch.Config) {
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, at) && dial != nil && !g.repaired.Load() {
				return nil, dial
			}
			return g.web.Dial(ctx, network, address)
		}
		cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			switch {
			case host == "private.test":
				return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
			case host == "a.test" && resolve != nil && !g.repaired.Load():
				return nil, resolve
			}
			return g.web.Resolve(ctx, host)
		}
	})
}

// A circle of redirects of robots.txt is a failure of the host whose robots.txt it is.
func TestRule12_ACircleOfTwoHostsEndsForBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := crawltest.Tree("a.test", 3), crawltest.Tree("b.test", 3)
		a.Robots.Redirect, b.Robots.Redirect = "http://b.test/robots.txt", "http://a.test/robots.txt"
		w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, a, b)
		w.cfg.MaxWait, w.cfg.MaxTime = 2*time.Hour, 200*time.Hour
		s := w.run()
		if s.EndedBy != EndedWaiting || len(s.Status.Resting) != 2 {
			t.Errorf("%+v", s)
		}
		assert.LessOrEqual(t, len(w.asked("a.test"))+len(w.asked("b.test")), 4*host.FailuresToPark*host.ParksToRetire, "exchanges")
	})
}
