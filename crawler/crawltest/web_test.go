package crawltest

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest/visitor"
)

func TestResolve_NamesHaveDistinctAddresses(t *testing.T) {
	web := New(&Site{Name: "a.test"}, &Site{Name: "b.test"}, &Site{Name: "a.test:8080"})
	seen := map[netip.Addr]bool{}
	for _, name := range []string{"a.test", "b.test"} {
		addrs, err := web.Resolve(t.Context(), name)
		if err != nil || len(addrs) != 1 || !web.Net().Contains(addrs[0]) || seen[addrs[0]] {
			t.Errorf("%s: %v, %v", name, addrs, err)
			continue
		}
		seen[addrs[0]] = true
		if again, _ := web.Resolve(t.Context(), strings.ToUpper(name)+"."); again[0] != addrs[0] {
			t.Errorf("%s: the address changed", name)
		}
	}
	var dns *net.DNSError
	if _, err := web.Resolve(t.Context(), "c.test"); !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("unknown name: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := web.Resolve(ctx, "a.test"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDial_ReachesOnlyListeners(t *testing.T) {
	web := New(&Site{Name: "a.test"}, &Site{Name: "a.test:8080"})
	addrs, err := web.Resolve(t.Context(), "a.test")
	require.NoError(t, err)
	refused := func(when, address string) {
		t.Helper()
		if _, err := web.Dial(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s, %s: %v, want connection refused", when, address, err)
		}
	}
	refused("before the start", addrs[0].String()+":80")
	require.NoError(t, web.Start())
	for _, address := range []string{addrs[0].String() + ":80", addrs[0].String() + ":8080", "a.test:80"} {
		conn, err := web.Dial(t.Context(), "tcp", address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		conn.Close()
	}
	refused("another port", addrs[0].String()+":81")
	refused("another address", "198.18.77.77:80")
	var dns *net.DNSError
	if _, err := web.Dial(t.Context(), "tcp", "c.test:80"); !errors.As(err, &dns) {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := web.Dial(t.Context(), "udp", "a.test:80"); err == nil {
		t.Error("udp was dialled")
	}
	assert.NoError(t, web.Close())
	refused("after Close", addrs[0].String()+":80")
	assert.NoError(t, web.Close(), "second Close")
}

func TestPages_FieldsTakeEffect(t *testing.T) {
	web := New(&Site{Name: "a.test", Latency: second, Pages: map[string]Page{
		"/":          {Title: "Fish & chips", Links: []string{"/b?x=1&y=2"}, Embeds: []string{"s.css", "i.png", "j.js"}, Robots: "noindex"},
		"/latin":     {Charset: "iso-8859-1", Title: "Käse für 2 €"},
		"/moved":     {Status: 308, Redirect: "/new"},
		"/found":     {Redirect: "/new"},
		"/late":      {Delay: 2 * second},
		"/busy":      {FailFirst: 2, FailStatus: 429, RetryAfter: "7", Body: "now"},
		"/gone":      {Status: 410},
		"/x.css":     {Body: "a{}"},
		"/odd%2Fb":   {Body: "slash", Type: "text/x-odd", Header: map[string]string{"X-Odd": "yes", "ETag": `"mine"`}},
		"/caf\u00e9": {Body: "coffee"},
	}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		start := time.Now()
		root := c.Get("a.test/")
		assert.Equal(t, second, time.Since(start), "latency")
		for _, want := range []string{"<title>Fish &amp; chips</title>", `href="/b?x=1&amp;y=2"`, `rel="stylesheet" href="s.css"`, `<img src="i.png"`, `<script src="j.js"`, `content="noindex"`} {
			assert.Containsf(t, root.Body, want, "no %s in %s", want, root.Body)
		}
		start = time.Now()
		c.Get("a.test/late")
		assert.Equal(t, 3*second, time.Since(start), "latency and delay")
		for _, tc := range []struct {
			target string
			status int
			field  string
			value  string
			body   string
		}{
			{"/moved", 308, "Location", "/new", ""},
			{"/found", 302, "Location", "/new", ""},
			{"/busy", 429, "Retry-After", "7", ""},
			{"/busy", 429, "Retry-After", "7", ""},
			{"/busy", 200, "Retry-After", "", "now"},
			{"/gone", 410, "Content-Type", "text/html; charset=utf-8", ""},
			{"/nothing", 404, "Content-Type", "text/html; charset=utf-8", ""},
			{"/robots.txt", 404, "Content-Type", "text/plain; charset=utf-8", ""},
			{"/x.css", 200, "Content-Type", "text/css; charset=utf-8", "a{}"},
			{"/odd%2fb", 200, "X-Odd", "yes", "slash"},
			{"/odd%2Fb", 200, "Content-Type", "text/x-odd", "slash"},
			{"/odd/b", 404, "X-Odd", "", ""},
			{"/caf%C3%A9", 200, "Content-Length", "6", "coffee"},
			{"/latin", 200, "Content-Type", "text/html; charset=iso-8859-1", ""},
		} {
			a := c.Get("a.test" + tc.target)
			if a.Status != tc.status || a.Header.Get(tc.field) != tc.value || tc.body != "" && a.Body != tc.body {
				t.Errorf("%s: %d, %s: %q, body %q", tc.target, a.Status, tc.field, a.Header.Get(tc.field), a.Body)
			}
		}
		assert.Contains(t, c.Get("a.test/latin").Body, "<title>K\xe4se f\xfcr 2 &#8364;</title>", "ISO 8859-1")
	})
}

func TestServerAnswersAsServersDo(t *testing.T) {
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {Body: "hello", Type: "text/plain"}}}, &Site{Name: "b.test"})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		tag := c.Get("a.test/").Header.Get("ETag")
		for _, tc := range []struct {
			method string
			fields []string
			status int
			body   string
		}{
			{"HEAD", nil, 200, ""},
			{"POST", nil, 405, "only GET and HEAD\n"},
			{"GET", []string{"If-None-Match", tag}, 304, ""},
			{"GET", []string{"If-None-Match", `"other"`}, 200, "hello"},
			{"GET", []string{"Host", "b.test"}, 421, "this server does not answer for \"b.test\"\n"},
			{"GET", []string{"Host", "A.TEST:80"}, 200, "hello"},
		} {
			a, err := c.Do(c.T.Context(), tc.method, "http://a.test/", tc.fields...)
			if err != nil || a.Status != tc.status || a.Body != tc.body {
				t.Errorf("%s %v: %d %q, %v; want %d %q", tc.method, tc.fields, a.Status, a.Body, err, tc.status, tc.body)
			}
		}
	})
}

