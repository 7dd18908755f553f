package main

import (
	"os"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// told returns the lines that say what the operator closed.
func toldLines(t *testing.T, dir string) (all []storage.Line) {
	t.Helper()
	for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Reason == "operator" {
			all = append(all, l)
		}
	}
	return all
}

// What an operator takes out of a stopped crawl is in ledger and archive, and an audit finds that they agree.
func TestWhatIsDroppedIsToldOfAStoppedCrawl(t *testing.T) {
	t.Parallel()
	dir, web := stopped(t)
	seed := web.LoopbackURL("bakery.test")
	pending := seed + "p4.html"
	inside(t, "frontier", "drop", dir, pending).want(t, cli.ExitDone)
	if all := toldLines(t, dir); len(all) != 1 || all[0].URL != pending || all[0].Count != 0 || all[0].Outcome != "dropped" || all[0].Decision != "refuse" {
		t.Fatalf("%+v", all)
	}
	inside(t, "frontier", "drop", dir, pending).want(t, cli.ExitFailed, "nothing was dropped", "ls --urls", "frontier drop --host "+strings.TrimSuffix(seed, "/"))
	if all := toldLines(t, dir); len(all) != 1 {
		t.Errorf("what was dropped already is told again: %+v", all)
	}
	inside(t, "frontier", "drop", "--host", strings.TrimSuffix(seed, "/"), dir).want(t, cli.ExitDone)
	all := toldLines(t, dir)
	if len(all) != 2 || all[1].URL != seed || all[1].Count != 2 {
		t.Errorf("%+v", all)
	}
	inside(t, "frontier", "add", dir, seed+"late.html", seed+"p1.html").want(t, cli.ExitDone)
	if all := toldLines(t, dir); len(all) != 3 || all[2].URL != seed+"late.html" || all[2].Kind != "seed" || all[2].Outcome != "dropped" {
		t.Errorf("a seed of a dropped host: %+v", all)
	}
	clean(t, dir)
	indexHolds(t, dir)
}

// A drop that could not be written down is not done.
func TestNothingIsDroppedWithoutALedger(t *testing.T) {
	t.Parallel()
	dir, web := stopped(t)
	if err := os.RemoveAll(inDir(dir, crawldir.LedgerName)); err != nil {
		t.Fatal(err)
	}
	r := inside(t, "frontier", "drop", dir, web.LoopbackURL("bakery.test")+"p4.html")
	r.want(t, cli.ExitFailed, "put it back")
	if s := inside(t, "status", "--json", dir); strings.Contains(s.out, `"operator"`) {
		t.Errorf("%s", s.out)
	}
}
