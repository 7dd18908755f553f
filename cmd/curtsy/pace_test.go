package main

import (
	"path/filepath"
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
