package crawler

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/explain"
	"curtsy/crawler/host"
	"curtsy/crawler/status"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Where hosts share an address, the estimate is of what really comes; status and explain say the pace that is really kept,
// also when the crawl has stopped.
func TestRule10_EstimateStatusAndExplainKnowThePaceOfTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 20, 12
		sites, seeds := many(hosts, pages)
		w := newWorld(t, seeds, sites...)
		s := w.share(func(string) []string { return []string{"8.8.8.8"} })
		c := w.crawl()
		var e status.Estimate
		var at time.Time
		u, err := canon.Parse(seeds[3] + "p11.html")
		if err != nil {
			t.Fatal(err)
		}
		var x explain.Explanation
		var st status.Status
		told := make(chan struct{})
		time.AfterFunc(80*time.Second, func() {
			defer close(told)
			at = time.Now()
			e, _ = c.Estimate(t.Context())
			st, _ = c.Status(t.Context())
			x, err = c.Explain(t.Context(), explain.Question{URL: u})
		})
		w.finish(c)
		<-told
		times := s.starts[host.Network(netip.MustParseAddr("8.8.8.8"))]
		took := times[len(times)-1].Sub(at)
		if e.PaceBy != string(storage.ByAddress) || e.Pace != halfSecond || !strings.Contains(e.String(), "at 20 hosts of 8.8.8.8") {
			t.Errorf("%+v: %v", e, e)
		}
		if e.Left < took-took/5 || e.Left > took+took/5 {
			t.Errorf("estimated %v, it took %v", e.Left, took)
		}
		if err != nil || x.Pace.By != storage.ByAddress || x.Pace.Seconds != 10 {
			t.Errorf("%v: %+v", err, x.Pace)
		}
		if len(st.Longest) == 0 || st.Longest[0].Pace != 10 {
			t.Errorf("%+v", st.Longest)
		}
	})
}

// A dry run knows which hosts share an address, whose pace they share then.
func TestADryRunKnowsTheAddressOfItsHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, seeds := many(10, 3)
		w := newWorld(t, seeds, sites...)
		w.share(func(string) []string { return []string{"8.8.8.8"} })
		w.cfg.DryRun, w.cfg.MaxWait = true, 30*time.Second
		c := w.crawl()
		w.finish(c)
		for _, seed := range seeds {
			if m, ok, err := c.Met(t.Context(), parse(t, seed).Authority()); err != nil || !ok || m.Spot.Addr().String() != "8.8.8.8" {
				t.Errorf("%s: %v %v %+v", seed, err, ok, m)
			}
		}
	})
}
