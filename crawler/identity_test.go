package crawler

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/fetch/webbotauth"
)

// as makes the world's crawler one of another identity, in header and robots group alike.
func (w *world) as(id fetch.Identity) {
	w.t.Helper()
	w.fetchBy(func(cfg *fetch.Config) { cfg.Identity = id })
	w.cfg.Identity = id
}

// everyKind is a web with every kind of request: robots.txt, a hop of its redirects to another host, pages, a redirect,
// an image, a retry.
func everyKind() []*crawltest.Site {
	a := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
		"/":    {Links: []string{"/old", "/again", "/secret", "/kitchen", "/yard"}, Embeds: []string{"/i.png"}},
		"/old": {Redirect: "/new"}, "/new": {}, "/again": {FailFirst: 1, RetryAfter: "5"}, "/i.png": {Body: "image"},
		"/secret": {}, "/kitchen": {}, "/yard": {},
	}}
	a.Robots.Redirect = "http://b.test/rules.txt"
	b := &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/rules.txt": {
		Type: "text/plain",
		Body: "User-agent: libbot\nDisallow: /secret\n\nUser-agent: curtsy\nDisallow: /kitchen\n\nUser-agent: *\nDisallow: /yard\n",
	}}}
	return []*crawltest.Site{a, b}
}

// Every request has the header derived from the token; the groups of the token and of curtsy bind. From has the contact
// if it is a mailbox.
func TestRules01And02_EveryRequestCarriesTheNameThatBinds(t *testing.T) {
	for _, tt := range []struct {
		token, contact, agent, from string
		open, shut                  []string
	}{
		{"", "https://library.org/crawl", "curtsy/1 (+https://library.org/crawl)", "", []string{"/secret", "/yard"}, []string{"/kitchen"}},
		{"libbot", "https://library.org/crawl", "libbot/1 (+https://library.org/crawl) curtsy/1", "", []string{"/yard"}, []string{"/secret", "/kitchen"}},
		{"other", "crawl@library.org", "other/1 (+crawl@library.org) curtsy/1", "crawl@library.org", []string{"/secret"}, []string{"/kitchen", "/yard"}},
	} {
		bubble(t, tt.token, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, everyKind()...)
			w.as(fetch.Identity{Token: tt.token, Version: "1", Contact: tt.contact})
			w.run()
			kinds := map[string]bool{}
			for _, r := range w.web.Referee().Requests() {
				kinds[r.Host+r.Target] = true
				if r.UserAgent != tt.agent || len(r.Header.Values("User-Agent")) != 1 {
					t.Errorf("%s%s as %q, want %q", r.Host, r.Target, r.Header.Values("User-Agent"), tt.agent)
				}
				if from := strings.Join(r.Header.Values("From"), ", "); from != tt.from {
					t.Errorf("%s%s: From: %q, want %q", r.Host, r.Target, from, tt.from)
				}
			}
			for _, want := range append(tt.open, "/robots.txt", "/", "/old", "/new", "/again", "/i.png") {
				assert.Truef(t, kinds["a.test"+want], "a.test%s was not requested", want)
			}
			for _, shut := range tt.shut {
				assert.Falsef(t, kinds["a.test"+shut], "a.test%s was requested, which a binding group forbids", shut)
			}
			assert.True(t, kinds["b.test/rules.txt"], "the hop was not made")
			w.judged(crawltest.Rules{Token: w.cfg.Identity.ProductToken(), Pace: Floor})
		})
	}
}

// Names of known crawlers and browsers, and names that no group of robots.txt can have, are rejected before any request.
func TestRule01_KnownCrawlerNamesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 1))
		for _, token := range []string{"googlebot", "Mozilla", "lib/2", "-"} { // package fetch has them all
			w.cfg.Identity.Token = token
			if _, err := New(t.Context(), w.cfg); err == nil {
				t.Errorf("%q is accepted", token)
			}
		}
		assert.Equal(t, 0, len(w.web.Referee().Requests()), "requests were made")
	})
}

// stranger is a connection to another machine that counts the bytes sent.
type stranger struct {
	net.Conn
	sent *atomic.Int64
}

func (stranger) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} } // RFC 5737

func (s stranger) Write(b []byte) (int, error) {
	s.sent.Add(int64(len(b)))
	return s.Conn.Write(b)
}

