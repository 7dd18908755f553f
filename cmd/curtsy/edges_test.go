package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/engine"
)

// Resume may be called from elsewhere.
func TestCAFileIsKeptWithItsWholePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s := crawldir.Defaults()
	s.CAFile = "ca.pem"
	_ = s.Check(nil)
	if want := filepath.Join(dir, "ca.pem"); s.CAFile != want {
		t.Errorf("%s, want %s", s.CAFile, want)
	}
}

// A resume with the same limit would end at once.
func TestSummaryTextSaysHowToGoOnBeyondALimit(t *testing.T) {
	t.Parallel()
	for ended, flag := range map[string]string{
		crawler.EndedMaxPages: "--max-pages", crawler.EndedMaxBytes: "--max-bytes", crawler.EndedMaxPerHost: "--max-per-host",
		crawler.EndedMaxPerDomain: "--max-per-domain",
	} {
		text := text.Summary(crawler.Summary{EndedBy: ended, Status: status.Status{Elapsed: 1, Queued: 5, Bytes: 1}}, "news", true)
		if want := "curtsy resume " + flag + " 0 news"; !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", ended, want, text)
		}
	}
	stopped := text.Summary(crawler.Summary{EndedBy: crawler.EndedStopWhen + "pages=5", Status: status.Status{Elapsed: 1, Queued: 5, Bytes: 1}}, "news", true)
	if !strings.Contains(stopped, ": --stop-when pages=5.") || !strings.Contains(stopped, "curtsy resume --stop-when none news") {
		t.Errorf("it says\n%s", stopped)
	}
}

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
