package crawler

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
)

// Rule 23: whatever leads to an address that is not public, a seed's name, a redirect, a redirect of robots.txt, and
// whatever the address: it is not dialled, the URL is dropped with a reason, and the crawl goes on.
func TestRule23_WhatIsNotPublicIsNotDialled(t *testing.T) {
	for _, inner := range []string{
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1",
		"255.255.255.255", "::1", "::", "fd00::1", "fe80::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::",
	} {
		t.Run(inner, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
					"/":        {Links: []string{"/to-name", "/to-address", "/last"}},
					"/to-name": {Redirect: "http://inner.test/x"}, "/last": {},
					"/to-address": {Redirect: "http://" + netip.AddrPortFrom(netip.MustParseAddr(inner), 80).String() + "/y"},
				}}
				b := &crawltest.Site{Name: "b.test", Robots: crawltest.Robots{Redirect: "http://inner.test/robots.txt"}, Pages: map[string]crawltest.Page{"/": {}}}
				w := newWorld(t, []string{"http://a.test/", "http://b.test/", "http://inner.test/"}, a, b)
				w.cfg.Scope.Mode, w.cfg.MaxPages = "any", 100
				w.cfg.LoopbackForeign = true
				var mu sync.Mutex
				var dialled []string
				w.fetchBy(func(cfg *fetch.Config) {
					cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
						if host == "inner.test" {
							return []netip.Addr{netip.MustParseAddr(inner)}, nil
						}
						return w.web.Resolve(ctx, host)
					}
					cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
						mu.Lock()
						dialled = append(dialled, address)
						mu.Unlock()
						return w.web.Dial(ctx, network, address)
					}
				})
				s := w.run()
				for _, address := range dialled {
					host, _, _ := net.SplitHostPort(address)
					if addr, err := netip.ParseAddr(host); err != nil || !w.web.Net().Contains(addr) {
						t.Errorf("%s was dialled", address)
					}
				}
				w.wantOutcomes("http://a.test/last", "fetched: unavailable")
				if s.Status.Fetched != 2 {
					t.Errorf("%d fetched, want the two pages of a.test that are its own", s.Status.Fetched)
				}
				for _, want := range []string{"b.test", "inner.test"} {
					found := false
					for _, r := range s.Status.Resting {
						found = found || strings.Contains(r.Host, want) && strings.Contains(r.Reason, "private address")
					}
					if !found {
						t.Errorf("nothing says why %s is left alone: %+v", want, s.Status.Resting)
					}
				}
			})
		})
	}
}

// Rule 24: a small body that decodes to a large one is cut at the limit for decoded octets, which is said; what was
// taken from the host is bounded likewise.
func TestRule24_ABombIsCutAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 1 << 20
		size := 64 << 20
		if racing {
			size = 8 << 20
		}
		bomb := zipped("<a href=/behind>x</a>" + strings.Repeat("\x00", size))
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/":     {Links: []string{"/bomb", "/last"}},
			"/bomb": {Type: "text/html", Body: bomb, Header: map[string]string{"Content-Encoding": "gzip"}},
			"/last": {},
		}}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxBody = limit
		s := w.run()
		w.wantOutcomes("http://a.test/last", "fetched: unavailable")
		w.wantOutcomes("http://a.test/bomb", "fetched: truncated: length")
		if s.Status.Bytes > limit {
			t.Errorf("%d octets were taken", s.Status.Bytes)
		}
		for _, r := range w.archive.records {
			if len(r.response) > limit || strings.HasSuffix(r.URL, "/bomb") && r.Truncated != "length" {
				t.Errorf("%s: %d octets kept, truncated %q", r.URL, len(r.response), r.Truncated)
			}
		}
	})
}

// Rule 24: a head of more than 64 KiB is no answer, in one field or in many, of robots.txt as of a page.
func TestRule24_AHeadOver64KiBIsNoAnswer(t *testing.T) {
	many := &strings.Builder{}
	for i := range 2000 {
		fmt.Fprintf(many, "X-Field-%d: %s\r\n", i, strings.Repeat("v", 40))
	}
	for name, fields := range map[string]string{"one field": "X: " + strings.Repeat("x", 70<<10) + "\r\n", "many": many.String()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				large := raw("HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 2\r\n\r\nok")
				a := &crawltest.Site{Name: "a.test", Robots: crawltest.Robots{Status: 404}, Pages: map[string]crawltest.Page{"/": {Links: []string{"/large"}}}, Handler: large}
				b := &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/": {}}, Handler: large}
				w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, a, b)
				w.cfg.MaxWait = time.Hour
				w.cfg.MaxTime = 30 * time.Minute
				s := w.run()
				w.wantOutcomes("http://a.test/large", "deferred: protocol", "deferred: protocol", "failed: protocol")
				if len(s.Status.Resting) != 1 || !strings.Contains(s.Status.Resting[0].Reason, "protocol") {
					t.Errorf("b.test, whose robots.txt has such a head: %+v", s.Status.Resting)
				}
				for _, target := range w.asked("b.test") {
					if target != "/robots.txt" {
						t.Errorf("b.test was asked for %s", target)
					}
				}
			})
		})
	}
}

// Rule 24: every request is of HTTP/1.1, for one page at a time, and its octets are those in the archive.
func TestRule24_RequestsAreOfHTTP11(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, everyKind()...)
		w.run()
		if len(w.archive.records) < 9 {
			t.Errorf("%d records", len(w.archive.records))
		}
		for _, r := range w.archive.records {
			line, rest, _ := strings.Cut(string(r.Request), "\r\n")
			if !strings.HasPrefix(line, http.MethodGet+" /") || !strings.HasSuffix(line, " HTTP/1.1") || strings.Contains(rest, "Upgrade") {
				t.Errorf("%s: %q", r.URL, r.Request)
			}
		}
	})
}
