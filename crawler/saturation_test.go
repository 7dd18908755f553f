package crawler

import (
	"fmt"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
)

// TestRule09_NoHostStarves crawls hosts that are all due at once. Where they are the limit, the crawl makes as many exchanges
// as Floor permits; where the workers are, each worker is busy all the time, and the hosts take turns.
func TestRule09_NoHostStarves(t *testing.T) {
	const hosts, pages, latency = 200, 5, 20 * time.Millisecond
	for name, workers := range map[string]int{"hosts are the limit": hosts, "workers are the limit": 2} {
		bubble(t, name, func(t *testing.T) {
			var sites []*crawltest.Site
			var seeds []string
			for i := range hosts {
				site := crawltest.Tree(fmt.Sprintf("h%d.test", i), pages)
				site.Latency = latency
				sites, seeds = append(sites, site), append(seeds, "http://"+site.Name+"/")
			}
			w := newWorld(t, seeds, sites...)
			w.cfg.Workers = workers
			begin := time.Now()
			if s := w.run(); s.Status.Fetched != hosts*pages {
				t.Errorf("%d fetched, want %d", s.Status.Fetched, hosts*pages)
			}
			last, round := map[string]time.Time{}, hosts/time.Duration(workers)*latency
			var end time.Duration
			for _, r := range w.web.Referee().Requests() {
				if at, ok := last[r.Host]; ok && r.Start.Sub(at) > Floor+round {
					t.Errorf("%s was due, and waited %v; all other hosts take %v", r.Host, r.Start.Sub(at)-Floor, round)
				}
				last[r.Host], end = r.End, max(end, r.End.Sub(begin))
			}
			permitted := max((pages+1)*latency+pages*Floor, (pages+1)*round)
			if end < permitted || end > permitted*102/100 {
				t.Errorf("took %v, permitted is %v", end, permitted)
			}
			w.judged(crawltest.Rules{Pace: Floor})
		})
	}
}
