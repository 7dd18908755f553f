package main

import (
	"maps"
	"path/filepath"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// The other commands understand a crawl that was updated: audit finds nothing, explain and report can be made.
func TestAnUpdatedCrawlIsUnderstood(t *testing.T) {
	t.Parallel()
	web := crawltest.New(newsSite())
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	seed := web.LoopbackURL("news.test")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	web.Change("news.test", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		delete(s.Pages, "/goes")
	})
	inside(t, "update", "--quiet", dir).want(t, cli.ExitDone)
	if r := inside(t, "audit", dir); r.code != cli.ExitDone {
		t.Errorf("audit: exit %d\n%s%s", r.code, r.out, r.err)
	}
	for _, args := range [][]string{{"explain", dir, seed}, {"explain", dir, seed + "fresh.css"}, {"report", dir}, {"export", "--format", "wacz", dir, "-o", filepath.Join(t.TempDir(), "x.wacz")}} {
		if r := inside(t, args...); r.code != cli.ExitDone {
			t.Errorf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}
