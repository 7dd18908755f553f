package crawler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
)

// A page may name thousands of hosts that are not there. The run ends all the same, after the rests of the last of them,
// however few pages it may have: asking for robots.txt, which brings none, needs nothing of that budget. No URL is lost:
// those of hosts that are not there stay pending, as those of any host that is left for the run.
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
		ended string
		times int64 // that each host is tried
	}{
		{"no such name", func(host string) error { return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true} }, 0, 2 * time.Minute, EndedWaiting, 2},
		{"no such name, few pages", func(host string) error { return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true} }, 3, 2 * time.Minute, EndedWaiting, 2},
		{"no answer, few pages", func(string) error { return errors.New("the name server does not answer") }, 3, 20 * time.Minute, EndedWaiting, 5},
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
			if took := time.Since(begin); took > c.most || s.EndedBy != c.ended {
				t.Errorf("ended by %q after %v, want %q within %v", s.EndedBy, took, c.ended, c.most)
			}
			failed := int64(0)
			for _, n := range s.Status.Failures {
				failed += n
			}
			if s.Status.Queued != hosts || failed != hosts*c.times || !s.Incomplete {
				t.Errorf("%d of %d URLs are left, %d failures, incomplete: %v", s.Status.Queued, hosts, failed, s.Incomplete)
			}
		})
	}
}
