package main

import (
	"os"
	"path/filepath"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// stopped is a crawl that a budget ended.
func stopped(t *testing.T) (dir string, web *crawltest.Web) {
	t.Helper()
	web = crawltest.New(crawltest.Tree("bakery.test", 5))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--workers", "1", "--max-pages", "2", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	return dir, web
}

// The second to open a directory is refused before it touches anything: the first has bodies under way there.
func TestARefusedResumeLeavesTheRunningCrawlAlone(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	defer openedDir(t, dir).Close()
	body := filepath.Join(dir, crawldir.SpoolName, "body")
	if err := os.WriteFile(body, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "resume", dir).want(t, cli.ExitFailed, "another process has the frontier open")
	if _, err := os.Stat(body); err != nil {
		t.Errorf("the body under way is gone: %v", err)
	}
}
