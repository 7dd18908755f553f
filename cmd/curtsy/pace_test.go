package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawltest"
)

// Two crawls of one user on one machine: as far as the host can see, it is one.
func TestRule17_TwoProcessesKeepThePaceTogether(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 1))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	home := t.TempDir()
	var waits []func() result
	for range 2 {
		cmd := curtsy(t, "crawl", "--quiet", "--own-site", "none", "--dir", filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test"))
		cmd.Env = append(cmd.Env, "HOME="+home, "XDG_CACHE_HOME="+home, "LocalAppData="+home)
		waits = append(waits, begun(t, cmd))
	}
	for _, wait := range waits {
		r := wait()
		r.want(t, cli.ExitDone)
	}
	var last time.Time
	all := web.Referee().Requests()
	for _, r := range all {
		if gap := r.Start.Sub(last); !last.IsZero() && gap < crawler.Floor {
			t.Errorf("%s came %v after the exchange before it", r.Target, gap)
		}
		last = r.End
	}
	if len(all) != 4 {
		t.Errorf("%d requests, want robots.txt and a page of each crawl", len(all))
	}
}

func TestRule17_WithoutAFolderForTheLocksNoForeignHostIsAsked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("the cache folder is that of HOME, as is the configuration's")
	}
	seed, web := small(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := curtsy(t, "crawl", "--own-site", "none", "--dir", filepath.Join(t.TempDir(), "d"), seed)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+file, "LocalAppData="+file)
	ended(t, cmd).want(t, cli.ExitFailed, "XDG_CACHE_HOME")
	if n := len(web.Referee().Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
