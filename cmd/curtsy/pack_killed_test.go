package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// A crawl that was killed, and never resumed, is packed with all that its archive holds, and its package is audited clean:
// its ledger has no head, and so no signature, yet.
func TestAKilledCrawlIsPackedWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("a crawl in another process")
	}
	s := newStrangers(t, 8, 2)
	dir := filepath.Join(t.TempDir(), "crawl")
	p := launched(t, curtsy(t, append([]string{"crawl", "--own-site", "none", "--dir", dir, "--quiet"}, s.seeds...)...))
	p.until(t, "some requests", func() bool { return s.requests() >= 20 })
	if !p.kill() {
		t.Fatal("it ended before the kill came")
	}
	before := exchangesIn(t, dir)
	file := filepath.Join(t.TempDir(), "x.wacz")
	ended(t, curtsy(t, "pack", dir, "-o", file)).want(t, cli.ExitDone, "which a kill left open, is completed")
	if after := exchangesIn(t, file); after < before-8 || after == 0 { // of the last exchange with each host a part may have been written
		t.Errorf("the package has %d exchanges, the directory had %d", after, before)
	}
	ended(t, curtsy(t, "resume", "--max-time", "2s", "--quiet", dir)).want(t, cli.ExitDone)
	ended(t, curtsy(t, "audit", dir)).want(t, cli.ExitDone)
}

// exchangesIn audits what, which must be clean, and returns how many exchanges there are.
func exchangesIn(t *testing.T, what string) int {
	t.Helper()
	r := ended(t, curtsy(t, "audit", "--json", what))
	r.want(t, cli.ExitDone)
	var got struct {
		Totals struct{ Exchanges int }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	return got.Totals.Exchanges
}

// What a kill left open is completed, also where it is the only segment; what is damaged beyond that stays out, and is said.
func TestPackCompletesTheSegmentThatAKillLeftOpen(t *testing.T) {
	dir := crawledBakery(t)
	whole := segmentsOf(t, dir)[0]
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(whole+".open", b[:len(b)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(whole); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "pack", dir, "-o", file).want(t, cli.ExitDone, filepath.Base(whole)+".open, which a kill left open, is completed", "the kill tore its end", "packed ")
	if text := unzipped(t, file)["datapackage.json"]; !strings.Contains(text, filepath.Base(whole)) {
		t.Errorf("it is not in the package: %s", text)
	}
	if _, err := os.Stat(whole); err != nil {
		t.Error(err)
	}
}
