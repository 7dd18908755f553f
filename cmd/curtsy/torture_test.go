package main

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
)

// ordeal serves the torture site.
func ordeal(t *testing.T) *scoreboard.Web {
	t.Helper()
	o := scoreboard.NewTorture()
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// absentOf says of a URL whether it is one that no mirror of an ordeal holds.
func absentOf(o *scoreboard.Web) func(string) bool {
	set := map[string]bool{}
	for _, a := range o.Absent {
		set[o.Local(a.URL)] = true
	}
	return func(u string) bool { return set[u] }
}

// origin is the torture site itself, as a shelf: what a browser finds there is what it should find in a mirror.
type origin struct {
	t    *testing.T
	o    *scoreboard.Web
	seen map[string]string
}

func (s origin) files() bool { return false }

func (s origin) pages() []string {
	var urls []string
	for _, u := range s.o.Pages() {
		if u = s.o.Local(u); !strings.Contains(u, "attached.html") { // a browser offers to keep it
			urls = append(urls, u)
		}
	}
	return urls
}

var pageID = regexp.MustCompile(`data-page="?(\w+)`)

// holds asks the site, and knows a page by its id.
func (s origin) holds(u *url.URL) (string, have) {
	inWeb := slices.ContainsFunc(s.o.Hosts(), func(h string) bool { return s.o.LoopbackURL(h) == "http://"+u.Host+"/" })
	if !inWeb || u.Scheme != "http" {
		return "", outside
	}
	at := u.String()
	if name, ok := s.seen[at]; ok {
		return name, held
	}
	resp, err := http.Get(at)
	if err != nil {
		return at, lacking
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil || resp.StatusCode != http.StatusOK {
		return at, lacking
	}
	name := at
	if m := pageID.FindStringSubmatch(strings.ReplaceAll(string(body), "\x00", "")); m != nil {
		name = m[1]
	}
	s.seen[at] = name
	return name, held
}

// The checker finds nothing broken in the torture site itself, but for what is absent there: what it finds in a mirror is
// then the mirror's doing.
func TestTortureSiteItselfIsWhole(t *testing.T) {
	amongOthers(t)
	if !full() {
		t.Skip("many pages in a browser; where TestMirrorsOfTheTortureSite finds nothing, this has nothing to explain")
	}
	o := ordeal(t)
	absent := absentOf(o)
	b := browse(t, sample{origin{t, o, map[string]string{}}, 5}, absent)
	t.Logf("%v", b)
	for _, what := range b.broken() {
		if slices.ContainsFunc(o.Absent, func(a scoreboard.Absent) bool { return strings.Contains(what, o.Local(a.URL)) }) {
			continue
		}
		t.Errorf("%s", what)
	}
	if least := map[bool]int{true: 150, false: 30}[full()]; b.Pages < least {
		t.Errorf("%d pages", b.Pages)
	}
}

// A crawl of the torture site keeps the rules: each URL once, none that is forbidden or that no page leads to. Left out
// are the links whose query depends on the charset of the page.
func TestCrawlOfTheTortureSiteKeepsTheRules(t *testing.T) {
	t.Parallel()
	o := ordeal(t)
	inside(t, "crawl", "--delay", "0", "--quiet", "--dir", filepath.Join(t.TempDir(), "d"), o.Seed()).want(t, cli.ExitDone)
	report := o.Judge("")
	for _, rule := range []crawltest.Rule{crawltest.RobotsFirst, crawltest.RobotsObeyed, crawltest.Once, crawltest.Scope, crawltest.Manners} {
		row := report.Row(rule)
		if row.Verdict == crawltest.Unshown {
			t.Errorf("%s: %s", rule, row.Verdict)
		}
		for _, f := range row.Findings {
			if !strings.HasPrefix(f.Target, "/charset/q?") {
				t.Errorf("%s: %s", rule, f)
			}
		}
	}
	for _, f := range report.Row(crawltest.Coverage).Findings {
		t.Logf("not covered: %s", f)
	}
	if report.Requests < 300 {
		t.Errorf("%d requests", report.Requests)
	}
}
