package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

func ledgerLinesIn(t *testing.T, dir string) (out []storage.Line) {
	t.Helper()
	for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		require.NoError(t, err)
		out = append(out, l)
	}
	return out
}

// Rules 1, 2, 4, 5, 6, 7 and 8 in one crawl over sockets, judged by the servers, the archive and the ledger.
func TestRules01To08_OverSockets(t *testing.T) {
	t.Parallel()
	const (
		pace  = 300 * time.Millisecond
		delay = 500 * time.Millisecond
		file  = "User-agent: libbot\nDisallow: /p1\n\nUser-agent: curtsy\nDisallow: /p2\nCrawl-delay: 0.5\n\nUser-agent: *\nDisallow: /\n"
	)
	named, plain, moved, broken := crawltest.Tree("named.test", 6), crawltest.Tree("plain.test", 4), crawltest.Tree("moved.test", 4), crawltest.Tree("broken.test", 4)
	named.Robots.Body, broken.Robots.Status = file, 503
	moved.Robots.Redirect = "http://plain.test/rules.txt"
	plain.Pages["/rules.txt"] = crawltest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /p3.html\n"}
	web := webOf(t, named, plain, moved, broken)
	dir := filepath.Join(t.TempDir(), "d")
	args := []string{
		"crawl", "--agent", "libbot", "--contact", "crawl@library.org", "--operator", "The Library", "--purpose", "a test of rules",
		"--delay", pace.String(), "--max-wait", "5s", "--dir", dir,
	}
	for _, host := range web.Hosts() {
		args = append(args, web.LoopbackURL(host))
	}
	ended(t, curtsy(t, args...)).want(t, cli.ExitIncomplete, "robots.txt: status 503")

	report := judged(t, web, crawltest.Rules{Token: "libbot", Pace: pace})
	for _, rule := range []crawltest.Rule{crawltest.RobotsFirst, crawltest.RobotsObeyed, crawltest.RobotsDown, crawltest.Pace, crawltest.CrawlDelay, crawltest.Identity, crawltest.Coverage, crawltest.Once} {
		if row := report.Row(rule); row.Verdict != crawltest.Kept {
			t.Errorf("%s: %s: %s", rule, row.Verdict, row.Evidence)
		}
	}
	if h := report.Host("named.test"); h.Gap < delay || h.Pages != 3 {
		t.Errorf("named.test: gap %v, %d pages", h.Gap, h.Pages)
	}
	const agent = "libbot/" + crawldir.Version + " (+crawl@library.org) curtsy/" + crawldir.Version
	for _, r := range web.Referee().Requests() {
		if r.UserAgent != agent || !slices.Equal(r.Header.Values("From"), []string{"crawl@library.org"}) {
			t.Errorf("%s%s: User-Agent: %q, From: %q", r.Host, r.Target, r.UserAgent, r.Header.Values("From"))
		}
	}
	archive := archiveText(t, dir)
	for _, want := range []string{"operator: The Library", "description: a test of rules", "User-Agent: " + agent, file, "Disallow: /p3.html"} {
		assert.Contains(t, archive, want, "the archive")
	}
	rules := map[string]int{}
	for _, l := range ledgerLinesIn(t, dir) {
		switch {
		case l.Decision == "robots" && l.Status == 200 && (l.RobotsSHA256 == "" || !strings.Contains(archive, l.Record)):
			t.Errorf("an exchange without its record: %+v", l)
		case l.Decision == "disallow":
			rules[l.RobotsRule]++
		}
	}
	if rules["Disallow: /p1"] != 1 || rules["Disallow: /p2"] != 1 || rules["Disallow: /p3.html"] != 1 {
		t.Errorf("the ledger names %v", rules)
	}
}
