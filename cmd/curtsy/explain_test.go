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
	if e := ask(decided[0]); e.Answer.Word != explain.AnswerUnknown || !strings.Contains(strings.Join(e.Notes, " "), "is unavailable: the archive has no record") {
		t.Errorf("without an archive: %+v %q", e.Answer, e.Notes)
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
