package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

// line returns the only line on a URL.
func (w *world) line(url string) storage.Line {
	w.t.Helper()
	var found []storage.Line
	for _, l := range w.ledger.all {
		if l.URL == url {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d lines on %s", len(found), url)
	}
	return found[0]
}

// wantRecords checks that each record has the line of the ledger that names it, and that each line of an exchange with a
// record names one.
func (w *world) wantRecords() {
	w.t.Helper()
	by := map[string]storage.Line{}
	for _, l := range w.ledger.all {
		if l.Record != "" {
			by[l.Record] = l
		}
	}
	for i, r := range w.archive.records {
		id := idOf(i)
		if r.Line == nil || r.Line.Record != "" {
			w.t.Fatalf("the record of %s has the line %+v", r.URL, r.Line)
		}
		said := *r.Line
		said.Record = id
		if said != by[id] {
			w.t.Errorf("%s: the record says\n%+v, the ledger\n%+v", r.URL, said, by[id])
		}
		if !r.Time.Equal(said.Began) || r.Addr != said.Addr || r.Truncated != said.Truncated || len(r.Protocols) == 0 {
			w.t.Errorf("%s: record and line differ: %+v, %+v", r.URL, r.Record, said)
		}
		if r.HasPayload != (said.Payload == hex.EncodeToString(r.PayloadDigest[:])) {
			w.t.Errorf("%s: payload %q", r.URL, said.Payload)
		}
	}
}

func TestLine_HowAURLWasFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, &crawltest.Site{Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /no\n"}, Pages: map[string]crawltest.Page{
			"/":      {Links: []string{"/moved", "/no", "http://far.test/"}, Embeds: []string{"/x.png"}},
			"/moved": {Redirect: "/to"}, "/to": {}, "/x.png": {Type: "image/png", Body: "png"},
		}})
		w.add(seed(t, "http://a.test/", "bread"))
		s := w.run()
		for url, want := range map[string]storage.Line{
			"http://a.test/":           {Kind: "seed", Seed: "http://a.test/", Tag: "bread", Decision: "allow"},
			"http://a.test/moved":      {Kind: "link", Via: "http://a.test/", Depth: 1, Seed: "http://a.test/", Tag: "bread", Decision: "allow"},
			"http://a.test/to":         {Kind: "redirect", Via: "http://a.test/moved", Depth: 1, Seed: "http://a.test/", Tag: "bread", Decision: "allow"},
			"http://a.test/x.png":      {Kind: "embed", Via: "http://a.test/", Seed: "http://a.test/", Tag: "bread", Decision: "allow"},
			"http://a.test/no":         {Kind: "link", Via: "http://a.test/", Depth: 1, Seed: "http://a.test/", Tag: "bread", Decision: "disallow"},
			"http://far.test/":         {Kind: "link", Via: "http://a.test/", Depth: 1, Seed: "http://a.test/", Tag: "bread", Decision: "refuse"},
			"http://a.test/robots.txt": {Decision: "robots"},
		} {
			l := w.line(url)
			if got := (storage.Line{Kind: l.Kind, Via: l.Via, Depth: l.Depth, Seed: l.Seed, Tag: l.Tag, Decision: l.Decision}); got != want {
				t.Errorf("%s: %+v, want %+v", url, got, want)
			}
		}
		if s.Status.Reasons["redirected"] != nil {
			t.Errorf("redirects are counted by where they lead: %v", s.Status.Reasons)
		}
		w.wantRecords()
		w.sameRefusals()
	})
}

func TestLine_TheExchangeInFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const body = "<p>Bread."
		site := &crawltest.Site{Name: "a.test", Latency: 300 * time.Millisecond, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(rw, r)
				return
			}
			rw.Header().Set("Content-Type", "TEXT/HTML ; charset=utf-8")
			rw.Write([]byte(body))
		})}
		w := newWorld(t, []string{"http://a.test/", "http://nowhere.test/"}, site)
		w.run()
		l, sum := w.line("http://a.test/"), sha256.Sum256([]byte(body))
		if l.Began.IsZero() || l.Took != 300*time.Millisecond || l.FirstByte != 300*time.Millisecond || !l.Addr.IsValid() || l.Status != 200 ||
			l.Type != "text/html" || l.Octets < int64(len(body)+15) || l.Payload != hex.EncodeToString(sum[:]) || l.Truncated != "" || l.Attempt != 1 {
			t.Errorf("%+v", l)
		}
		for _, l := range w.ledger.all {
			if strings.HasPrefix(l.URL, "http://nowhere.test/") && (l.Attempt == 0 || !l.Began.IsZero() || l.Record != "" || l.Octets != 0) {
				t.Errorf("nobody was reached: %+v", l)
			}
		}
	})
}

// The links of a page are archived as they were found, followed or not, and where an answer redirects to.
func TestRecord_OutlinksAreAllThatWereFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/":      {Links: []string{"/moved", "http://far.test/"}, NoFollow: []string{"/shy"}, Embeds: []string{"/x.png"}},
			"/moved": {Redirect: "http://far.test/y"}, "/x.png": {Type: "image/png", Body: "png"},
		}})
		w.run()
		got := map[string][]storage.Outlink{}
		for _, r := range w.archive.records {
			got[strings.TrimPrefix(r.URL, "http://a.test")] = r.Outlinks
		}
		for _, want := range []storage.Outlink{
			{URL: "http://a.test/moved", Kind: "link"}, {URL: "http://far.test/", Kind: "link"},
			{URL: "http://a.test/shy", Kind: "link"}, {URL: "http://a.test/x.png", Kind: "embed"},
		} {
			if !slices.Contains(got["/"], want) {
				t.Errorf("%+v is not among %+v", want, got["/"])
			}
		}
		if len(got["/"]) != 4 || !slices.Equal(got["/moved"], []storage.Outlink{{URL: "http://far.test/y", Kind: "redirect"}}) || got["/robots.txt"] != nil {
			t.Errorf("%+v", got)
		}
	})
}

// Whole pages may be archived as repeats; robots.txt, errors, what was cut and what asks not to be archived never.
func TestRecord_RepeatableAreWholePagesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow:\n"}, Pages: map[string]crawltest.Page{
			"/": {Links: []string{"/gone", "/long", "/shy", "/moved", "/empty"}}, "/gone": {Status: 404, Body: "gone"},
			"/long": {Body: strings.Repeat("x", 9000)}, "/shy": {Robots: "noarchive"}, "/moved": {Redirect: "/"}, "/empty": {Status: 204},
		}})
		w.cfg.MaxBody = 4000
		w.run()
		for _, r := range w.archive.records {
			if want := r.URL == "http://a.test/"; r.Repeatable != want {
				t.Errorf("%s: repeatable %v", r.URL, r.Repeatable)
			}
			if strings.HasSuffix(r.URL, "/shy") && (r.HeadSize != r.Response.Size() || r.Line.Truncated != "unspecified" || r.Line.Payload == "" || r.Line.Octets <= r.HeadSize) {
				t.Errorf("noarchive: %+v, %+v", r.Record, r.Line)
			}
		}
		w.wantRecords()
	})
}
