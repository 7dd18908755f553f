package crawler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
)

func hangUp(context.Context, net.Conn, *http.Request) bool { return false }

func half(_ context.Context, conn net.Conn, _ *http.Request) bool {
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>half")
	return false
}

func TestRule18_AFailingPageIsAFindingOfALinkCheck(t *testing.T) {
	for _, tt := range []struct {
		name    string
		foreign bool
		crawl   bool // no link check
		page    crawltest.Page
		pages   int // that fail
		most    time.Duration
		ended   string
		times   int // that each is requested
	}{
		{name: "500", page: crawltest.Page{Status: 500}, pages: 1, most: 2 * time.Second, ended: EndedDrained, times: 2},
		{name: "ten times 502", page: crawltest.Page{Status: 502}, pages: 10, most: 2 * time.Second, ended: EndedDrained, times: 2},
		{name: "cut", page: crawltest.Page{Raw: half}, pages: 10, most: 2 * time.Second, ended: EndedDrained, times: 2},
		{name: "no response", page: crawltest.Page{Raw: hangUp}, pages: 1, most: 2 * time.Second, ended: EndedDrained, times: 2},
		{name: "Retry-After is obeyed", page: crawltest.Page{Status: 503, RetryAfter: "40"}, pages: 1, most: 10 * time.Minute, ended: EndedWaiting, times: 1},
		{name: "foreign host", foreign: true, page: crawltest.Page{Status: 500}, pages: 1, most: 10 * time.Minute, ended: EndedWaiting, times: 1},
		{name: "ordinary crawl", crawl: true, page: crawltest.Page{Status: 500}, pages: 1, most: 10 * time.Minute, ended: EndedWaiting, times: 1},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			site := crawltest.Tree("localhost", 60)
			var failing []string
			for i := range tt.pages {
				failing = append(failing, fmt.Sprintf("/failing%d", i))
				site.Pages[failing[i]] = tt.page
			}
			site.Pages["/"] = crawltest.Page{Links: append(failing, "/p1.html", "/p2.html", "/p3.html", "/p4.html")}
			w := newWorld(t, []string{"http://localhost/"}, site)
			w.cfg.LinkCheck, w.cfg.LoopbackForeign = !tt.crawl, tt.foreign
			w.cfg.Delay, w.cfg.PerHost, w.cfg.MaxWait = -1, 8, 20*time.Second
			begin := time.Now()
			s := w.run()
			if took := time.Since(begin); took > tt.most || s.EndedBy != tt.ended {
				t.Errorf("ended by %q after %v", s.EndedBy, took)
			}
			asked := w.asked("localhost")
			for _, target := range failing {
				if n := count(asked, target); n != tt.times {
					t.Errorf("%s was requested %d times, want %d", target, n, tt.times)
				}
			}
			if tt.ended != EndedDrained {
				return
			}
			if s.Status.Fetched != 60 || int(s.Status.Failed) != tt.pages {
				t.Errorf("%d fetched, %d failed", s.Status.Fetched, s.Status.Failed)
			}
			for _, last := range asked[len(asked)-tt.pages:] {
				assert.Truef(t, strings.HasPrefix(last, "/failing"), "%s was requested after a second attempt", last)
			}
		})
	}
}

func TestRule18_AHostThatNeverRespondsIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("localhost", 2)
		links := []string{"/p1.html"}
		for i := range 20 {
			links = append(links, fmt.Sprintf("/silent%d", i))
			site.Pages[links[i+1]] = crawltest.Page{Raw: hangUp}
		}
		site.Pages["/"] = crawltest.Page{Links: links}
		w := newWorld(t, []string{"http://localhost/"}, site)
		w.cfg.LinkCheck, w.cfg.Delay, w.cfg.MaxWait = true, -1, time.Minute
		if s := w.run(); s.EndedBy != EndedWaiting || s.Status.Failed+s.Status.Queued+s.Status.Deferred != 20 {
			t.Errorf("ended by %q: %+v", s.EndedBy, s.Status)
		}
		assert.Equal(t, 3+5, len(w.asked("localhost")), "requests")
	})
}

