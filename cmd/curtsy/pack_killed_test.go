package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

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
