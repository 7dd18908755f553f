package crawler

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/andybalholm/brotli"

	"curtsy/crawler/crawltest"
)

// squeezed returns text in brotli.
func squeezed(text string) string {
	var b bytes.Buffer
	w := brotli.NewWriterLevel(&b, 4)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

// Links are read from a page that is coded, and rules from a robots.txt; bombs, broken codings and heads without
// an end cost their own page alone.
func TestRule24_CodingsAreReadAndBombsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := map[string]string{"Content-Encoding": "br"}
		site := &crawltest.Site{
			Name: "a.test",
			Robots: crawltest.Robots{
				Body:   squeezed("User-agent: *\nDisallow: /no\n"),
				Header: in,
			},
			Pages: map[string]crawltest.Page{
				"/": {Header: in, Type: "text/html", Body: squeezed(
					`<a href="/bomb">1</a><a href="/broken">2</a><a href="/head">3</a><a href="/no">4</a><a href="/last">5</a>`)},
				"/bomb":   {Header: in, Type: "text/html", Body: squeezed(strings.Repeat("<p>", 1<<20))},
				"/broken": {Header: in, Type: "text/html", Body: squeezed("<p>bread</p>")[:9]},
				"/head":   {Header: map[string]string{"X-Long": strings.Repeat("x", 70<<10)}},
				"/no":     {},
				"/last":   {},
			},
		}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxBody = 1 << 20
		w.run()
		w.wantOutcomes("http://a.test/", "fetched: no match")
		w.wantOutcomes("http://a.test/bomb", "fetched: truncated: length")
		w.wantOutcomes("http://a.test/broken", "failed: coding")
		w.wantOutcomes("http://a.test/head", "deferred: protocol", "deferred: protocol", "failed: protocol")
		w.wantOutcomes("http://a.test/last", "fetched: no match")
		if got := w.asked("a.test"); slices.Contains(got, "/no") || !slices.Contains(got, "/last") {
			t.Errorf("asked for %q", got)
		}
	})
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
