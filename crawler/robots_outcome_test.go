package crawler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// outcomeRow is a row of the outcome table, section 3.1 of the robots policy.
type outcomeRow struct {
	name   string
	answer http.HandlerFunc // what a.test says until it is mended; nil means the file
	want   [3]string        // rfc9309, draft1996, std1994; where the last two are empty, as the first
	why    string           // of a DENY
	flags  robots.Flags
	dial   error // what becomes of connections, or of look-ups, until then
	lookUp error
}

// over500KiB is a robots.txt whose last rule ends just before the 500 KiB are full. What is left of the line across that
// border would close /open.html, and so would the lines behind it.
func over500KiB() string {
	const half = "Disallow: /o"
	room := robots.MaxBody - len(fileOfGated) - len(half)
	head := strings.TrimSuffix(fileOfGated, "Disallow: /closed.html\n")
	pad := strings.Repeat("#\n", room/2) + strings.Repeat("\n", room%2)
	return head + pad + "Disallow: /closed.html\n" + half + "ld\nDisallow: /open.html\n" + strings.Repeat("#\n", 50_000)
}

// hopsThen redirects from /robots.txt to /r1, /r2, … within the host, n times, and then answers by last.
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

// dripping sends a comment that does not end.
func dripping(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprint(rw, fileOfGated)
	for r.Context().Err() == nil {
		fmt.Fprint(rw, "#\n")
		http.NewResponseController(rw).Flush()
		time.Sleep(10 * time.Second)
	}
}

// outcomeRows are rows by each way that an exchange can take through the crawler. Package robots has the whole table, package
// fetch all failures.
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
		{name: "timeout of the header", answer: silent, want: all(asDeny), why: "timeout"},
		{name: "timeout of the whole", answer: dripping, want: all(asDeny), why: "timeout"},
		{name: "DNS NXDOMAIN", want: all(asDeny), why: "nxdomain", lookUp: &net.DNSError{Name: "a.test", IsNotFound: true}},
		{name: "DNS failure", want: all(asDeny), why: "dns", lookUp: &net.DNSError{Name: "a.test", Err: "server misbehaving"}},
		{name: "connect refused", want: all(asDeny), why: "connect", dial: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
	}
	// A robots.txt that is cut short, wherever that is, is never a shorter policy.
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

// Every row, and by another standard where that adds refusals. After a DENY the server is repaired, and its rules hold.
func TestGate_3_1(t *testing.T) {
	for _, row := range outcomeRows() {
		for i, standard := range robots.Standards() {
			if row.want[i] == "" || row.want[i] == row.want[0] && i > 0 {
				continue
			}
			bubble(t, "3.1 "+row.name+"/"+standard.String(), func(t *testing.T) {
				g := newGated(t, "http", row.answer)
				g.failing(row.dial, row.lookUp)
				g.cfg.Standard = standard
				s := g.run()
				g.wantPolicy(row.want[i], row.why, s)
				if got := g.policy("http://a.test/").Flags(); got != row.flags {
					t.Errorf("flags %q, want %q", got, row.flags)
				}
				if row.want[i] != asDeny {
					return
				}
				g.mended.Store(true)
				time.Sleep(25 * time.Hour)
				g.reopen() // a host that was left alone comes back with the next run
				g.wantPolicy(asRules, "", g.run())
			})
		}
	}
}

func TestGate_3_1_RedirectsAcrossAuthorities(t *testing.T) {
	for _, tt := range []struct {
		hosts int // hops after the first authority
		want  string
	}{{1, asRules}, {5, asRules}, {6, asAllow}} {
		bubble(t, fmt.Sprintf("3.1 redirect across authorities, hop %d", tt.hosts), func(t *testing.T) {
			var others []*crawltest.Site
			for i := range tt.hosts {
				site := &crawltest.Site{Name: fmt.Sprintf("hop%d.test", i+1), Pages: map[string]crawltest.Page{}}
				site.Robots.Redirect = fmt.Sprintf("http://hop%d.test/robots.txt", i+2)
				others = append(others, site)
			}
			others[tt.hosts-1].Robots = crawltest.Robots{Body: fileOfGated}
			g := newGated(t, "http", withStatus(301, "Location", "http://hop1.test/robots.txt"), others...)
			s := g.run()
			g.wantPolicy(tt.want, "", s)
			g.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
			if tt.want == asRules {
				if got := g.policy("http://a.test/").FinalURL(); got != fmt.Sprintf("http://hop%d.test/robots.txt", tt.hosts) {
					t.Errorf("final URL %q", got)
				}
			}
		})
	}
}

