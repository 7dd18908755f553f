package evidence

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// A head is read as the crawl reads it, by net/http: the same status, and the same values of the fields that count.
func FuzzHead(f *testing.F) {
	for _, line := range []string{
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.0 301 Moved\r\nLocation: /x\r\nlocation: /y\r\n", "HTTP/1.1  404\r\nAge: 1\r\n\tAge: 2\r\n", "HTTP/1.1 200\nDate:\r\n x\r\n y\r\n",
		"HTTP/1.1 200 OK\r\nRetry-After : 3\r\nRetry-After\t: 4\r\nRetry-After: \x855\xa0\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\n",
		"HTTP/1.1 200 OK\r\n: x\r\nCache-Control: a, b\r\nCache-Control:\r\nExpires:\r\n", "HTTP/1.1 200 OK\r\r\nAge: 1\r\r\n\r\r\n", "HTTP/1.1 103 Early Hints\r\n",
		"HTTP/1.1 200 OK\r\nAge: 1\r\n\t\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding:\r\nContent-Encoding: gzip\r\nContent-Encoding: \r\n",
		"HTTP/1.1 200 OK\r\nRateLimit:\r\nRateLimit: \"p\";r=0;t=9\r\n", "HTTP/1.1 200 OK\r\nRateLimit: \"p\";r=0;t=9\r\nRateLimit:\r\n",
	} {
		f.Add(line + "\r\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil) //nolint:bodyclose // a text has nothing to close
		if err != nil || resp.ProtoMajor != 1 || resp.StatusCode < 100 || len(text) > storage.MaxHead {
			return // the crawl makes nothing of it
		}
		for _, values := range resp.Header { // an empty line that is folded leaves a space, which the crawl's readers trim
			for i := range values {
				values[i] = strings.TrimSpace(values[i])
			}
		}
		a := &Reader{}
		a.block.init()
		a.block.begin(&warc.Record{Block: strings.NewReader(text)}, false)
		var h partial
		require.NoErrorf(t, a.head(&h, URL{Target: RobotsPath}), "%q", text)
		got := h.Answer
		want := AnswerHead{RetryAfter: resp.Header.Values("Retry-After"), CacheControl: resp.Header.Values("Cache-Control")}
		for name, o := range map[string]*First{"Location": &want.Location, "Expires": &want.Expires, "Date": &want.Date, "Age": &want.Age} {
			if v := resp.Header.Values(name); len(v) > 0 {
				o.set([]byte(v[0]))
			}
		}
		want.Coding = strings.Join(slices.DeleteFunc(resp.Header.Values("Content-Encoding"), func(s string) bool { return s == "" }), ",")
		want.RateLimit = strings.Join(resp.Header.Values("RateLimit"), ",") // as the crawl's reader joins it
		require.Equalf(t, a.block.chunked, (len(resp.TransferEncoding) > 0), "%q: chunked", text)
		if h.Exchange.Status != resp.StatusCode || len(got.Coding) < finding.MaxText && len(got.RateLimit) < maxRateLimit && fmt.Sprint(facts(got)) != fmt.Sprint(facts(want)) {
			t.Fatalf("%q: status %d, %q; net/http has %d, %q", text, h.Exchange.Status, facts(got), resp.StatusCode, facts(want))
		}
	})
}

func facts(s AnswerHead) []any {
	return []any{s.Location, s.Expires, s.Date, s.Age, s.CacheControl, s.RetryAfter, s.RateLimit, s.Coding}
}
