package main

import (
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// With more hosts than the delay could slow down, the delay limits a crawl, and no gap is short. cmd/bench --setup saturation
// measures the rate.
func TestRule09_SaturationOverSocketsLeavesNoGapShort(t *testing.T) {
	t.Parallel()
	hosts, pages := 100, 20
	switch {
	case full():
	case testing.Short():
		hosts, pages = 20, 4
	default:
		hosts, pages = 50, 6
	}
	const pace, latency = 500 * time.Millisecond, 20 * time.Millisecond
	sites := make([]*crawltest.Site, hosts)
	for i := range sites {
		sites[i] = crawltest.Tree("host"+itoa(i)+".test", pages)
		sites[i].Latency = latency
	}
	web := webOf(t, sites...)
	args := []string{"crawl", "--delay", pace.String(), "--dir", filepath.Join(t.TempDir(), "d"), "--quiet"}
	for _, name := range web.Hosts() {
		args = append(args, web.LoopbackURL(name))
	}
	ended(t, curtsy(t, args...)).want(t, cli.ExitDone)
	row := judged(t, web, crawltest.Rules{Pace: pace}).Row(crawltest.Pace)
	if row.Verdict != crawltest.Kept || row.Checked != hosts*pages {
		t.Errorf("the pace: %s, %d gaps judged, want all %d kept", row.Verdict, row.Checked, hosts*pages)
	}
}