// 3.1: cancelled by our own shutdown.
func TestGate_3_1_CancelledByOurOwnShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, "http", silent)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		c, err := New(ctx, g.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g.wantAsked("a.test", "/robots.txt")
		if s := g.policy("http://a.test/"); s != (robots.State{}) {
			t.Errorf("it says something of the policy: %+v", s)
		}
		if rs := g.archive.records; len(rs) != 1 || rs[0].Line.Reason != host.Aborted || len(g.ledger.all) != 1 { // it was asked for
			t.Errorf("%+v, %+v", rs, g.ledger.all)
		}
		g.mended.Store(true)
		start := time.Now()
		s := g.run()
		g.wantPolicy(asRules, "", s)
		if took := time.Since(start); took < Floor || took > 30*time.Second {
			t.Errorf("after the abort it took %v: the host does not rest, and has its pace", took)
		}
	})
}

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
		if v, ok := g.policy(open).Verdict(); ok && v.Allowed {
			g.t.Errorf("the policy allows all: %+v", v)
		}
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

// outages are some of the ways in which a robots.txt cannot be had; TestGate_3_1 has all. lasts is the number of exchanges
// after which the host leaves the run; zero means that it stays.
var outages = []struct {
	outcomeRow
	scheme string
	lasts  int
}{
	{outcomeRow{name: "503", why: "status 503", answer: withStatus(503)}, "http", 0},
	{outcomeRow{name: "no such name", why: "nxdomain", lookUp: &net.DNSError{Name: "a.test", IsNotFound: true}}, "http", 2},
	{outcomeRow{name: "connection refused", why: "connect", dial: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, "http", 0},
	{outcomeRow{name: "no TLS behind https", why: "tls"}, "https", 0},
	{outcomeRow{name: "no answer", why: "timeout", answer: silent}, "http", 0},
}

// down is a world of two hosts: a.test, whose robots.txt cannot be had until it is mended, and good.test, whose cannot
// be waited for by anybody.
func down(t *testing.T, o outcomeRow, scheme string) *gated {
	g := newGated(t, scheme, o.answer, crawltest.Tree("good.test", 20), &crawltest.Site{Name: "a.test:443"})
	g.add(seed(t, "http://good.test/", ""))
	g.failing(o.dial, o.lookUp)
	return g
}

// robotsTries returns when exchanges for the robots.txt of a.test were over, since start, by the ledger: some never
// reach a server.
func (g *gated) robotsTries(start time.Time) (at []time.Duration) {
	for _, l := range g.ledger.all {
		if l.Decision == storage.DecisionRobots && strings.Contains(l.URL, "://a.test/") {
			at = append(at, l.Time.Sub(start))
		}
	}
	return at
}

// Rule 6: while robots.txt cannot be had, for whatever reason, nothing else is asked of the host; it is parked with its
// reason, its URLs stay pending, no attempt is counted and nothing is decided about them. It is asked for again after 1
// min, doubled up to 1 h, never sooner. Other hosts are not kept waiting. A host that keeps failing leaves the run
// (rules 12 and 13), and comes back with the next.
func TestRule06_EveryCauseParksTheHostAndDecidesNothing(t *testing.T) {
	for _, o := range outages {
		bubble(t, o.name, func(t *testing.T) {
			start := time.Now()
			g := down(t, o.outcomeRow, o.scheme)
			g.cfg.MaxWait, g.cfg.MaxTime = 2*time.Hour, 5*time.Hour
			s := g.run()
			g.wantAllLeft(s, o.why)
			tries := g.robotsTries(start)
			if want := o.lasts; want != 0 && len(tries) != want || want == 0 && len(tries) < 7 {
				t.Fatalf("tried at %v", tries)
			}
			for i := 1; i < len(tries); i++ {
				least := min(time.Minute<<(i-1), time.Hour)
				most := least*6/5 + 21*time.Minute // jitter, and an exchange without end
				if i >= host.FailuresToPark {
					most = host.LongestRest*6/5 + 21*time.Minute
				}
				if gap := tries[i] - tries[i-1]; gap < least || gap > most {
					t.Errorf("try %d came %v after the one before, want %v to %v", i+1, gap, least, most)
				}
			}

			if o.scheme == "https" {
				return // the web of the tests cannot mend that
			}
			g.mended.Store(true)
			time.Sleep(2 * time.Hour)
			g.reopen()
			if s.Status.Refused > 0 { // rule 13
				g.retry(frontier.Retrial{Hosts: true})
			}
			g.cfg.MaxTime = 0
			if s = g.run(); s.EndedBy != EndedDrained {
				t.Errorf("after all is mended: ended by %q: %+v", s.EndedBy, s.Status)
			}
			g.wantOutcomes("http://a.test/open.html", "fetched: no match")
			g.wantOutcomes("http://a.test/closed.html", "disallowed: disallow rule")
		})
	}
}

// wantAllLeft checks that nothing happened to the URLs of a.test, and everything to those of the other host.
func (g *gated) wantAllLeft(s Summary, why string) {
	g.t.Helper()
	for _, target := range g.asked("a.test") {
		if target != "/robots.txt" {
			g.t.Errorf("a.test was asked for %s", target)
		}
	}
	g.wantOutcomes(g.seeds[0])
	g.wantOutcomes(g.seeds[1])
	if left := s.Status.Queued + s.Status.Deferred; left != 2 || s.Status.Fetched != 20 || s.EndedBy == EndedDrained {
		g.t.Errorf("%d are left and %d fetched, want 2 and 20; ended by %q", left, s.Status.Fetched, s.EndedBy)
	}
	if len(s.Status.Resting) != 1 || !strings.Contains(s.Status.Resting[0].Reason, why) {
		g.t.Errorf("resting %+v, want one for %q", s.Status.Resting, why)
	}
	if h := g.host(g.seeds[0]); h.Condition == frontier.Open {
		g.t.Errorf("%+v", h)
	}
	for _, r := range g.web.Referee().Requests() {
		if r.Host == "good.test" && r.Start.Sub(g.web.Referee().Requests()[0].Start) > time.Minute {
			g.t.Errorf("good.test had to wait: %v", r.Start)
		}
	}
}

// Rule 12: "robots failures count likewise", also where every answer is sound and only what they come to is not. A site
// whose robots.txt redirects in a circle (RFC 9309 2.3.1.2) is not asked once an hour for ever, but leaves the run.
func TestRule12_ARobotsThatComesToNothingCountsAsAFailure(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		each      int // exchanges of a fetch
		answer    http.HandlerFunc
	}{
		{"circle of two", "redirect loop", 2, hopsThen(1, 302, withStatus(302, "Location", "/robots.txt"))},
		{"partial", "partial content", 1, body(206, fileOfGated)},
		{"compressed in secret", "compressed, but not declared", 1, body(200, zipped(fileOfGated))},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			g := newGated(t, "http", tt.answer)
			g.cfg.MaxWait, g.cfg.MaxTime = 2*time.Hour, 90*time.Hour
			s := g.run()
			if n, want := len(g.asked("a.test")), tt.each*host.FailuresToPark*host.ParksToRetire; n != want || s.EndedBy != EndedWaiting {
				t.Errorf("%d exchanges, want %d; ended by %q", n, want, s.EndedBy)
			}
			if h := g.host("http://a.test/"); h.Condition != frontier.Retired || !strings.Contains(h.Reason, "15 failures in a row, the last: robots.txt: "+tt.why) {
				t.Errorf("%v %q", h.Condition, h.Reason)
			}
			g.mended.Store(true)
			g.reopen()
			time.Sleep(2 * time.Hour)
			if s := g.run(); s.EndedBy != EndedDrained {
				t.Errorf("mended, and in the next run: ended by %q, %+v", s.EndedBy, s.Status)
			}
		})
	}
}

// The same by way of another host: what its answers come to is a failure of the host whose robots.txt it is.
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
		if n := len(w.asked("a.test")) + len(w.asked("b.test")); n > 4*host.FailuresToPark*host.ParksToRetire {
			t.Errorf("%d exchanges", n)
		}
	})
}

// A redirect to a robots.txt that can be had is no failure, and one had ends the failures in a row.
func TestRule12_ARedirectOfRobotsIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, "http", hopsThen(3, 302, body(200, fileOfGated)))
		if s := g.run(); s.EndedBy != EndedDrained {
			t.Fatalf("ended by %q", s.EndedBy)
		}
		if n := g.memory("http://a.test/").Failures; n != 0 {
			t.Errorf("%d failures", n)
		}
	})
}
