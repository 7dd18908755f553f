package audit

import (
	"cmp"
	"strings"
	"testing"
	"time"
)

// What a line says of an exchange of this crawler agrees with request and answer. Archives of other crawlers are not held
// to that.
func TestFacts_AgreeWithRequestAndAnswer(t *testing.T) {
	t.Parallel()
	const fetched = "decision: allow\r\noutcome: fetched\r\nstatus: 200\r\n"
	for name, c := range map[string]struct {
		info string
		f    fetch
		bad  bool
	}{
		"a body as long as its Content-Length":          {f: fetch{head: "Content-Length: 3\r\n", body: "abc", meta: fetched}},
		"a shorter one":                                 {f: fetch{head: "Content-Length: 4\r\n", body: "abc", meta: fetched}, bad: true},
		"a longer one":                                  {f: fetch{head: "Content-Length: 2\r\n", body: "abc", meta: fetched}, bad: true},
		"a shorter one of an answer that failed":        {f: fetch{head: "Content-Length: 4\r\n", body: "abc", meta: "decision: allow\r\noutcome: failed\r\nreason: incomplete\r\nstatus: 200\r\n"}},
		"a shorter one of an answer that is called cut": {f: fetch{head: "Content-Length: 4\r\n", body: "abc", meta: fetched + "truncated: length\r\n", extra: "WARC-Truncated: length"}},
		"a length that is not a number":                 {f: fetch{head: "Content-Length: x\r\n", body: "abc", meta: fetched}},
		"chunks":                                        {f: fetch{head: "Transfer-Encoding: chunked\r\n", body: "3\r\nabc\r\n0\r\n\r\n", meta: fetched}},
		"chunks with an extension and a trailer":        {f: fetch{head: "Transfer-Encoding: chunked\r\n", body: "3;a=b\r\nabc\r\n0\r\nX: 1\r\nY: 2\r\n\r\n", meta: fetched}},
		"chunks beside a Content-Length":                {f: fetch{head: "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", body: "3\r\nabc\r\n0\r\n\r\n", meta: fetched}},
		"chunks of HTTP that are none":                  {f: fetch{head: "Transfer-Encoding: chunked\r\n", body: "abc", meta: fetched}, bad: true},
		"chunks without the last":                       {f: fetch{head: "Transfer-Encoding: chunked\r\n", body: "3\r\nabc\r\n", meta: fetched}, bad: true},
		"an answer behind the last chunk":               {f: fetch{head: "Transfer-Encoding: chunked\r\n", body: "3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 X\r\n\r\n", meta: fetched}, bad: true},
		"304 with the length of the page":               {f: fetch{status: 304, head: "Content-Length: 400\r\n", meta: strings.Replace(fetched, "200", "304", 1)}},
		"204 with a body":                               {f: fetch{status: 204, body: "abc", meta: strings.Replace(fetched, "200", "204", 1)}, bad: true},
		"HEAD, and no body":                             {f: fetch{method: "HEAD", head: "Content-Length: 400\r\n", meta: fetched + "truncated: unspecified\r\n", extra: "WARC-Truncated: unspecified"}},
		"HEAD, and a body":                              {f: fetch{method: "HEAD", body: "abc", meta: fetched + "truncated: unspecified\r\n", extra: "WARC-Truncated: unspecified"}, bad: true},
		"Last-Modified":                                 {f: fetch{head: "Last-Modified: Sun, 01 Feb 2026 00:00:00 GMT\r\n", meta: fetched + "lastModified: 2026-02-01T00:00:00.000000Z\r\n"}},
		"Last-Modified, and another date":               {f: fetch{head: "Last-Modified: Sun, 01 Feb 2026 00:00:00 GMT\r\n", meta: fetched + "lastModified: 2026-02-01T00:00:01.000000Z\r\n"}, bad: true},
		"Last-Modified, and none is said":               {f: fetch{head: "Last-Modified: Sun, 01 Feb 2026 00:00:00 GMT\r\n", meta: fetched}, bad: true},
		"a Last-Modified to come":                       {f: fetch{head: "Last-Modified: Mon, 01 Feb 2027 00:00:00 GMT\r\n", meta: fetched}},
		"two Last-Modified":                             {f: fetch{head: "Last-Modified: Sun, 01 Feb 2026 00:00:00 GMT\r\nLast-Modified: Sun, 01 Feb 2026 00:00:00 GMT\r\n", meta: fetched}},
		"a Last-Modified that is no date":               {f: fetch{head: "Last-Modified: yesterday\r\n", meta: fetched}},
		"lastModified without Last-Modified":            {f: fetch{meta: fetched + "lastModified: 2026-02-01T00:00:00.000000Z\r\n"}, bad: true},
		"X-Robots-Tag":                                  {f: fetch{head: "X-Robots-Tag: noindex, NoCache\r\n", meta: fetched + "directives: noindex, noarchive\r\n"}},
		"X-Robots-Tag, and more in the page":            {f: fetch{head: "X-Robots-Tag: noindex\r\n", meta: fetched + "directives: noindex, nofollow\r\n"}},
		"X-Robots-Tag, and less is said":                {f: fetch{head: "X-Robots-Tag: none\r\n", meta: fetched + "directives: noindex\r\n"}, bad: true},
		"X-Robots-Tag for another robot":                {f: fetch{head: "X-Robots-Tag: otherbot: noindex, nofollow\r\n", meta: fetched}},
		"X-Robots-Tag of words that mean nothing":       {f: fetch{head: "X-Robots-Tag: index, max-snippet 5\r\n", meta: fetched}},
		"17 interim answers":                            {f: fetch{meta: fetched + "interimAnswers: 17\r\n"}},
		"18 interim answers":                            {f: fetch{meta: fetched + "interimAnswers: 18\r\n"}, bad: true},
		"as long a Crawl-delay as is waited for":        {info: "max-crawl-delay-ms: 5000", f: fetch{meta: fetched + "paceMs: 5000\r\npaceBy: crawl-delay\r\ngapMs: 9900\r\n"}},
		"a Crawl-delay that is longer":                  {info: "max-crawl-delay-ms: 4999", f: fetch{meta: fetched + "paceMs: 5001\r\npaceBy: crawl-delay\r\ngapMs: 9900\r\n"}, bad: true},
		"a longer floor":                                {info: "max-crawl-delay-ms: 1", f: fetch{meta: fetched}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			c.f.url, c.f.at = site+"/a", 10*time.Second
			a := ours(t, cmp.Or(c.info, "own-sites: none"))
			a.robots("User-agent: *\nCrawl-delay: 5\n")
			a.add(c.f)
			found := false
			for _, f := range a.audit(Options{}).Findings {
				for _, x := range facts {
					found = found || f.Required == x.required
				}
			}
			if found != c.bad {
				t.Errorf("found is %v, want %v%s", found, c.bad, shown(a.audit(Options{})))
			}
			b := foreign(t)
			b.robots("")
			c.f.meta, c.f.at = "", 20*time.Second
			if b.add(c.f); !b.audit(Options{}).Clean {
				t.Errorf("of another crawler: %s", shown(b.audit(Options{})))
			}
		})
	}
}
