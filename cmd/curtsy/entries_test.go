package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
)

// A directory may have a name that reads like a pattern, as those of IPv6 hosts do.
func TestADirectorysNameIsNoPattern(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "[--1]-x")
	inside(t, "crawl", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	left := inDir(dir, control.SnapshotPrefix+"1")
	if err := errors.Join(os.RemoveAll(inDir(dir, crawldir.IndexName)), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r := inside(t, "explain", "--at", "0s", dir, seed); r.code != cli.ExitDone || !strings.HasPrefix(r.out, "done: fetched;") || strings.Contains(r.out, "no record") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if err := crawldir.RemoveLeftOvers(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a kill left of a snapshot is still there")
	}
	inside(t, "resume", "--max-pages", "100", dir).want(t, cli.ExitDone, "rebuilding it from the archive")
}