func TestRule12_ALinkCheckTriesDeadHostsTwice(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		dial bool // it fails only then
	}{
		{"no such name", &net.DNSError{Err: "no such host", IsNotFound: true}, false},
		{"the name server does not answer", &net.DNSError{Err: "server misbehaving", IsTemporary: true}, false},
		{"nobody listens", &net.OpError{Op: "dial", Err: fmt.Errorf("connection refused")}, true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			site := &crawltest.Site{Name: "localhost", Pages: map[string]crawltest.Page{"/": {Body: "<a href=http://dead.test/a>a</a><a href=http://dead.test/b>b</a>"}}}
			w := newWorld(t, []string{"http://localhost/"}, site, &crawltest.Site{Name: "dead.test"})
			var tries []time.Time
			fail := func() error {
				tries = append(tries, time.Now())
				return tt.err
			}
			dead := w.addr("dead.test")
			w.fetchBy(func(cfg *fetch.Config) {
				cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
					if host == "dead.test" && !tt.dial {
						return nil, fail()
					}
					return w.web.Resolve(ctx, host)
				}
				cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if strings.HasPrefix(address, dead.String()) {
						return nil, fail()
					}
					return w.web.Dial(ctx, network, address)
				}
			})
			w.cfg.LinkCheck, w.cfg.Delay, w.cfg.MaxWait = true, -1, 90*time.Second
			w.cfg.Scope.External = scope.ExternalHead
			begin := time.Now()
			s := w.run()
			if took := time.Since(begin); took > 10*time.Second || s.EndedBy != EndedWaiting {
				t.Errorf("ended by %q after %v", s.EndedBy, took)
			}
			if len(tries) != 2 || tries[1].Sub(tries[0]) < 2*time.Second {
				t.Errorf("tried at %v", tries)
			}
			var attempts []int
			for _, l := range w.ledger.all {
				if l.URL == "http://dead.test/robots.txt" {
					attempts = append(attempts, l.Attempt)
				}
			}
			assert.Equal(t, []int{1, 2}, attempts, "attempts")
		})
	}
}

// A run whose pages name hundreds of dead hosts ends, also with few pages left in its budget, and their URLs stay pending.
func TestRule15_APageOfDeadHostsEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector")
	}
	const hosts = 240
	for _, c := range []struct {
		name  string
		err   func(host string) error
		pages int64
		most  time.Duration // that the run takes
		times int64         // that each host is tried
	}{
		{"no such name, few pages", func(host string) error { return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true} }, 3, 2 * time.Minute, 2},
		{"no answer, few pages", func(string) error { return errors.New("the name server does not answer") }, 3, 20 * time.Minute, 5},
	} {
		bubble(t, c.name, func(t *testing.T) {
			var b strings.Builder
			for i := range hosts {
				fmt.Fprintf(&b, "<a href='http://h%05d.dead/'>x</a>\n", i)
			}
			site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Body: b.String()}}}
			w := newWorld(t, []string{"http://a.test/"}, site)
			w.fetchBy(func(cfg *fetch.Config) {
				cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
					if !strings.HasSuffix(host, ".dead") {
						return w.web.Resolve(ctx, host)
					}
					select {
					case <-time.After(5 * time.Second): // as a resolver does whose name server keeps silent
					case <-ctx.Done():
					}
					return nil, c.err(host)
				}
			})
			w.cfg.Workers, w.cfg.Scope.Mode, w.cfg.MaxPages = 64, scope.ModeAny, c.pages
			begin := time.Now()
			s := w.run()
			if took := time.Since(begin); took > c.most || s.EndedBy != EndedWaiting {
				t.Errorf("ended by %q after %v, want within %v", s.EndedBy, took, c.most)
			}
			if failed := sum(s.Status.Failures); s.Status.Queued != hosts || failed != hosts*c.times || !s.Incomplete {
				t.Errorf("%d of %d URLs are left, %d failures, incomplete: %v", s.Status.Queued, hosts, failed, s.Incomplete)
			}
		})
	}
}
