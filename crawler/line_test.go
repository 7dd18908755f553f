package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

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
			w.t.Errorf("%s: the record has\n%+v, the ledger\n%+v", r.URL, said, by[id])
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
		assert.Nilf(t, s.Status.Reasons["redirected"], "redirects are counted by where they lead: %v", s.Status.Reasons)
		w.wantRecords()
		w.sameRefusals()
	})
}

func TestLine_TheExchangeInFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "<p>Bread."
		site := &crawltest.Site{Name: "a.test", Latency: 300 * time.Millisecond, Pages: pages{"/": {Body: text, Type: "TEXT/HTML ; charset=utf-8"}}}
		w := newWorld(t, []string{"http://a.test/", "http://nowhere.test/"}, site)
		w.run()
		l, sum := w.line("http://a.test/"), sha256.Sum256([]byte(text))
		if l.Began.IsZero() || l.Took != 300*time.Millisecond || l.FirstByte != 300*time.Millisecond || !l.Addr.IsValid() || l.Status != 200 ||
			l.Type != "text/html" || l.Octets < int64(len(text)+15) || l.Payload != hex.EncodeToString(sum[:]) || l.Truncated != "" || l.Attempt != 1 {
			t.Errorf("%+v", l)
		}
		for _, l := range w.ledger.all {
			if strings.HasPrefix(l.URL, "http://nowhere.test/") && (l.Attempt == 0 || !l.Began.IsZero() || l.Record != "" || l.Octets != 0) {
				t.Errorf("no host was reached: %+v", l)
			}
		}
	})
}

// The record of a page has all its links, followed or not, and the target of a redirect.
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

// keptPaces checks that no exchange began before its delay was over, and counts exchanges by the reason of their delay.
func keptPaces(t *testing.T, all []storage.Line) map[string]int {
	t.Helper()
	by := map[string]int{}
	for _, l := range all {
		if l.Attempt == 0 {
			if l.Gap != 0 || l.Pace != 0 || l.PaceBy != "" {
				t.Errorf("%s was not requested, and yet its delay is %v by %q, its gap %v", l.URL, l.Pace, l.PaceBy, l.Gap)
			}
			continue
		}
		by[string(l.PaceBy)]++
		assert.NotEmptyf(t, l.PaceBy, "%s (%s, %s): its delay has no reason", l.URL, l.Decision, l.Reason)
		if l.Gap > 0 && l.Gap < l.Pace {
			t.Errorf("%s: a gap of %v, %v were due by %q", l.URL, l.Gap, l.Pace, l.PaceBy)
		}
		assert.EqualValuesf(t, 0, l.Gap%time.Microsecond, "%s: a gap of %v is more exact than the archive's dates", l.URL, l.Gap)
	}
	return by
}

func idOf(i int) string { return fmt.Sprintf("record %d", i+1) }

func (w *world) recordsOf(url string) (ids []string, all []storage.Record) {
	for i, r := range w.archive.records {
		if r.URL == url {
			ids, all = append(ids, idOf(i)), append(all, r.Record)
		}
	}
	return ids, all
}

// The record of a 304 names the response with the file, not the last 304; later lines name the 304, also after a restart.
func TestRecord_NotModifiedNamesTheRobotsTxtThatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimetable(t, time.Second, 99, func(_ int, rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			body(200, "User-agent: *\nDisallow: /no\n", "ETag", `"1"`)(rw, r)
		})
		for range 3 {
			w.cfg.MaxTime = 5 * time.Second
			w.run()
			time.Sleep(25 * time.Hour)
			w.reopen()
		}
		ids, all := w.recordsOf("http://a.test/robots.txt")
		require.Len(t, ids, 3, "exchanges for robots.txt")
		want := storage.Original{URL: "http://a.test/robots.txt", Date: all[0].Time.UTC().Truncate(time.Microsecond), ID: ids[0]}
		for i, r := range all {
			switch {
			case r.Repeatable:
				t.Errorf("exchange %d may be archived as a repeat", i)
			case i == 0 && (r.NotModified != nil || !r.HasPayload):
				t.Errorf("the first: %+v", r)
			case i > 0 && (r.NotModified == nil || *r.NotModified != want || r.HasPayload || r.Line.Payload != ""):
				t.Errorf("exchange %d: %+v, want %+v", i, r.NotModified, want)
			}
		}
		last := ""
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionRobots {
				last = l.Record
			} else if l.RobotsRecord != last {
				t.Errorf("%s names %q, the last policy is in %q", l.URL, l.RobotsRecord, last)
			}
		}
		w.wantRecords()
	})
}

