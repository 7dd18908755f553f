package crawler

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

// robotsLines are the ledger's lines on exchanges for robots.txt, in order.
func (w *world) robotsLines() (out []storage.Line) {
	for _, l := range w.ledger.all {
		if l.Decision == storage.DecisionRobots {
			out = append(out, l)
		}
	}
	return out
}

// recorded returns what a line's record kept.
func (w *world) recorded(l storage.Line) kept {
	w.t.Helper()
	var n int
	if _, err := fmt.Sscanf(l.Record, "record %d", &n); err != nil {
		w.t.Fatalf("%s, status %d: record %q", l.URL, l.Status, l.Record)
	}
	return w.archive.records[n-1]
}

// Rule 8: each version of robots.txt is in the archive as the answer of the exchange that brought it, and the ledger
// names record and digest; so are the exchanges that brought none. The frontier keeps each body, and each verdict names
// the digest of the version that decided.
func TestRule08_EachVersionIsArchivedWithItsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := []string{"User-agent: *\nDisallow: /none1\n", "User-agent: *\nDisallow: /none2\n# café\n", ""}
		answers := []http.HandlerFunc{
			body(503, "closed for an hour"), body(200, files[0], "ETag", `"1"`), withStatus(304, "ETag", `"1"`),
			body(200, files[1]), body(500, "broken"), body(200, files[2]),
		}
		w := newTimetable(t, time.Minute, 200, func(n int, rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Cache-Control", "max-age=2400")
			answers[min(n, len(answers))-1](rw, r)
		})
		w.run()
		asked := 0
		for _, r := range w.web.Referee().Requests() {
			if r.Target == "/robots.txt" {
				asked++
			}
		}
		lines := w.robotsLines()
		if len(lines) != asked || asked < len(answers) {
			t.Fatalf("%d lines for %d exchanges, of at least %d", len(lines), asked, len(answers))
		}
		known := map[string]bool{}
		for i, want := range []struct {
			status int
			body   string
		}{{503, "closed for an hour"}, {200, files[0]}, {304, ""}, {200, files[1]}, {500, "broken"}, {200, files[2]}} {
			l := lines[i]
			r := w.recorded(l)
			_, got, _ := strings.Cut(r.response, "\r\n\r\n")
			if l.Status != want.status || got != want.body || r.URL != "http://a.test/robots.txt" || !strings.HasPrefix(string(r.Request), "GET /robots.txt HTTP/1.1\r\n") {
				t.Errorf("exchange %d: line %+v, record of %s: %q", i+1, l, r.URL, r.response)
			}
			digest := ""
			if want.status == 200 {
				digest = digestOf([]byte(want.body))
				known[digest] = true
			}
			if l.RobotsSHA256 != digest {
				t.Errorf("exchange %d: the line names %q, want %q", i+1, l.RobotsSHA256, digest)
			}
		}
		for _, file := range files[:2] {
			if b, err := w.front.Blob(t.Context(), sha256.Sum256([]byte(file))); err != nil || string(b) != file {
				t.Errorf("the frontier keeps %q of %q: %v", b, file, err)
			}
		}
		for _, l := range w.ledger.all {
			if l.Outcome == "fetched" && !known[l.RobotsSHA256] {
				t.Errorf("%s was allowed by %q, which no record brought", l.URL, l.RobotsSHA256)
			}
		}
	})
}

// Rule 8: hops of a redirected robots.txt are archived as well, under their own URLs.
func TestRule08_HopsAreArchived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const file = "User-agent: *\nDisallow: /p1.html\n"
		a, b := crawltest.Tree("a.test", 3), &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{
			"/step": {Redirect: "/rules.txt"}, "/rules.txt": {Type: "text/plain", Body: file},
		}}
		a.Robots.Redirect = "http://b.test/step"
		w := newWorld(t, []string{"http://a.test/"}, a, b)
		w.run()
		lines := w.robotsLines()
		if len(lines) != 3 {
			t.Fatalf("%d lines", len(lines))
		}
		for i, url := range []string{"http://a.test/robots.txt", "http://b.test/step", "http://b.test/rules.txt"} {
			if r := w.recorded(lines[i]); lines[i].URL != url || r.URL != url {
				t.Errorf("line %d is on %s, its record on %s, want %s", i+1, lines[i].URL, r.URL, url)
			}
		}
		if r := w.recorded(lines[2]); !strings.HasSuffix(r.response, file) || lines[2].RobotsSHA256 != digestOf([]byte(file)) {
			t.Errorf("%+v: %q", lines[2], r.response)
		}
		w.wantOutcomes("http://a.test/p1.html", "disallowed: disallow rule")
	})
}