// Without a valid contact the crawler sends no request off loopback, and the error names the command that sets one.
func TestRule02_NoRequestsWithoutContact(t *testing.T) {
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

// signing returns a signer by the newest draft, and the directory of its key.
func signing(t *testing.T) (*webbotauth.Signer, *crawltest.Directory) {
	t.Helper()
	const d, life = webbotauth.DefaultDraft, webbotauth.DefaultLife
	key, err := webbotauth.NewKey([]byte(strings.Repeat("s", 32)))
	require.NoError(t, err)
	agent, err := webbotauth.ParseAgent("https://crawl.library.org")
	require.NoError(t, err)
	signer, err := webbotauth.New(key, agent, d, life)
	require.NoError(t, err)
	published, err := webbotauth.Publish(key, agent, d, time.Now(), webbotauth.DefaultDirectoryLife)
	require.NoError(t, err)
	keys, err := crawltest.ParseDirectory(published.Body)
	require.NoError(t, err)
	return signer, keys
}

func TestRule03_NoCookiesNoCredentialsNoFormsGETOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cookie := map[string]string{"Set-Cookie": "id=1; Path=/; Max-Age=99999", "Accept-CH": "Sec-CH-UA-Platform", "Alt-Svc": `h2=":443"`}
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/": {
				Header: cookie,
				Links:  []string{"http://user:secret@a.test/in", "/login", "/moved", "/401", "/captcha"},
				Body: `<a href="http://user:secret@a.test/in">in</a> <a href=/login>l</a> <a href=/moved>m</a> <a href=/401>4</a> <a href=/captcha>c</a>
					<form action=/search><input name=q value=x></form> <form method=post action=/post><input type=submit formaction=/other></form>
					<a href=/in ping=/ping>in</a> <script>document.cookie="a=b";fetch("/scripted")</script>`,
			},
			"/in": {Header: cookie}, "/in2": {Header: cookie}, "/moved": {Redirect: "http://other:word@a.test/in2", Header: cookie},
			"/login": {Status: 403, Header: cookie}, "/captcha": {Status: 403, Text: "Are you a robot?"},
			"/401": {Status: 401, Header: map[string]string{"WWW-Authenticate": `Basic realm="x"`}},
		}}
		site.Robots = crawltest.Robots{Body: "User-agent: *\nAllow: /\n", Header: cookie}
		w := newWorld(t, []string{"http://us:pw@a.test/"}, site)
		w.run()
		w.seeds = []string{"http://a.test/"}
		w.wantAskedInAnyOrder("a.test", "/", "/401", "/captcha", "/in", "/in2", "/login", "/moved", "/robots.txt")
		allowed := []string{"User-Agent", "From", "Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "Connection"}
		for i, r := range w.web.Referee().Requests() {
			if accept := r.Header.Get("Accept"); (accept == "text/plain, */*;q=0.5") != (i == 0) { // robots.txt comes first
				t.Errorf("%s: Accept: %s", r.Target, accept)
			}
			assert.Equal(t, http.MethodGet, r.Method, r.Target)
			for name := range r.Header {
				if !slices.Contains(allowed, name) {
					t.Errorf("%s carried %s: %q", r.Target, name, r.Header[name])
				}
			}
			assert.Equalf(t, w.web.Referee().Requests()[0].UserAgent, r.UserAgent, "the User-Agent of %s", r.Target)
		}
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}

// squeezed returns text in brotli.
func squeezed(text string) string {
	var b bytes.Buffer
	w := brotli.NewWriterLevel(&b, 4)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

// The crawler decodes pages and robots.txt. Bombs, broken codings and endless heads cost only their own page.
func TestRule24_CodingsAreReadAndBombsCut(t *testing.T) {
	in := map[string]string{"Content-Encoding": "br"}
	playAll(t, []scenario{{
		name: "brotli", set: func(w *world) { w.cfg.MaxBody = 1 << 20 }, offScope: true,
		sites: []*crawltest.Site{{
			Name: "a.test", Robots: crawltest.Robots{Body: squeezed("User-agent: *\nDisallow: /no\n"), Header: in},
			Pages: pages{
				"/": {Header: in, Type: "text/html", Body: squeezed(
					`<a href="/bomb">1</a><a href="/broken">2</a><a href="/head">3</a><a href="/no">4</a><a href="/last">5</a>`)},
				"/bomb":   {Header: in, Type: "text/html", Body: squeezed(strings.Repeat("<p>", 1<<20))},
				"/broken": {Header: in, Type: "text/html", Body: squeezed("<p>bread</p>")[:9]},
				"/head":   {Header: map[string]string{"X-Long": strings.Repeat("x", 70<<10)}}, "/no": {}, "/last": {},
			},
		}},
		outcomes: map[string]string{
			"a.test/": "fetched: no match", "a.test/bomb": "fetched: truncated: length", "a.test/broken": "failed: coding",
			"a.test/head": "deferred: protocol; deferred: protocol; failed: protocol", "a.test/no": "disallowed: disallow rule",
			"a.test/last": "fetched: no match",
		},
		rules: crawltest.Rules{Pace: Floor, Partial: true, Repeats: 2},
	}})
}
