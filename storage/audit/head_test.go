package audit

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/httpfield"
	"curtsy/storage/audit/weburl"
	"curtsy/storage/warc"
)

// longHeads are heads up to the limit that a crawl takes, in one line, in many and in one that goes on.
func longHeads() map[string]string {
	const room = storage.MaxHead - 200
	return map[string]string{
		"one line of 40,000 octets":  "Set-Cookie: a=" + strings.Repeat("x", 40_000) + "\r\n",
		"one line as long as may be": "X: " + strings.Repeat("x", room) + "\r\n",
		"many lines":                 strings.Repeat("X: 1\r\n", room/6),
		"many folds":                 "X: 1\r\n" + strings.Repeat("\tx\r\n", room/4),
		"a name as long":             strings.Repeat("X", room) + ": 1\r\n",
	}
}

// A head that the crawl takes, the audit reads: what stands behind a long line counts, and so does the body.
func TestALongHeadIsRead(t *testing.T) {
	for name, long := range longHeads() {
		for _, head := range []string{long + "Cache-Control: max-age=600\r\n", "Cache-Control: max-age=600\r\n" + long} {
			a := ours(t)
			a.add(fetch{url: site + "/robots.txt", head: head, body: rule})
			a.add(fetch{url: site + "/private/open", at: 5 * s, meta: "decision: allow\r\n" + toldOpen + "robotsSha256: " + sha(rule) + "\r\n"})
			if r := a.audit(Options{}); !r.Clean || r.Hosts[0].Policy != "rules" {
				t.Errorf("%s: %q%s", name, codes(r), shown(r))
			}
			a.add(fetch{url: site + "/private/x", at: 20 * 60 * s})
			if r := a.audit(Options{}); codes(r) != "robots-expired disallowed" {
				t.Errorf("%s: %q%s", name, codes(r), shown(r))
			}
		}
	}
}

// Fields that go on in the next line, and such as stand twice, are read as the crawl reads them.
func TestFoldedAndRepeatedFields(t *testing.T) {
	for name, head := range map[string]string{
		"folded":          "Retry-After:\r\n 3600\r\n",
		"folded by a tab": "retry-after: \r\n\t3600\r\n",
		"the longest":     "Retry-After: 5\r\n" + strings.Repeat("Retry-After: 1\r\n", 20) + "Retry-After: 3600\r\nRetry-After: 7\r\n",
	} {
		a := ours(t)
		a.robots("")
		a.add(fetch{url: site + "/a", at: 5 * s, status: 503, head: head, meta: "paceBy: floor\r\npaceMs: 1000\r\n"})
		a.add(fetch{url: site + "/b", at: 1000 * s})
		if r := a.audit(Options{}); codes(r) != "retry-after" {
			t.Errorf("%s: %q%s", name, codes(r), shown(r))
		}
	}
}

// A head is read as the crawl reads it, by net/http: the same status, and the same values of the fields that count.
func FuzzHead(f *testing.F) {
	for _, line := range []string{
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.0 301 Moved\r\nLocation: /x\r\nlocation: /y\r\n", "HTTP/1.1  404\r\nAge: 1\r\n\tAge: 2\r\n", "HTTP/1.1 200\nDate:\r\n x\r\n y\r\n",
		"HTTP/1.1 200 OK\r\nRetry-After : 3\r\nRetry-After\t: 4\r\nRetry-After: \x855\xa0\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\n",
		"HTTP/1.1 200 OK\r\n: x\r\nCache-Control: a, b\r\nCache-Control:\r\nExpires:\r\n", "HTTP/1.1 200 OK\r\r\nAge: 1\r\r\n\r\r\n", "HTTP/1.1 103 Early Hints\r\n",
	} {
		f.Add(line + "\r\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil) //nolint:bodyclose // a text has nothing to close
		if err != nil || resp.ProtoMajor != 1 || resp.StatusCode < 100 || len(text) > storage.MaxHead {
			return // the crawl makes nothing of it
		}
		a := &audit{}
		a.read.init()
		a.read.begin(&warc.Record{Block: strings.NewReader(text)}, false)
		var h half
		if err := a.head(&h, weburl.URL{Target: weburl.RobotsPath}); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got := h.said
		want := answer{retry: resp.Header.Values("Retry-After"), cache: resp.Header.Values("Cache-Control")}
		for name, o := range map[string]*once{"Location": &want.location, "Expires": &want.expires, "Date": &want.date, "Age": &want.age} {
			if v := resp.Header.Values(name); len(v) > 0 {
				o.set([]byte(v[0]))
			}
		}
		want.coding = strings.Join(slices.DeleteFunc(resp.Header.Values("Content-Encoding"), func(s string) bool { return s == "" }), ",")
		want.limit = strings.Join(slices.DeleteFunc(resp.Header.Values("RateLimit"), func(s string) bool { return s == "" }), ",")
		if (len(resp.TransferEncoding) > 0) != a.read.chunked {
			t.Fatalf("%q: chunked is %v", text, a.read.chunked)
		}
		if h.e.Status != resp.StatusCode || len(got.coding) < finding.MaxText && len(got.limit) < httpfield.MaxRateLimit && fmt.Sprint(facts(got)) != fmt.Sprint(facts(want)) {
			t.Fatalf("%q: status %d, %q; net/http has %d, %q", text, h.e.Status, facts(got), resp.StatusCode, facts(want))
		}
	})
}

func facts(s answer) []any {
	return []any{s.location, s.expires, s.date, s.age, s.cache, s.retry, s.limit, s.coding}
}
