package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/engine"
)

// What stands beside the file that is written may be somebody's, or another export under way.
func TestExportTouchesNothingBesideItsFile(t *testing.T) {
	t.Parallel()
	dir := unanswered(t)
	to := filepath.Join(t.TempDir(), "x.ndjson")
	if err := os.WriteFile(to+".new", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "frontier", "export", "-o", to, dir).want(t, cli.ExitDone)
	if b, err := os.ReadFile(to + ".new"); err != nil || string(b) != "mine" {
		t.Errorf("%.20q, %v", b, err)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// Another command on a stopped crawl has its frontier: that is no running crawl.
func TestStatusBesideAnotherCommandContradictsItselfNot(t *testing.T) {
	t.Parallel()
	dir := unanswered(t)
	f, err := engine.Open(inDir(dir, crawldir.FrontierName), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := inside(t, "status", dir)
	r.want(t, cli.ExitFailed, "another command")
	if strings.Contains(r.err, "no crawl is running") {
		t.Error(r.err)
	}
}