func TestHandlerAnswersTheRest(t *testing.T) {
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {Links: []string{"/dynamic"}}}, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/silent":
			case "/robots.txt":
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				fmt.Fprint(z, "User-agent: *\nDisallow: /hidden\n")
				z.Close()
			default:
				fmt.Fprint(w, r.Host)
			}
		})})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		c.Get("a.test/robots.txt")
		c.Get("a.test/")
		if a := c.Get("a.test/dynamic"); a.Body != "a.test" {
			t.Errorf("handler: %+v", a)
		}
		c.Get("a.test/silent")
		c.Get("a.test/hidden")
	})
	log := web.Referee().Requests()
	if log[3].Status != 200 || log[3].End.IsZero() {
		t.Errorf("a handler that writes nothing is logged as %+v", log[3])
	}
	r := web.Referee().Judge(Rules{})
	if f := r.Row(RobotsObeyed).Findings; len(f) != 1 || f[0].Target != "/hidden" || r.Violations() != 1 {
		t.Errorf("of a robots.txt in gzip by a handler, and pages without a link graph:\n%s", table(t, r))
	}
}

func TestChangeTakesEffectAtTheNextRequest(t *testing.T) {
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {Body: "old"}}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		c.Get("a.test/robots.txt")
		assert.Equal(t, "old", c.Get("a.test/").Body, "before")
		web.Change("a.test", func(s *Site) {
			s.Pages = map[string]Page{"/": {Body: "new"}}
			s.Robots.Body = "User-agent: *\nDisallow: /\n"
		})
		assert.Equal(t, "new", c.Get("a.test/").Body, "after")
		// Not yet disallowed: that robots.txt has not been served to this crawler.
		if r := web.Referee().Judge(Rules{}); r.Row(RobotsObeyed).Verdict == Broken {
			t.Errorf("judged by a robots.txt that was never served: %s", r.Row(RobotsObeyed).Evidence)
		}
		c.Get("a.test/robots.txt")
		c.Get("a.test/")
	})
	assert.Len(t, web.Referee().Judge(Rules{}).Row(RobotsObeyed).Findings, 1, "findings, want the page after the new robots.txt")
}

