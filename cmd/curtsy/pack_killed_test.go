package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// A crawl that was killed, and never resumed, is packed with all that its archive holds, and its package is audited clean.
// From then on its ledger has each of its files, before a run and behind it.
func TestAKilledCrawlIsPackedWhole(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("a crawl in another process")
	}
	s := newStrangers(t, 8, 2)
	dir := filepath.Join(t.TempDir(), "crawl")
	user := oneUser(t)
	p := launched(t, user(append([]string{"crawl", "--own-site", "none", "--dir", dir, "--quiet"}, s.seeds...)...))
	p.until(t, "some requests", func() bool { return s.requests() >= 20 })
	if !p.kill() {
		t.Fatal("it ended before the kill came")
	}
	before := exchangesIn(t, dir)
	file := filepath.Join(t.TempDir(), "x.wacz")
	ended(t, user("export", "--format", "wacz", dir, "-o", file)).want(t, cli.ExitDone, "which a kill left open, is completed, and the ledger has a mark of it")
	if after := exchangesIn(t, file); after < before-8 || after == 0 { // of the last exchange with each host a part may have been written
		t.Errorf("the package has %d exchanges, the directory had %d", after, before)
	}
	eachOctetCounts(t, dir)
	ended(t, user("resume", "--max-time", "2s", "--quiet", dir)).want(t, cli.ExitDone)
	ended(t, curtsy(t, "audit", dir)).want(t, cli.ExitDone)
	eachOctetCounts(t, dir)
}

// oneUser makes command lines of one user, who has one configuration folder and so one key.
func oneUser(t *testing.T) func(args ...string) *exec.Cmd {
	config := t.TempDir()
	return func(args ...string) *exec.Cmd {
		cmd := curtsy(t, args...)
		for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
			cmd.Env = append(cmd.Env, name+"="+config)
		}
		return cmd
	}
}

// eachOctetCounts changes an octet of each file of archive and index, which the audit finds.
func eachOctetCounts(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "[wi][an][rd]*", "curtsy-*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q %v", files, err)
	}
	for _, file := range files {
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(was)
		changed[len(changed)/2] ^= 1
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := ended(t, curtsy(t, "audit", dir)); r.code != cli.ExitFound {
			t.Errorf("an octet of %s was changed, and the audit ends with %d", file, r.code)
		}
		if err := os.WriteFile(file, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Whose key is not the ledger's, packs what a kill left all the same: the mark is for the next run, which makes it.
func TestPackLeavesALedgerOfAnotherKeyToTheNextRun(t *testing.T) {
	t.Parallel()
	dir := crawledBakery(t)
	ledger := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "ledger", "checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := ledger()
	whole := segmentsOf(t, dir)[0]
	if err := os.Rename(whole, whole+".open"); err != nil {
		t.Fatal(err)
	}
	inside(t, "export", "--format", "wacz", dir, "-o", filepath.Join(t.TempDir(), "x.wacz")).want(t, cli.ExitDone, "the ledger has no entry", "is completed", "packed ")
	if ledger() != before {
		t.Error("another key has signed the ledger")
	}
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
	t.Parallel()
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
	inside(t, "export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitDone, filepath.Base(whole)+".open, which a kill left open, is completed", "a kill left it incomplete", "packed ")
	if text := unzipped(t, file)["datapackage.json"]; !strings.Contains(text, filepath.Base(whole)) {
		t.Errorf("it is not in the package: %s", text)
	}
	if _, err := os.Stat(whole); err != nil {
		t.Error(err)
	}
}
