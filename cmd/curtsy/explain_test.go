package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// explainedAs asks for an explanation as JSON.
func explainedAs(t *testing.T, args ...string) explanation {
	t.Helper()
	r := inside(t, append([]string{"explain", "--json"}, args...)...)
	r.want(t, cli.ExitDone)
	var e explanation
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	return e
}

// bakery serves a few pages and a robots.txt.
func bakery(t *testing.T, robots func() string) (origin string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			asked.Add(1)
			w.Header().Set("Cache-Control", "max-age=0")
			fmt.Fprint(w, robots())
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/a">a</a> <a href="/b">b</a> <a href="/secret/x">x</a> <a href="/moved">m</a> <a href="/gone">g</a>`+
				`<a href="/abc/abc/abc/abc/abc">trap</a> <a href="http://elsewhere.test/">else</a> <a href="/left">left</a>`)
		case "/moved":
			http.Redirect(w, r, "/a", http.StatusFound)
		case "/gone":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<p>%s</p>", r.URL.Path)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

const sternRobots = "User-agent: *\nDisallow: /secret\nAllow: /secret/open\nCrawl-delay: 0.01\n"

func stern() string { return sternRobots }

func TestExplainSaysWhatDecidesAboutEveryURL(t *testing.T) {
	t.Parallel()
	origin, _ := bakery(t, stern)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--exclude", "/left", "--dir", dir, origin+"/").want(t, cli.ExitDone)
	inside(t, "optout", "add", "--reason", "by mail", dir, strings.TrimPrefix(origin, "http://")+"/private").want(t, cli.ExitDone)
	for _, c := range []struct {
		url, word, text, state string
		decisions              int
	}{
		{origin + "/", explain.AnswerDone, "done: fetched; robots.txt allows it", "fetched", 1},
		{origin + "/a", explain.AnswerDone, "done: fetched", "fetched", 1},
		{origin + "/moved", explain.AnswerDone, "done: redirected", "redirected", 1},
		{origin + "/gone", explain.AnswerDone, "done: gone", "gone", 1},
		{origin + "/secret/x", explain.AnswerDisallowed, "disallowed by line 2 of robots.txt: Disallow: /secret", "disallowed", 1},
		{origin + "/secret/open", explain.AnswerMay, "may be fetched by line 3", "unknown", 0},
		{origin + "/new", explain.AnswerMay, "no page has led to it yet", "unknown", 0},
		{origin + "/abc/abc/abc/abc/abc", explain.AnswerOutOfScope, "out of scope: rule trap:repeat", "dropped", 1},
		{origin + "/left", explain.AnswerOutOfScope, "out of scope: rule scope:exclude", "dropped", 1},
		{origin + "/private/y", explain.AnswerOptedOut, "opted out", "unknown", 0},
		{"http://elsewhere.test/", explain.AnswerOutOfScope, "out of scope: rule scope:host", "unknown", 1},
		{strings.ToUpper(origin[:4]) + origin[4:] + "/%61?#top", explain.AnswerDone, "done: fetched", "fetched", 1},
	} {
		e := explainedAs(t, dir, c.url)
		if e.Answer.Word != c.word || !strings.Contains(e.Answer.Text, c.text) || e.State.State != c.state || e.History.Total != c.decisions {
			t.Errorf("%s: %+v, %s, %d decisions; want %+v", c.url, e.Answer, e.State.State, e.History.Total, c)
		}
		if e.Schema != 1 || e.Crawl != "finished" || len(e.History.Lines) != e.History.Total {
			t.Errorf("%s: %+v", c.url, e)
		}
		text := inside(t, "explain", dir, c.url)
		text.want(t, cli.ExitDone)
		if first, _, _ := strings.Cut(text.out, "\n"); first != e.Answer.Text {
			t.Errorf("%s: the first line is %q, the answer %q", c.url, first, e.Answer.Text)
		}
	}
	e := explainedAs(t, dir, origin+"/secret/open/x")
	p := e.Robots.Policies[0]
	if len(p.Candidates) != 2 || p.Candidates[0].Length != len("/secret/open") || p.Candidates[1].Rule != "Disallow: /secret" ||
		!strings.HasPrefix(p.Why, "the longest match") || e.Robots.SHA256 == "" || e.Robots.Record == "" || e.Robots.Source != explain.PolicyCrawl {
		t.Errorf("%+v", e.Robots)
	}
	if e = explainedAs(t, dir, origin+"/a"); e.State.Via != origin+"/" || e.History.Found == nil || e.State.Kind != "link" || e.State.Depth != 1 {
		t.Errorf("%+v %+v", e.State, e.History)
	}
	if e.Pace.By != "crawl-delay" || e.Pace.Seconds != 0.01 || e.Pace.Last == nil {
		t.Errorf("%+v", e.Pace)
	}
}