// A goroutine left behind would keep the bubble from ending.
func TestClose_DoesNotWaitForClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := New(&Site{Name: "a.test", Latency: time.Hour})
		web.StartPipe()
		c := visitor.New(t, web)
		done := make(chan error)
		go func() {
			_, err := c.Do(t.Context(), http.MethodGet, "http://a.test/")
			done <- err
		}()
		synctest.Wait()
		start := time.Now()
		assert.NoError(t, web.Close())
		if err := <-done; err == nil || time.Since(start) != 0 {
			t.Errorf("the exchange ended with %v after %v", err, time.Since(start))
		}
		c.HTTP.CloseIdleConnections()
	})
}

func TestNewRefusesSitesThatCannotBeServed(t *testing.T) {
	for _, sites := range [][]*Site{
		{{}}, {{Name: "A.test"}}, {{Name: "a.test"}, {Name: "a.test:80"}}, {{Name: "a.test:1:2"}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was accepted", sites[0].Name)
				}
			}()
			New(sites...)
		}()
	}
}

func TestForeignCrawlerStaysOnLoopback(t *testing.T) {
	web := New(
		&Site{Name: "a.test", Robots: Robots{Redirect: "http://b.test/for-a.txt"}, Pages: map[string]Page{
			"/":     {Links: []string{"/p", "http://b.test/", "http://b.test/deep/page", "http://elsewhere.test/"}},
			"/p":    {Links: []string{"/away", "/bare", "http://b.test"}},
			"/away": {Redirect: "http://b.test/target?q=1"},
			"/bare": {Redirect: "http://b.test"},
		}},
		&Site{Name: "b.test", Pages: map[string]Page{
			"/": {}, "/deep/page": {Gzip: true, Links: []string{"//a.test/p"}}, "/target?q=1": {},
			"/for-a.txt": {Body: "User-agent: *\nDisallow: /no\n"},
		}},
	)
	visitor.Sockets(t, web, func(c *visitor.Client) {
		c.HTTP.Transport = &http.Transport{DisableCompression: true} // no hook
		seeds := []string{web.LoopbackURL("a.test"), web.LoopbackURL("b.test")}
		at := strings.NewReplacer("http://a.test/", seeds[0], "http://b.test/", seeds[1])
		for _, u := range []string{
			"http://a.test/robots.txt", "http://b.test/for-a.txt", "http://a.test/", "http://a.test/p", "http://a.test/away", "http://a.test/bare",
			"http://b.test/robots.txt", "http://b.test/", "http://b.test/deep/page", "http://b.test/target?q=1",
		} {
			c.Get(at.Replace(u))
		}
		assert.Equal(t, seeds[1], c.Get(seeds[0]+"bare").Header.Get("Location")+"/", "Location")
		assert.NotContains(t, c.Get(seeds[0]+"p").Body, "//b.test", "leads away from loopback")
		assert.Equal(t, http.StatusNotFound, c.Get(seeds[0]+"p?again").Status, "unknown query")
	})
	r := web.Referee().Judge(Rules{Repeats: 2})
	if f := r.Row(Scope).Findings; len(f) != 1 || f[0].Target != "/p?again" || r.Violations() != 1 {
		t.Errorf("\n%s", table(t, r))
	}
	assert.Equal(t, 2+4+1+3+3, r.Requests, "requests")
	assert.Empty(t, web.LoopbackURL("c.test"), "a port for an unknown name")
}
