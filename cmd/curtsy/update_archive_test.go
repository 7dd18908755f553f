package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/spool"
)

// The links of a page that was not modified are read from the archive, however large it is and however it was coded.
func TestRule21_LinksComeFromTheArchivedBody(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("many words that say little, ", spool.Memory/20)
	dir, web := crawledOnce(t, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/":      {Text: large, Links: []string{"/coded"}},
		"/coded": {Text: large, Gzip: true, Links: []string{"/last"}},
		"/last":  {},
	}})
	for range 2 {
		updated(t, dir, web)
		counts, of := changesOf(t, dir)
		if counts["unchanged"] != 3 || of["/last"].Change != "unchanged" {
			t.Errorf("%v", of)
		}
		if left, err := filepath.Glob(filepath.Join(dir, crawldir.SpoolName, "*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
	archiveClean(t, dir)
	judged(t, web, crawltest.Rules{Repeats: repeats})
}

// A frontier that was made anew in the midst of an update takes the endings of this generation, not of those before.
func TestARebuiltUpdateGoesOn(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 9))
	inside(t, "update", "--quiet", "--max-pages", "2", dir).want(t, cli.ExitDone)
	b, err := os.ReadFile(inDir(dir, crawldir.FrontierName))
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	page := os.Getpagesize()
	for at := 2 * page; at < len(b) && kept < 2; at += page {
		copied := filepath.Join(t.TempDir(), "d")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		spoilt := slices.Concat(b[:at], bytes.Repeat([]byte{0xa5}, page), b[at+page:])
		if err := os.WriteFile(inDir(copied, crawldir.FrontierName), spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		inside(t, "frontier", "repair", copied).want(t, cli.ExitDone)
		inside(t, "resume", "--quiet", "--max-pages", "0", copied)
		if r := inside(t, "status", "--json", copied); !strings.Contains(r.out, `"generation": 2`) {
			continue // which generation it was is lost with the totals: it goes on as a crawl
		}
		kept++
		if counts, _ := changesOf(t, copied); counts["unchanged"] != 9 || counts[crawldir.Unlinked] != 0 {
			t.Errorf("without page %d: %v", at/page, counts)
		}
	}
	if kept == 0 {
		t.Error("no page was lost that matters")
	}
}

// Several exchanges at once with a host of one's own are conditional, too.
func TestRule21_WideTurnsAskOnCondition(t *testing.T) {
	t.Parallel()
	dir, web := crawledOnce(t, crawltest.Tree("bakery.test", 60), "--per-host", "4")
	updated(t, dir, web)
	if counts, _ := changesOf(t, dir); counts["unchanged"] != 60 {
		t.Errorf("%v", counts)
	}
	judged(t, web, crawltest.Rules{Repeats: repeats, Width: 4})
}

// The body of a page that asks not to be archived is not there to be compared; its digest is, and tells whether it changed.
func TestRule21_WhatMayNotBeKeptIsComparedByItsDigest(t *testing.T) {
	t.Parallel()
	page := func(text string) crawltest.Page {
		return crawltest.Page{Text: text, Header: map[string]string{"ETag": "", "X-Robots-Tag": "noarchive"}}
	}
	dir, web := crawledOnce(t, &crawltest.Site{Name: "shy.test", Pages: map[string]crawltest.Page{
		"/": {Links: []string{"/same", "/other"}}, "/same": page("the first"), "/other": page("the first"),
	}})
	web.Change("shy.test", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		s.Pages["/other"] = page("the second")
	})
	inside(t, "update", "--quiet", dir).want(t, cli.ExitDone)
	_, of := changesOf(t, dir)
	if of["/same"].Change != "unchanged" || of["/other"].Change != "changed" {
		t.Errorf("the same: %+v, another: %+v", of["/same"], of["/other"])
	}
	archiveClean(t, dir)
	inside(t, "audit", dir).want(t, cli.ExitDone)
}
