package crawler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
)

// A page may name thousands of hosts that are not there. The run ends all the same, after the rests of the last of them,
// and says of each of its URLs where it stands.
func TestAPageOfDeadHostsEnds(t *testing.T) {
	const hosts = 2000
	for _, c := range []struct {
		name string
		err  func(host string) error
		took time.Duration // by a resolver
		most time.Duration // that the run takes
	}{
		{"no such name", func(host string) error { return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true} }, 10 * time.Millisecond, 5 * time.Minute},
		{"no answer", func(string) error { return errors.New("the name server does not answer") }, 5 * time.Second, 30 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b strings.Builder
				for i := range hosts {
					fmt.Fprintf(&b, "<a href='http://h%05d.dead/'>x</a>\n", i)
				}
				site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Body: b.String()}}}
				w := newWorld(t, []string{"http://a.test/"}, site)
				f, err := fetch.New(fetch.Config{
					Identity: fetch.Identity{Version: "1"}, Dial: w.web.Dial, AllowNet: []netip.Prefix{w.web.Net()}, SpoolDir: t.TempDir(),
					Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
						if strings.HasSuffix(host, ".dead") {
							time.Sleep(c.took)
							return nil, c.err(host)
						}
						return w.web.Resolve(ctx, host)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				w.cfg.Fetcher, w.cfg.Workers, w.cfg.Scope.Mode = f, 64, scope.ModeAny
				begin := time.Now()
				s := w.run()
				t.Logf("ended by %q after %v: %+v", s.EndedBy, time.Since(begin), s.Status)
				if took := time.Since(begin); took > c.most {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
