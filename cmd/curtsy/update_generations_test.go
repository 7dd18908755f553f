package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage"
	reports "curtsy/storage/report"
)

// A site that fails, or forbids what it allowed, has no page that is gone, and what an update did not come to for that is
// what the next one is compared with.
func TestRule21_AFailingSiteLosesNothing(t *testing.T) {
	t.Parallel()
	web := crawltest.New(&crawltest.Site{Name: "news.test", Pages: map[string]crawltest.Page{
		"/":  {Links: []string{"/a", "/b", "/c"}},
		"/a": {}, "/b": {}, "/c": {},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "news [1]") // no pattern of file names
	inside(t, "crawl", "--quiet", "--delay", "0", "--max-wait", "1s", "--dir", dir, web.LoopbackURL("news.test")).want(t, cli.ExitDone)
	if err := os.WriteFile(inDir(dir, crawldir.NextName), []byte("half of it"), 0o600); err != nil { // by a kill
		t.Fatal(err)
	}
	web.Change("news.test", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		s.Pages["/a"] = crawltest.Page{Status: 500}
	})
	inside(t, "update", "--quiet", dir).want(t, cli.ExitIncomplete)
	if _, err := os.Stat(inDir(dir, crawldir.NextName)); err == nil {
		t.Error("what the kill left is still there")
	}
	counts, of := changesOf(t, dir)
	if _, known := counts[crawldir.Unlinked]; counts[string(storage.ChangeGone)] != 0 || known || of["/a"].Change != "" {
		t.Errorf("%v %v", counts, of)
	}
	inside(t, "update", "--quiet", dir).want(t, cli.ExitIncomplete) // its host still rests
	g, err := generationIn(t.Context(), inDir(dir, crawldir.FrontierName))
	if err != nil || g.Number != 3 || g.Before != 0 || g.Lines == 0 {
		t.Errorf("%v: the next is compared with what came after line %d: %+v", err, g.Before, g)
	}
	e := inside(t, "explain", dir, web.LoopbackURL("news.test")+"a")
	e.want(t, cli.ExitDone)
	if !e.says("generation 3 has not met it so far") || !e.says("unknown, in generation 3 of the crawl") {
		t.Errorf("%s", e.out)
	}
}

// Robots.txt or an opt-out list that forbids a page makes it neither gone nor unlinked.
func TestRule21_WhatIsForbiddenNowIsNotKnownNow(t *testing.T) {
	t.Parallel()
	dir, web := crawledOnce(t, crawltest.Tree("bakery.test", 3))
	seed := web.LoopbackURL("bakery.test")
	// In one configuration folder: with another key it would be another identity.
	shared(t, "update", "--quiet", dir).want(t, cli.ExitDone)
	_, of := changesOf(t, dir)
	forbidden := ""
	for path := range of {
		if path != "/" {
			forbidden = max(forbidden, path)
		}
	}
	shared(t, "optout", "add", dir, "127.0.0.1"+forbidden).want(t, cli.ExitDone)
	shared(t, "update", dir).want(t, cli.ExitDone, "gone (404, 410)    0\n", "not known now      1\n", "no longer linked   0\n")
	if _, of = changesOf(t, dir); of[forbidden].Change != crawldir.Unknown || of[forbidden].Before == nil {
		t.Errorf("%s: %+v", forbidden, of[forbidden])
	}
	shared(t, "report", "--no-audit", dir).want(t, cli.ExitDone, "of 3 generations together")
	b, err := os.ReadFile(inDir(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r reports.Report
	if err := json.Unmarshal(b, &r); err != nil || r.Crawl.Generations != 3 || len(r.Crawl.By) != 2 { // before the list changed, and after
		t.Errorf("%v: %d generations, %d identities", err, r.Crawl.Generations, len(r.Crawl.By))
	}
	e := inside(t, "explain", "--at", "2026-01-01", dir, seed)
	e.want(t, cli.ExitDone)
	if !e.says("the crawl had not started") {
		t.Errorf("%s", e.out)
	}
	e = inside(t, "explain", dir, strings.TrimSuffix(seed, "/")+"/nobody-links-to-it")
	e.want(t, cli.ExitDone)
	if !e.says("no page has led to it yet") {
		t.Errorf("%s", e.out)
	}
}