func TestExplainOfAnEmptyCrawlAsksTheHostOnlyWithLive(t *testing.T) {
	t.Parallel()
	origin, asked := bakery(t, stern)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--max-time", "1ns", "--dir", dir, origin+"/")
	if n := asked.Load(); n != 0 {
		t.Skipf("the run was quick enough to ask %d times", n)
	}
	e := explainedAs(t, dir, origin+"/secret/x")
	if e.Answer.Word != explain.AnswerUnknown || e.Robots.Source != explain.PolicyNone || asked.Load() != 0 {
		t.Errorf("%+v %+v, asked %d times", e.Answer, e.Robots, asked.Load())
	}
	if e := explainedAs(t, dir, origin+"/"); e.State.State != "queued" || e.State.Kind != "seed" {
		t.Errorf("%+v", e.State)
	}
	before := dirText(t, dir)
	e = explainedAs(t, "--live", dir, origin+"/secret/x")
	if e.Answer.Word != explain.AnswerDisallowed || e.Robots.Source != explain.PolicyLive || e.Pace.By != "floor" || asked.Load() != 1 {
		t.Errorf("%+v %+v %+v, asked %d times", e.Answer, e.Robots, e.Pace, asked.Load())
	}
	if after := dirText(t, dir); after != before {
		t.Errorf("--live left something behind: %s, before %s", after, before)
	}
	if e := explainedAs(t, dir, origin+"/secret/x"); e.Answer.Word != explain.AnswerUnknown {
		t.Errorf("the crawl learned from --live: %+v", e.Answer)
	}
}

// Whoever is to be left alone is not asked live either, and nobody is without a contact.
func TestExplainLiveKeepsToTheRules(t *testing.T) {
	t.Parallel()
	origin, asked := bakery(t, stern)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--max-time", "1ns", "--dir", dir, origin+"/")
	at := asked.Load()
	inside(t, "frontier", "pause", "--host", origin, dir).want(t, cli.ExitDone)
	if e := explainedAs(t, "--live", dir, origin+"/"); !strings.Contains(strings.Join(e.Notes, " "), "not requested: the host is parked by operator") {
		t.Errorf("%q", e.Notes)
	}
	inside(t, "frontier", "unpause", "--host", origin, dir).want(t, cli.ExitDone)
	inside(t, "optout", "add", dir, strings.TrimPrefix(origin, "http://")).want(t, cli.ExitDone)
	if e := explainedAs(t, "--live", dir, origin+"/"); e.Answer.Word != explain.AnswerOptedOut {
		t.Errorf("%+v", e.Answer)
	}
	if asked.Load() != at {
		t.Errorf("asked %d times", asked.Load()-at)
	}
	inside(t, "explain", "--live", dir, "http://stranger.test/").want(t, cli.ExitUsage, "contact")
}

