package crawler

import (
	"context"
	"net"
	"net/http"
	"net/netip"
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
	"curtsy/storage"
)

// outage is a way in which a robots.txt cannot be had.
type outage struct {
	name, why string
	scheme    string           // empty means http
	answer    http.HandlerFunc // what /robots.txt answers; nil means the file
	lookUp    error
	dial      error
	ends      int // exchanges after which the host leaves the run; zero means 9
}

// outages are some of the ways; TestGate_3_1 has all.
func outages() []outage {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	file := "User-agent: *\nDisallow: /closed.html\n"
	return []outage{
		{name: "503", why: "status 503", answer: withStatus(503)},
		{name: "no such name", why: "nxdomain", lookUp: &net.DNSError{Name: "a.test", IsNotFound: true}, ends: 2},
		{name: "connection refused", why: "connect", dial: refused},
		{name: "no TLS behind https", why: "tls", scheme: "https", answer: body(200, file)},
		{name: "no answer", why: "timeout", answer: silent},
	}
}

// down is a world of two hosts: a.test, whose robots.txt cannot be had until it is mended, and good.test, whose cannot
// be waited for by anybody.
func down(t *testing.T, o outage) *gated {
	scheme := o.scheme
	if scheme == "" {
		scheme = "http"
	}
	g := &gated{}
	a := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/open.html": {}, "/closed.html": {}}}
	a.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if o.answer == nil || g.mended.Load() {
			body(200, fileOfGated)(rw, r)
			return
		}
		o.answer(rw, r)
	})
	if scheme == "https" {
		a.Name = "a.test:443"
	}
	g.world = newWorld(t, []string{scheme + "://a.test/open.html", scheme + "://a.test/closed.html", "http://good.test/"}, a, crawltest.Tree("good.test", 20))
	var at atomic.Value // the address of a.test
	g.fetchBy(func(cfg *fetch.Config) {
		cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			if host == "a.test" && o.lookUp != nil && !g.mended.Load() {
				return nil, o.lookUp
			}
			addrs, err := g.web.Resolve(ctx, host)
			if host == "a.test" && err == nil {
				at.Store(addrs[0].String())
			}
			return addrs, err
		}
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, _ := net.SplitHostPort(address); host == at.Load() && o.dial != nil && !g.mended.Load() {
				return nil, o.dial
			}
			return g.web.Dial(ctx, network, address)
		}
	})
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
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				g := down(t, o)
				g.cfg.MaxWait, g.cfg.MaxTime = 2*time.Hour, 5*time.Hour
				s := g.run()
				g.wantAllLeft(s, o)
				tries := g.robotsTries(start)
				if want := o.ends; want != 0 && len(tries) != want || want == 0 && len(tries) < 7 {
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
					if _, err := g.front.Retry(t.Context(), frontier.Retrial{Hosts: true}); err != nil {
						t.Fatal(err)
					}
				}
				g.cfg.MaxTime = 0
				if s = g.run(); s.EndedBy != EndedDrained {
					t.Errorf("after all is mended: ended by %q: %+v", s.EndedBy, s.Status)
				}
				g.wantOutcomes("http://a.test/open.html", "fetched: no match")
				g.wantOutcomes("http://a.test/closed.html", "disallowed: disallow rule")
			})
		})
	}
}

// wantAllLeft checks that nothing happened to the URLs of a.test, and everything to those of the other host.
func (g *gated) wantAllLeft(s Summary, o outage) {
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
	if len(s.Status.Resting) != 1 || !strings.Contains(s.Status.Resting[0].Reason, o.why) {
		g.t.Errorf("resting %+v, want one for %q", s.Status.Resting, o.why)
	}
	h, ok, err := g.front.Host(g.t.Context(), parse(g.t, g.seeds[0]).Authority())
	if err != nil || !ok || h.Condition == frontier.Open {
		g.t.Errorf("%+v, %v", h, err)
	}
	for _, r := range g.web.Referee().Requests() {
		if r.Host == "good.test" && r.Start.Sub(g.web.Referee().Requests()[0].Start) > time.Minute {
			g.t.Errorf("good.test had to wait: %v", r.Start)
		}
	}
}
