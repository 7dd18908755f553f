package main

import (
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// How much faster that is, is shown in virtual time; here, that the exchanges meet on real connections.
func TestRule18_PerHostOnRealConnections(t *testing.T) {
	t.Parallel()
	site := crawltest.Tree("bakery.test", 80)
	site.Latency = 60 * time.Millisecond
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--per-host", "16", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	judged(t, web, crawltest.Rules{Width: 16})
	most, from := 0, map[string]bool{}
	all := web.Referee().Requests()
	for _, r := range all {
		n := 0
		for _, o := range all {
			if !o.Start.After(r.Start) && o.End.After(r.Start) {
				n++
			}
		}
		most = max(most, n)
		from[r.Remote] = true
	}
	if most < 4 || most > 16 {
		t.Errorf("at most %d in flight", most)
	}
	if len(from) > 24 {
		t.Errorf("%d connections for %d requests: they are kept for the next", len(from), len(all))
	}
	reopened(t, dir)
}
