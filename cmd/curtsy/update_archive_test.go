package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// A frontier that was made anew in the midst of an update takes the endings of this generation, not of those before.
func TestARebuiltUpdateGoesOn(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 9))
	inside(t, "update", "--quiet", "--max-pages", "2", dir).want(t, cli.ExitDone)
	b := fileOf(t, inDir(dir, crawldir.FrontierName))
	kept := 0
	page := os.Getpagesize()
	for at := 2 * page; at < len(b) && kept < 2; at += page {
		copied := filepath.Join(t.TempDir(), "d")
		must(t, os.CopyFS(copied, os.DirFS(dir)))
		spoilt := slices.Concat(b[:at], bytes.Repeat([]byte{0xa5}, page), b[at+page:])
		must(t, os.WriteFile(inDir(copied, crawldir.FrontierName), spoilt, 0o600))
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