// Where robots.txt redirects to another host, the lines name the exchange there, whose line names the robots.txt.
func TestLine_RobotsRecordThroughARedirectToAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 3)
		site.Robots = crawltest.Robots{Redirect: "http://mill.test/bakery.txt"}
		mill := crawltest.Tree("mill.test", 2)
		mill.Pages["/bakery.txt"] = crawltest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /p2\n"}
		w := newWorld(t, []string{"http://bakery.test/", "http://mill.test/"}, site, mill)
		w.run()
		ids, all := w.recordsOf("http://mill.test/bakery.txt")
		if len(ids) != 1 || all[0].Line.Via != "http://bakery.test/robots.txt" || all[0].Line.Decision != storage.DecisionRobots {
			t.Fatalf("%v, %+v", ids, all)
		}
		own, _ := w.recordsOf("http://mill.test/robots.txt")
		for _, l := range w.ledger.all {
			switch {
			case l.Decision == storage.DecisionRobots:
				assert.Emptyf(t, l.RobotsRecord, "%+v", l)
			case strings.HasPrefix(l.URL, "http://bakery.test/") && l.RobotsRecord != ids[0]:
				t.Errorf("%s names %q, want %q", l.URL, l.RobotsRecord, ids[0])
			case strings.HasPrefix(l.URL, "http://mill.test/") && l.RobotsRecord != own[0]:
				t.Errorf("%s names %q, want %q", l.URL, l.RobotsRecord, own[0])
			}
		}
		hop, redirecting := w.recordsOf("http://bakery.test/robots.txt")
		if len(hop) != 1 || len(redirecting[0].Outlinks) != 1 || redirecting[0].Outlinks[0].Kind != "redirect" {
			t.Errorf("%+v", redirecting)
		}
	})
}

func TestLine_LinkedRobotsHasTheTimeOfItsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const url = "http://a.test/robots.txt"
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Links: []string{"/robots.txt"}}}})
		w.archive.onRecord(url, 2, func() { time.Sleep(5 * time.Second) })
		w.run()
		var exchange storage.Line
		for _, l := range w.ledger.all {
			switch {
			case l.URL != url:
			case l.Outcome == "":
				exchange = l
			case !l.Time.Equal(exchange.Began.Add(exchange.Took)):
				t.Errorf("%v %v after the exchange", l.Outcome, l.Time.Sub(exchange.Began.Add(exchange.Took)))
			default:
				return
			}
		}
		t.Error("no outcome")
	})
}

// The archive has every exchange for robots.txt, the ledger its record and digest, the frontier each body; each verdict
// names the digest of the version that decided.
func TestRule08_EachVersionIsArchivedWithItsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := []string{"User-agent: *\nDisallow: /none1\n", "User-agent: *\nDisallow: /none2\n# café\n", ""}
		answers := []struct {
			status int
			body   string
		}{{503, "closed for an hour"}, {200, files[0]}, {304, ""}, {200, files[1]}, {500, "broken"}, {200, files[2]}}
		w := newTimetable(t, time.Minute, 200, func(n int, rw http.ResponseWriter, r *http.Request) {
			answer := answers[min(n, len(answers))-1]
			body(answer.status, answer.body, "Cache-Control", "max-age=2400", "ETag", fmt.Sprintf(`"%d"`, max(n, 3)))(rw, r)
		})
		w.run()
		var lines []storage.Line
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionRobots {
				lines = append(lines, l)
			}
		}
		if asked := count(w.asked("a.test"), "/robots.txt"); len(lines) != asked || asked < len(answers) {
			t.Fatalf("%d lines for %d exchanges, of at least %d", len(lines), asked, len(answers))
		}
		known := map[string]bool{}
		for i, want := range answers {
			l, r := lines[i], w.archive.records[0]
			for j := range w.archive.records {
				if idOf(j) == l.Record {
					r = w.archive.records[j]
				}
			}
			_, got, _ := strings.Cut(r.response, "\r\n\r\n")
			if l.Status != want.status || got != want.body || r.URL != "http://a.test/robots.txt" || !strings.HasPrefix(string(r.Request), "GET /robots.txt HTTP/1.1\r\n") {
				t.Errorf("exchange %d: line %+v, record of %s: %q", i+1, l, r.URL, r.response)
			}
			digest := ""
			if want.status == 200 {
				digest = digestOf([]byte(want.body))
				known[digest] = true
			}
			assert.Equalf(t, digest, l.RobotsSHA256, "exchange %d: the digest that the line names", i+1)
		}
		for _, file := range files[:2] {
			if b, err := w.front.Blob(t.Context(), sha256.Sum256([]byte(file))); err != nil || string(b) != file {
				t.Errorf("the frontier keeps %q of %q: %v", b, file, err)
			}
		}
		for _, l := range w.ledger.all {
			if l.Outcome == "fetched" && !known[l.RobotsSHA256] {
				t.Errorf("%s was allowed by %q, which no record has", l.URL, l.RobotsSHA256)
			}
		}
	})
}
