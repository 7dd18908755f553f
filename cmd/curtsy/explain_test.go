package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

func explainedAs(t *testing.T, args ...string) explanation {
	t.Helper()
	r := inside(t, append([]string{"explain", "--json"}, args...)...)
	r.want(t, cli.ExitDone)
	var e explanation
	require.NoErrorf(t, json.Unmarshal([]byte(r.out), &e), "in %s", r.out)
	return e
}

func TestAtIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	want := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-11-21T10:00:00Z", "2026-11-21 10:00", "2026-11-21T11:00:00+01:00", "2026-11-21 10:00:00", "-23h"} {
		if got, err := parseAt(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// jsonNames collects the JSON names of a type's fields, nested types included.
func jsonNames(of reflect.Type, names map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		jsonNames(of.Elem(), names)
		return
	case reflect.Struct:
	default:
		return
	}
	if of == reflect.TypeFor[time.Time]() {
		return
	}
	for f := range of.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
		if f.IsExported() {
			jsonNames(f.Type, names)
		}
	}
}

func TestExplainDocHasTheFieldsAndTheWords(t *testing.T) {
	t.Parallel()
	page := string(fileOf(t, filepath.Join("..", "..", "docs", "guides", "report.md")))
	written := map[string]bool{}
	for _, m := range codeInText.FindAllStringSubmatch(page, -1) {
		written[m[1]] = true
	}
	names := map[string]bool{}
	jsonNames(reflect.TypeFor[explanation](), names)
	for _, word := range explain.Answers() {
		names[word] = true
	}
	require.GreaterOrEqualf(t, len(names), 80, "only %d names", len(names))
	for name := range names {
		assert.Truef(t, written[name], "docs/guides/report.md has no `%s`", name)
	}
}

// robotsServers are servers with every kind of robots.txt response.
func robotsServers(t *testing.T) map[string]string {
	t.Helper()
	urls := map[string]string{}
	rules := "User-agent: *\nDisallow: /secret\n"
	serve := func(name string, answer http.HandlerFunc) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "robots") {
				answer(w, r)
				return
			}
			fmt.Fprint(w, "hello")
		}))
		t.Cleanup(srv.Close)
		urls[name] = srv.URL
	}
	serve("plain", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, rules) })
	serve("none", http.NotFound)
	serve("broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	serve("busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	serve("empty", func(http.ResponseWriter, *http.Request) {})
	serve("coded", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprint(w, gzipped(rules))
	})
	serve("wrongly coded", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "sdch")
		fmt.Fprint(w, rules)
	})
	serve("large", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, rules+strings.Repeat("Disallow: /x\n", robots.MaxBody/10))
	})
	serve("cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		fmt.Fprint(w, rules)
	})
	serve("moved", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "/my-robots", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprint(w, rules)
	})
	elsewhere := urls["plain"]
	serve("moved elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/robots.txt", http.StatusFound)
	})
	serve("endless", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
	return urls
}

// The archive gives the same robots.txt policy as the memory of the crawl.
func TestExplain_AtNowMatchesFrontier(t *testing.T) {
	t.Parallel()
	urls := robotsServers(t)
	for _, standard := range []string{"rfc9309", "draft1996"} {
		args := []string{"crawl", "--quiet", "--delay", "0", "--max-wait", "1s", "--robots-standard", standard, "--dir", filepath.Join(t.TempDir(), "d")}
		dir := args[len(args)-1]
		if standard != "rfc9309" { // the draft differs for these only
			urls = map[string]string{"none": urls["none"], "broken": urls["broken"], "moved": urls["moved"], "plain": urls["plain"], "large": urls["large"]}
		}
		for _, u := range urls {
			args = append(args, u+"/secret/x")
		}
		inside(t, args...)
		sources := map[string]bool{}
		for name, u := range urls {
			kept, then := explainedAs(t, dir, u+"/secret/x"), explainedAs(t, "--at", "0s", dir, u+"/secret/x")
			if kept.Robots.Source != explain.PolicyCrawl || then.Robots.Source != explain.PolicyArchive || len(then.History.Robots) == 0 {
				t.Errorf("%s, %s: %+v, from the archive %+v, %q", standard, name, kept.Robots, then.Robots, then.Notes)
			}
			kept.Robots.Source = then.Robots.Source
			if name == "moved elsewhere" { // the lifetime of a policy fetched for another host starts when this host first uses it
				then.Robots.Fetched, then.Robots.Expires = kept.Robots.Fetched, kept.Robots.Expires
			}
			onOneClock(&kept.Robots, &then.Robots)
			assert.Equalf(t, then.Robots, kept.Robots, "%s, %s: the crawl has\n%+v\nthe archive\n%+v\n%q", standard, name, kept.Robots, then.Robots, then.Notes)
			if v := kept.Robots.Verdict; v != nil {
				sources[v.Reason] = true
			}
		}
		assert.GreaterOrEqualf(t, len(sources), min(4, len(urls)/2), "only %v came about", sources)
	}
}