// reopenedByRobots is a crawl of a site whose robots.txt first disallowed /b and then, when the operator had that tried again, no
// more. It returns the two exchanges for robots.txt, and when /b was disallowed and fetched.
func reopenedByRobots(t *testing.T) (origin, dir string, policies [2]storage.Line, decided [2]time.Time) {
	t.Helper()
	var opened atomic.Bool
	origin, _ = bakery(t, func() string {
		if opened.Load() {
			return "# open\nUser-agent: *\nDisallow: /secret\n"
		}
		return "User-agent: *\nDisallow: /b\nDisallow: /secret\n"
	})
	dir = filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, origin+"/").want(t, cli.ExitDone)
	opened.Store(true)
	inside(t, "frontier", "retry", "--disallowed", dir).want(t, cli.ExitDone)
	inside(t, "resume", "--quiet", dir).want(t, cli.ExitDone)
	var n, m int
	for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case l.Decision == "robots":
			policies[n] = l
			n++
		case l.URL == origin+"/b":
			decided[m] = l.Time
			m++
		}
	}
	if n != 2 || m != 2 {
		t.Fatalf("%d exchanges for robots.txt, %d decisions", n, m)
	}
	return origin, dir, policies, decided
}

func TestExplainAtTellsThePolicyThatWasValidThen(t *testing.T) {
	t.Parallel()
	origin, dir, policies, decided := reopenedByRobots(t)
	ask := func(at time.Time) explanation {
		return explainedAs(t, "--at", at.UTC().Format(time.RFC3339Nano), dir, origin+"/b")
	}
	check := func(way string) {
		t.Helper()
		if e := ask(policies[0].Time.Add(-time.Microsecond)); e.Answer.Word != explain.AnswerUnknown || e.History.Total != 0 {
			t.Errorf("%s, before the first: %+v", way, e.Answer)
		}
		e := ask(policies[1].Time.Add(-time.Microsecond))
		if e.Answer.Word != explain.AnswerDisallowed || e.Robots.Verdict.Line != 2 || e.State.State != "disallowed" || e.Robots.Record != policies[0].Record ||
			e.Robots.SHA256 != policies[0].RobotsSHA256 || e.Robots.Source != explain.PolicyArchive || e.History.Total != 1 || e.Answer.Next != nil {
			t.Errorf("%s, before the change: %+v %+v %q", way, e.Answer, e.Robots, e.Notes)
		}
		e = ask(policies[1].Time)
		if !e.Robots.Verdict.Allow || e.Robots.Record != policies[1].Record || e.State.State != "disallowed" {
			t.Errorf("%s, just after the change: %+v %+v", way, e.Answer, e.Robots)
		}
		e = ask(decided[1])
		if e.Answer.Word != explain.AnswerDone || e.State.State != "fetched" || e.History.Total != 2 || len(e.Pace.Responses) == 0 {
			t.Errorf("%s, after it was fetched: %+v %+v", way, e.Answer, e.Robots)
		}
	}
	check("by the index")
	if err := os.RemoveAll(inDir(dir, crawldir.IndexName)); err != nil {
		t.Fatal(err)
	}
	check("without an index")
	if err := os.RemoveAll(inDir(dir, crawldir.ArchiveName)); err != nil {
		t.Fatal(err)
	}
	if e := ask(decided[0]); e.Answer.Word != explain.AnswerUnknown || !strings.Contains(strings.Join(e.Notes, " "), "is not to be had: the archive has no record") {
		t.Errorf("without an archive: %+v %q", e.Answer, e.Notes)
	}
}

