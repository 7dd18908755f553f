package main

import (
	"os"
	"path/filepath"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// Who is accused without cause stops looking. What follows was found by random histories of honest crawls.

// A run may be killed, or fail, between its new settings and its mark in the ledger.
func TestSettingsOfARunThatNeverBegan(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	shared(t, "crawl", "--quiet", "--delay", "0", "--max-pages", "1", "--dir", dir, seed).want(t, cli.ExitDone)
	next, err := crawldir.ReadSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	next.Purpose = "another"
	if _, err := crawldir.Update(t.Context(), dir, nil, &next); err != nil {
		t.Fatal(err)
	}
	shared(t, "audit", dir).want(t, cli.ExitDone)
	shared(t, "resume", "--quiet", "--max-pages", "0", "--delay", "0", dir).want(t, cli.ExitDone)
	shared(t, "audit", dir).want(t, cli.ExitDone)
	if left, err := filepath.Glob(inDir(dir, crawldir.ConfigBefore+"*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := os.WriteFile(inDir(dir, crawldir.ConfigName), []byte("purpose = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shared(t, "audit", dir).want(t, cli.ExitFound)
}