// onOneClock equates instants of one event: the crawl remembers the wall clock, the archive has a steady one, and while the wall
// clock is slewed they drift apart.
func onOneClock(kept, then *explain.Robots) {
	for _, at := range []struct{ kept, then **time.Time }{
		{&kept.Fetched, &then.Fetched}, {&kept.Expires, &then.Expires}, {&kept.Retry, &then.Retry},
	} {
		if k, t := *at.kept, *at.then; k != nil && t != nil && k.Sub(*t).Abs() < time.Second {
			*at.then = k
		}
	}
}

// noon is the start of each crawl.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	historyPage = "http://a.test/private/x"
	robotsTxt   = "http://a.test/robots.txt"
)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// crawl writes a ledger and returns its directory.
func crawl(t *testing.T, dir string, lines ...storage.Line) string {
	t.Helper()
	w, err := ledger.Open(ledger.Options{Dir: filepath.Join(dir, crawldir.LedgerName)})
	require.NoError(t, err)
	for _, l := range lines {
		require.NoError(t, w.Append(t.Context(), l))
	}
	require.NoError(t, w.Close())
	return dir
}

// explainArchived archives exchanges for robots.txt, one a minute, and returns their lines. "" is status 404.
func explainArchived(t *testing.T, dir string, texts ...string) (lines []storage.Line) {
	t.Helper()
	w, err := warc.Open(warc.Options{Dir: filepath.Join(dir, crawldir.ArchiveName), Name: "crawl"})
	require.NoError(t, err)
	for i, text := range texts {
		l := storage.Line{Time: at(i + 1), URL: robotsTxt, Decision: storage.DecisionRobots, Attempt: 1, Began: at(i + 1), Status: 200}
		wire := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		if text == "" {
			l.Status, l.Reason = 404, "status 404"
			wire = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		}
		kept, err := w.Record(t.Context(), storage.Record{URL: robotsTxt, Time: l.Began,
			Addr: netip.MustParseAddrPort("192.0.2.7:80"), Request: []byte("GET /robots.txt HTTP/1.1\r\nHost: a.test\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(wire), 0, int64(len(wire)))})
		require.NoError(t, err)
		l.Record = kept.ID
		lines = append(lines, l)
	}
	require.NoError(t, w.Close())
	return lines
}

func explainOf(t *testing.T, dir string, x explainSubject) *view {
	t.Helper()
	u, err := canon.Parse(historyPage)
	require.NoError(t, err)
	x.Dir, x.URL = dir, u
	l := of(x)
	require.NoError(t, l.Read(t.Context()))
	l.Pack()
	return l
}

func past(t *testing.T, dir string, until time.Time) (l *view, e explain.Explanation) {
	t.Helper()
	l = explainOf(t, dir, explainSubject{At: until})
	l.Past(&e)
	return l, e
}

func decided(minutes int, url string, kind storage.Kind, outcome storage.Outcome) storage.Line {
	return storage.Line{Time: at(minutes), URL: url, Kind: kind, Decision: storage.DecisionAllow, Outcome: outcome}
}

func TestHistory_EndsAtInstant(t *testing.T) {
	t.Parallel()
	dir := crawl(t, t.TempDir(),
		decided(0, "http://a.test/", storage.KindSeed, storage.OutcomeFetched),
		decided(1, historyPage, storage.KindLink, storage.OutcomeDeferred),
		decided(2, "http://a.test/x/../private/x", "", storage.OutcomeFetched), // another spelling of it
		decided(2, historyPage+"y", "", storage.OutcomeGone),
		decided(2, "http://b.test/private/x", "", ""),
		decided(3, historyPage, "", storage.OutcomeGone),
	)
	for _, c := range []struct {
		until time.Time
		total int
		last  storage.Outcome
	}{
		{at(0), 0, ""},
		{at(1), 1, storage.OutcomeDeferred},
		{at(2).Add(-1), 1, storage.OutcomeDeferred},
		{at(2), 2, storage.OutcomeFetched},
		{at(3), 3, storage.OutcomeGone},
		{time.Time{}, 3, storage.OutcomeGone},
	} {
		l := explainOf(t, dir, explainSubject{At: c.until, Via: "http://a.test/"})
		if l.Total != c.total || len(l.Lines) != c.total || l.Last.Outcome != c.last {
			t.Errorf("until %v: %d decisions, %d lines, last %q", c.until, l.Total, len(l.Lines), l.Last.Outcome)
		}
		if l.Began == nil || !l.Began.Equal(at(0)) || l.Found == nil || !l.Found.Equal(at(0)) {
			t.Errorf("until %v: began %v, found %v", c.until, l.Began, l.Found)
		}
		if c.total > 0 && (!l.First.Equal(at(1)) || l.How.Kind != storage.KindLink) {
			t.Errorf("until %v: first %v, found as %q", c.until, l.First, l.How.Kind)
		}
	}
	l := explainOf(t, dir, explainSubject{At: at(0).Add(-1)})
	if l.Began != nil || len(l.Notes) != 1 || !strings.Contains(l.Notes[0], "2026-03-01T12:00:00.000Z") {
		t.Errorf("before the crawl: began %v, %q", l.Began, l.Notes)
	}
}

func TestTheLastLinesAreKept(t *testing.T) {
	t.Parallel()
	var lines []storage.Line
	for i := range maxHistory + 5 {
		lines = append(lines, storage.Line{Time: at(i), URL: historyPage, Decision: storage.DecisionAllow,
			Outcome: storage.OutcomeDeferred, Attempt: i + 1, FirstByte: time.Duration(i) * time.Millisecond, Began: at(i), Took: time.Second},
			storage.Line{Time: at(i), URL: robotsTxt, Decision: storage.DecisionRobots, Reason: "timeout"})
	}
	l := explainOf(t, crawl(t, t.TempDir(), lines...), explainSubject{})
	if l.Total != maxHistory+5 || len(l.Decisions()) != maxHistory || l.Decisions()[maxHistory-1].Attempt != l.Total {
		t.Errorf("%d decisions, %d kept", l.Total, len(l.Decisions()))
	}
	if n := len(l.Asked()); n != maxRobots || !l.Asked()[n-1].Time.Equal(at(maxHistory+4)) {
		t.Errorf("%d exchanges for robots.txt", n)
	}
	if n := len(l.responses); n != 5 || l.responses[0] != maxHistory*time.Millisecond {
		t.Errorf("of the last answers: %v", l.responses)
	}
	assert.Truef(t, l.ended.Equal(at(maxHistory+4).Add(time.Second)), "the last exchange ended at %v", l.ended)
}

func TestWhichExchangesAreForTheRobotsTxtOfAHost(t *testing.T) {
	t.Parallel()
	const other = "http://b.test/robots.txt"
	for _, c := range []struct {
		url, via string
		decision storage.Decision
		want     bool
	}{
		{robotsTxt, "", storage.DecisionRobots, true},
		{other, robotsTxt, storage.DecisionRobots, true},
		{other, "", storage.DecisionRobots, false},
		{robotsTxt, other, storage.DecisionRobots, false}, // it answers for the other host
		{robotsTxt, "", storage.DecisionAllow, false},     // a link to it
	} {
		assert.Equal(t, c.want, isRobotsOf(storage.Line{URL: c.url, Via: c.via, Decision: c.decision}, robotsTxt), c)
	}
}

func TestExplain_PastUsesValidRobots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := explainArchived(t, dir, "User-agent: *\nDisallow: /private\n", "User-agent: *\nDisallow: /x\n", "")
	crawl(t, dir, lines...)
	for _, c := range []struct {
		until  time.Time
		known  bool
		allow  bool
		record string
	}{
		{at(1).Add(-1), false, false, ""},
		{at(1), true, false, lines[0].Record},
		{at(2).Add(-1), true, false, lines[0].Record},
		{at(2), true, true, lines[1].Record},
		{at(3), true, true, lines[2].Record},
	} {
		_, e := past(t, dir, c.until)
		v := e.Robots.Verdict
		if (v != nil) != c.known || v != nil && v.Allow != c.allow || e.Robots.Record != c.record {
			t.Errorf("at %v: %+v by record %q, want %q", c.until, v, e.Robots.Record, c.record)
		}
		if v != nil && !v.Allow && (v.Line != 2 || v.Rule != "Disallow: /private") {
			t.Errorf("at %v: by line %d, %q", c.until, v.Line, v.Rule)
		}
	}
}

func TestExplain_NamesMissingRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := explainArchived(t, dir, "User-agent: *\nDisallow: /private\n", "")
	lines[1].Record = "urn:uuid:00000000-0000-4000-8000-000000000000"
	lines = append(lines, slices.Repeat(lines[1:], maxReplayNotes)...)
	l, e := past(t, crawl(t, dir, lines...), at(9))
	if v := e.Robots.Verdict; v == nil || v.Allow || e.Robots.Record != lines[0].Record || len(l.Notes) != maxReplayNotes || !strings.Contains(l.Notes[0], lines[1].Record) {
		t.Errorf("%+v by record %q, %q", v, e.Robots.Record, l.Notes)
	}
}

// A forged line of the index or ledger opens no file outside of the archive.
func TestExplain_ReadsInsideArchiveOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := explainArchived(t, dir, "")
	files, err := crawldir.Entries(filepath.Join(dir, crawldir.ArchiveName), "", ".warc.gz")
	require.NoError(t, err)
	require.Lenf(t, files, 1, "%q, error %v", files, err)
	name := filepath.Base(files[0])
	offset, err := offsetOf(files[0], lines[0].Record)
	require.NoError(t, err)
	a := &replay{dir: dir}
	rec, closer, err := a.at(name, offset, lines[0].Record)
	require.NoError(t, err)
	require.Equal(t, lines[0].Record, rec.ID())
	closer.Close() // only read
	for _, name := range []string{"../" + crawldir.ArchiveName + "/" + name, "x/" + name, files[0]} {
		if _, _, err := a.at(name, offset, lines[0].Record); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	if _, _, err := a.at(name, offset, lines[0].Record+"0"); err == nil {
		t.Error("another record was taken")
	}
	require.NoError(t, os.Rename(files[0], files[0]+".open"))
	_, closer, err = a.at(name, offset, lines[0].Record)
	require.NoError(t, err, "in the file that is still written")
	closer.Close() // only read
}