func TestExplainOfARunningCrawlIsAnsweredByIt(t *testing.T) {
	t.Parallel()
	dir, web, end := paced(t)
	origin := originOf(web)
	e := explainedAs(t, dir, origin+"/p2999.html")
	if e.Crawl != "running" || e.Answer.Word != explain.AnswerMay || e.State.State == "fetched" || e.Robots.Verdict == nil || !e.Host.Known {
		t.Errorf("%+v %+v %+v", e.Answer, e.State, e.Host)
	}
	eventually(t, "the first page is durable", func() bool {
		return explainedAs(t, dir, origin+"/").State.State == "fetched"
	})
	if e = explainedAs(t, dir, origin+"/p2.html"); e.State.Via != origin+"/" || e.Pace.By != "floor" || e.Pace.Seconds != 0.2 {
		t.Errorf("%+v %+v", e.State, e.Pace)
	}
	if e = explainedAs(t, dir, "http://elsewhere.test/"); e.Answer.Word != explain.AnswerOutOfScope || e.Host.Known {
		t.Errorf("%+v", e.Answer)
	}
	inside(t, "explain", "--live", dir, origin+"/").want(t, cli.ExitUsage, "is running")
	inside(t, "explain", dir, "mailto:x").want(t, cli.ExitUsage)
	end()
	if e = explainedAs(t, dir, origin+"/p2999.html"); e.Crawl != "stopped" {
		t.Errorf("%+v", e.Crawl)
	}
}

func TestExplainRefusesWhatIsNoQuestion(t *testing.T) {
	t.Parallel()
	origin, _ := bakery(t, stern)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, origin+"/").want(t, cli.ExitDone)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{dir}, "takes a crawl directory and one URL"},
		{[]string{t.TempDir(), origin + "/"}, "holds no crawl"},
		{[]string{dir, "not a url"}, ""},
		{[]string{"--at", "yesterday", dir, origin + "/"}, "is no time"},
		{[]string{"--at", "2h", dir, origin + "/"}, "write -2h"},
		{[]string{"--at", "2199-01-01 10:00", dir, origin + "/"}, "lies ahead"},
		{[]string{"--at", "-2h", "--live", dir, origin + "/"}, "give one of them"},
	} {
		inside(t, append([]string{"explain"}, c.args...)...).want(t, cli.ExitUsage, c.says)
	}
}

// What the ledger would say is left out when there is none, or none that can be read, and that is said.
func TestExplainSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	origin, _ := bakery(t, stern)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, origin+"/").want(t, cli.ExitDone)
	segment := filepath.Join(inDir(dir, crawldir.LedgerName), "000000.jsonl")
	b, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	lines[3], lines[4] = "{\n", "nonsense\n"
	if err := os.WriteFile(segment, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	e := explainedAs(t, dir, origin+"/gone")
	if notes := strings.Join(e.Notes, "\n"); !strings.Contains(notes, "the ledger is damaged: ") || !strings.Contains(notes, "2 lines of the ledger cannot be read") || e.History.Total != 1 {
		t.Errorf("%q, %d decisions", e.Notes, e.History.Total)
	}
	if err := os.RemoveAll(inDir(dir, crawldir.LedgerName)); err != nil {
		t.Fatal(err)
	}
	e = explainedAs(t, dir, origin+"/gone")
	if !strings.Contains(strings.Join(e.Notes, "\n"), "there is no ledger") || e.State.State != "gone" || e.Answer.Word != explain.AnswerDone {
		t.Errorf("%q, %+v", e.Notes, e.Answer)
	}
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

// A robots.txt, a reason or a tag may hold what moves a terminal's cursor; none of it gets through.
func TestExplainEscapesWhatComesFromTheWeb(t *testing.T) {
	t.Parallel()
	origin, _ := bakery(t, func() string { return "User-agent: *\nDisallow: /secret\x1b[2J\u202e*\nAllow: /secret\x1b\n" })
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, origin+"/").want(t, cli.ExitDone)
	r := inside(t, "explain", dir, origin+"/\x1b]0;x\x07secret%1b[2Jx")
	if strings.ContainsAny(r.out+r.err, "\x1b\x07\u202e") {
		t.Errorf("%q", r.out)
	}
}

// dirText is what a directory holds: names and sizes.
func dirText(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			fmt.Fprintf(&b, "%s %d %v\n", path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
