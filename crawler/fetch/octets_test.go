package fetch

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func TestRequestOctetsWhole(t *testing.T) {
	f := mustNew(t, Config{
		Identity:       Identity{Token: "Lantern", Version: "1.2", Contact: "jo@lantern.dev"},
		AcceptLanguage: "de, en;q=0.5",
		AcceptZstd:     true,
		KeepAlive:      -1,
	})
	got, err := f.head(Request{
		URL:             mustURL(t, "http://bakery.test:8080/rolls?fresh=1"),
		Accept:          "text/plain",
		IfNoneMatch:     `"v1"`,
		IfModifiedSince: "Sat, 01 Jan 2000 00:00:00 GMT",
	})
	require.NoError(t, err)
	want := "GET /rolls?fresh=1 HTTP/1.1\r\n" +
		"Host: bakery.test:8080\r\n" +
		"User-Agent: Lantern/1.2 (+jo@lantern.dev) curtsy/1.2\r\n" +
		"From: jo@lantern.dev\r\n" +
		"Accept: text/plain\r\n" +
		"Accept-Encoding: gzip, br, zstd\r\n" +
		"Accept-Language: de, en;q=0.5\r\n" +
		"If-None-Match: \"v1\"\r\n" +
		"If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n" +
		"Connection: close\r\n\r\n"
	assert.Equalf(t, want, string(got), "got\n%s", got)
}

func TestRequestOctetsPlain(t *testing.T) {
	got, err := mustNew(t, Config{}).head(Request{URL: mustURL(t, "https://bakery.test")})
	want := "GET / HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: curtsy\r\nAccept: " + defaultAccept + "\r\nAccept-Encoding: gzip, br\r\n\r\n"
	require.NoError(t, err)
	assert.Equalf(t, want, string(got), "got %q", got)
}

// The robots.txt verdict is on RequestURI, so exactly those bytes must be sent (politeness rule 5).
func TestRequestTargetIsThatOfCanon(t *testing.T) {
	for _, raw := range []string{
		`http://a.test/a%2fb"`, `http://a.test/a%2Fb`, "http://a.test/ä/ö?ü=ß", "http://a.test/a b?c d", "http://a.test//x///y",
		"http://a.test/%zz%", "http://a.test/?", "http://a.test/?a=1&&b", "http://a.test/a;b=c,d'e(f)g*!", "http://a.test/{x}|^`\\y",
		"http://a.test/%00%0d%0aX:%20y", "http://[2001:db8::1]:81/x", "http://a.test/a\r\nb\tc", "http://a.test/a/../b/./c", "http://a.test/?q=<>\"'#frag",
	} {
		synctest.Test(t, func(t *testing.T) {
			var seen string
			w := &world{serve: func(_ int, conn net.Conn) {
				seen = request(conn)
				fmt.Fprint(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			}}
			f := w.fetcher(t, Config{AllowNet: nets("2001:db8::/32")})
			u := mustURL(t, raw)
			x := do(t, f, Request{URL: u})
			closed(t, f)
			w.wg.Wait()
			assert.Equalf(t, string(x.Request), seen, "%s: Exchange.Request differs from the bytes that crossed the connection", raw)
			want := "GET " + u.RequestURI() + " HTTP/1.1\r\nHost: " + u.Authority().HostPort() + "\r\n"
			assert.Truef(t, strings.HasPrefix(seen, want), "%s: sent %q, want it to begin %q", raw, seen, want)
			assert.Equal(t, 6, strings.Count(seen, "\r\n"), raw)
		})
	}
}

// Values that servers sent come back in conditional requests: one of them must not be able to add a line.
func TestHostileConditionsAreLeftOut(t *testing.T) {
	f := mustNew(t, Config{})
	for _, bad := range []string{"\"a\"\r\nX: y", "\"a\rb\"", "\"\x00\"", "\x7f", "\n"} {
		got, err := f.head(Request{URL: mustURL(t, "http://a.test/"), IfNoneMatch: bad, IfModifiedSince: bad})
		require.NoError(t, err)
		assert.NotContainsf(t, string(got), "If-", "%q: sent %q", bad, got)
	}
}

func TestMisuseIsAnError(t *testing.T) {
	f := mustNew(t, Config{})
	u := mustURL(t, "http://a.test/")
	for name, r := range map[string]Request{
		"no URL":        {},
		"zero URL":      {URL: canon.URL{}},
		"accept":        {URL: u, Accept: "a\r\nb: c"},
		"negative size": {URL: u, MaxBody: -1},
	} {
		if x, err := f.Do(t.Context(), r); err == nil || x != nil {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
	for name, c := range map[string]Config{
		"language": {AcceptLanguage: "de\r\nX: y"},
		"body":     {MaxBody: -1},
		"time-out": {IdleTimeout: -1},
		"identity": {Identity: Identity{Token: "Googlebot"}},
	} {
		if f, err := New(c); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// Bytes after a response do not belong to it.
func TestOctetsBehindAResponseAreNotPartOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := (&world{serve: answering(ok("one") + ok("two"))}).fetcher(t, Config{})
		for range 2 {
			x := get(t, f, "http://a.test/")
			if got := text(t, x.Response); got != ok("one") || x.Reused {
				t.Errorf("response %q, reused %v", got, x.Reused)
			}
		}
	})
}

// Politeness rules 3 and 5: the target of a redirect has to pass the gate. Cookies are not sent back.
func TestRedirectsAreNotFollowedAndCookiesNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := &world{serve: func(_ int, conn net.Conn) {
			for r := request(conn); r != ""; r = request(conn) {
				asked = append(asked, r)
				fmt.Fprint(conn, "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
			}
		}}
		f := w.fetcher(t, Config{})
		x := get(t, f, "http://a.test/")
		assert.Equal(t, http.StatusFound, x.Status)
		assert.Equal(t, "/elsewhere", x.Header.Get("Location"))
		get(t, f, "http://a.test/")
		closed(t, f)
		w.wg.Wait()
		if len(asked) != 2 || asked[0] != asked[1] {
			t.Errorf("asked %q", asked)
		}
	})
}
