package crawler

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
)

// as makes the world's crawler one of another identity, in header and robots group alike.
func (w *world) as(id fetch.Identity) {
	w.t.Helper()
	w.fetchBy(func(cfg *fetch.Config) { cfg.Identity = id })
	w.cfg.Identity = id
}

// everyKind is a web in which a crawl makes every kind of request: robots.txt, a hop of its redirects to another host,
// pages, a redirect, an image, a retry.
func everyKind() []*crawltest.Site {
	a := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
		"/":        {Links: []string{"/old", "/again", "/secret", "/kitchen", "/yard"}, Embeds: []string{"/i.png"}},
		"/old":     {Redirect: "/new"},
		"/new":     {},
		"/again":   {FailFirst: 1, RetryAfter: "5"},
		"/i.png":   {Body: "image"},
		"/secret":  {},
		"/kitchen": {},
		"/yard":    {},
	}}
	a.Robots.Redirect = "http://b.test/rules.txt"
	b := &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/rules.txt": {
		Type: "text/plain",
		Body: "User-agent: libbot\nDisallow: /secret\n\nUser-agent: curtsy\nDisallow: /kitchen\n\nUser-agent: *\nDisallow: /yard\n",
	}}}
	return []*crawltest.Site{a, b}
}

// Rule 1: the header is derived from the token, the same in every request of every kind, and the group that binds is
// that of the token; a group that names curtsy binds as well.
func TestRule01_EveryRequestCarriesTheNameThatBinds(t *testing.T) {
	for _, tt := range []struct {
		token, agent string
		open, shut   []string
	}{
		{"", "curtsy/1 (+https://library.org/crawl)", []string{"/secret", "/yard"}, []string{"/kitchen"}},
		{"libbot", "libbot/1 (+https://library.org/crawl) curtsy/1", []string{"/yard"}, []string{"/secret", "/kitchen"}},
		{"other", "other/1 (+https://library.org/crawl) curtsy/1", []string{"/secret"}, []string{"/kitchen", "/yard"}},
	} {
		bubble(t, tt.token, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, everyKind()...)
			w.as(fetch.Identity{Token: tt.token, Version: "1", Contact: "https://library.org/crawl"})
			w.run()
			kinds := map[string]bool{}
			for _, r := range w.web.Referee().Requests() {
				kinds[r.Host+r.Target] = true
				if r.UserAgent != tt.agent || len(r.Header.Values("User-Agent")) != 1 {
					t.Errorf("%s%s as %q, want %q", r.Host, r.Target, r.Header.Values("User-Agent"), tt.agent)
				}
			}
			for _, want := range append(tt.open, "/robots.txt", "/", "/old", "/new", "/again", "/i.png") {
				if !kinds["a.test"+want] {
					t.Errorf("a.test%s was not asked for", want)
				}
			}
			for _, shut := range tt.shut {
				if kinds["a.test"+shut] {
					t.Errorf("a.test%s was asked for, which a group that binds forbids", shut)
				}
			}
			if !kinds["b.test/rules.txt"] {
				t.Error("the hop was not made")
			}
			w.judged(crawltest.Rules{Token: w.cfg.Identity.ProductToken(), Pace: Floor})
		})
	}
}

// Rule 1: names of known crawlers and browsers, and what no group of robots.txt can name, are refused before anything
// is asked of anybody.
func TestRule01_NamesOfOthersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 1))
		for _, token := range []string{
			"Googlebot", "googlebot", "Googlebot-Image", "bingbot", "Mozilla", "Chrome", "GPTBot", "CCBot", "wget",
			"lib/2", "lib bot", "bot9", "-", strings.Repeat("a", 65),
		} {
			w.cfg.Identity.Token = token
			if _, err := New(t.Context(), w.cfg); err == nil {
				t.Errorf("%q is accepted", token)
			}
		}
		if n := len(w.web.Referee().Requests()); n != 0 {
			t.Errorf("%d requests were made", n)
		}
	})
}

// Rule 2: From carries the mailbox in every request, and there is none when the contact is a page.
func TestRule02_FromCarriesTheMailbox(t *testing.T) {
	for contact, from := range map[string]string{"crawl@library.org": "crawl@library.org", "https://library.org/crawl": ""} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, everyKind()...)
			w.as(fetch.Identity{Version: "1", Contact: contact})
			w.run()
			requests := w.web.Referee().Requests()
			for _, r := range requests {
				if got := strings.Join(r.Header.Values("From"), ", "); got != from || !strings.Contains(r.UserAgent, "(+"+contact+")") {
					t.Errorf("%s%s: From: %q, User-Agent: %q", r.Host, r.Target, got, r.UserAgent)
				}
			}
			if len(requests) < 9 {
				t.Errorf("only %d requests", len(requests))
			}
		})
	}
}

// stranger is a connection that leads off this machine, and notes whether anything was sent over it.
type stranger struct {
	net.Conn
	sent *atomic.Int64
}

func (stranger) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} } // RFC 5737

func (s stranger) Write(b []byte) (int, error) {
	s.sent.Add(int64(len(b)))
	return s.Conn.Write(b)
}

// Rule 2: without a contact that can be reached no octet is sent to a host off loopback, not for robots.txt either, and
// the crawl stops with the command that mends it.
func TestRule02_WithoutAContactNothingIsAsked(t *testing.T) {
	for name, contact := range map[string]string{"none": "", "reserved": "me@example.org", "local": "http://crawl.internal/"} {
		bubble(t, name, func(t *testing.T) {
			var sent atomic.Int64
			w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 1))
			w.fetchBy(func(cfg *fetch.Config) {
				cfg.Identity.Contact = contact
				cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := w.web.Dial(ctx, network, address)
					return stranger{conn, &sent}, err
				}
			})
			w.cfg.Identity.Contact = contact
			if _, err := w.crawl().Run(t.Context()); err == nil || !strings.Contains(err.Error(), "curtsy identity set --contact") {
				t.Errorf("the crawl ended with %v", err)
			}
			if n := sent.Load(); n != 0 || len(w.web.Referee().Requests()) != 0 {
				t.Errorf("%d octets were sent", n)
			}
		})
	}
}
