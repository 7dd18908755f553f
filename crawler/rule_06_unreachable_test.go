package crawler

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/storage"
)

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
