package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/scope"
)

// almanac is a crawl that ended because all that was left of a calendar is held: two URLs, next month and the one before.
func almanac(t *testing.T) (dir string, web *crawltest.Web) {
	t.Helper()
	web = crawltest.New(crawltest.Calendar("calendar.test", false, 60))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = filepath.Join(t.TempDir(), "d")
	r := inside(t, "crawl", "--delay", "0", "--trap", "queries=30", "--trap", "trap:copy=off", "--dir", dir, web.LoopbackURL("calendar.test"))
	r.want(t, cli.ExitDone, "hardly anything new", "trap:queries", "curtsy frontier release")
	judged(t, web, crawltest.Rules{})
	return dir, web
}

// Politeness rule 22: what is held is set free by an operator's command, and not held again; what it leads to is.
func TestRule22_WhatIsHeldIsReleased(t *testing.T) {
	t.Parallel()
	dir, web := almanac(t)
	if r := inside(t, "status", dir); !strings.Contains(r.out, "trap:queries") || !strings.Contains(r.out, "held") {
		t.Errorf("status:\n%s", r.out)
	}
	before := len(web.Referee().Requests())
	if before > 50 {
		t.Errorf("%d requests until the calendar was left", before)
	}
	for _, step := range []struct {
		args []string
		out  string
	}{
		{[]string{"--trap", "template"}, "0 URLs released\n"},
		{[]string{"--json", "--trap", "trap:template"}, "{\n  \"released\": 0\n}\n"},
		{[]string{"--trap", "queries", "--host", strings.TrimSuffix(web.LoopbackURL("calendar.test"), "/")}, "2 URLs released\n"},
		{nil, "0 URLs released\n"},
	} {
		r := inside(t, append(append([]string{"frontier", "release"}, step.args...), dir)...)
		r.want(t, cli.ExitDone)
		if r.out != step.out {
			t.Errorf("%q: %q", step.args, r.out)
		}
	}
	inside(t, "resume", "--quiet", dir).want(t, cli.ExitDone)
	if n := len(web.Referee().Requests()) - before; n != 2 {
		t.Errorf("%d requests after 2 URLs were released", n)
	}
	r := inside(t, "frontier", "release", dir)
	if r.want(t, cli.ExitDone, "curtsy resume"); r.out != "2 URLs released\n" { // what those two led to
		t.Errorf("%q", r.out)
	}
	r = inside(t, "resume", "--trap", "queries=off", "--max-pages", "60", dir)
	r.want(t, cli.ExitDone, "--max-pages is reached") // no end any more
	reopened(t, dir)
}

func TestReleaseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	inside(t, "frontier", "release", "--trap", "cycle", dir).want(t, cli.ExitUsage, "queries, template and max-per-tag do")
	inside(t, "frontier", "release", "--host", "other.test", dir).want(t, cli.ExitUsage, "--host other.test")
	inside(t, "frontier", "release", t.TempDir()).want(t, cli.ExitUsage, "holds no crawl")
	inside(t, "frontier", "release").want(t, cli.ExitUsage, "takes one crawl directory")
}

func TestTrapFlagNamesEveryRule(t *testing.T) {
	t.Parallel()
	inside(t, "crawl", "--trap", "tar-pit=3", "http://127.0.0.1:9/").want(t, cli.ExitUsage, "copy, cycle, depth, percent, queries, repeat, segments, template")
	inside(t, "crawl", "--trap", "queries=3000000", "http://127.0.0.1:9/").want(t, cli.ExitUsage, "more than can be counted")
}

// What stops a crawl is documented, by its name and its number.
func TestEveryTrapIsDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "research-crawl.md"))
	if err != nil {
		t.Fatal(err)
	}
	defaults := scope.TrapDefaults()
	for name, n := range map[string]int{"queries": 1000, "template": 10_000, "copy": 1} {
		defaults[name] = n
	}
	for _, name := range crawldir.TrapNames() {
		if rule := "| `" + name + "=" + itoa(defaults[name]) + "` |"; !strings.Contains(string(b), rule) {
			t.Errorf("docs/guides/research-crawl.md has no row that begins %s", rule)
		}
	}
}

// Through its control interface a crawl that runs obeys as well.
func TestReleaseOfARunningCrawl(t *testing.T) {
	t.Parallel()
	dir, _, end := paced(t)
	r := inside(t, "frontier", "release", dir)
	r.want(t, cli.ExitDone)
	if r.out != "0 URLs released\n" {
		t.Errorf("%q", r.out)
	}
	end()
}
