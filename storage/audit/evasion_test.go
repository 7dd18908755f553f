package audit

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the type, the media type and the URL of a record: if its URL is of http or https, it counts somewhere.
func TestNoRecordOfAWebURLIsLeftOutUnsaid(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for i := range seeds(600) {
		a := foreign(t)
		uri := pick("http", "https", "HTTP", "Https") + pick("://", "://", "://", ":", ":/", ":\\\\") +
			pick("bakery.test", "BAKERY.test:81", "[::1]", "user@h", "h%zz", "", "a b", "xn--x", "h:99999", "h:port") +
			pick("/", "", "?", "/100%.html", "/%u0041", "/a b", "/\x01", "//", "/\xff", "#x", "\\x")
		kind := pick("request", "response", "revisit", "resource", "conversion", "Response", "RESOURCE")
		media := pick("application/http", "application/http; msgtype=x", "APPLICATION/HTTP", "text/html", "")
		block := pick("HTTP/1.1 200 OK\r\n\r\nx", "GET / HTTP/1.1\r\n\r\n", "<p>", "")
		extra := "WARC-Profile: p\r\nWARC-Refers-To: <urn:x>"
		if media != "" {
			extra += "\r\nContent-Type: " + media
		}
		require.False(t, bytes.ContainsAny([]byte(uri), "\r\n"), "a line break in a field")
		a.record(kind, uri, day0, extra, block)
		got := a.audit(Options{})
		if tot := got.Totals; tot.Exchanges+tot.Violations+tot.Unprovable == 0 {
			t.Errorf("%d: a %s of %q, %q, is left out: %+v", i, kind, uri, media, tot)
		}
	}
}
