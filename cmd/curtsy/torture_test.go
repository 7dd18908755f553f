package main

import (
	"path/filepath"
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
