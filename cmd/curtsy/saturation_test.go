package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// With real sockets and more hosts than the pace could bore, what limits a crawl is the pace alone: the hosts are the
// operator's own, at 500 ms, and every exchange takes 20 ms. No gap may be short. The rate is reported, not asserted: a
// busy machine lowers it. docs/dev/performance.md has what it was.
//
//	CURTSY_LONG=1 go test ./cmd/curtsy -run Rule09_Saturation -v
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
	web := crawltest.New(sites...)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	args := []string{"crawl", "--delay", pace.String(), "--dir", filepath.Join(t.TempDir(), "d"), "--quiet"}
	for _, name := range web.Hosts() {
		args = append(args, web.LoopbackURL(name))
	}
	cmd := curtsy(t, args...)
	ended(t, cmd).want(t, cli.ExitDone)

	report := judged(t, web, crawltest.Rules{Pace: pace})
	row := report.Row(crawltest.Pace)
	if row.Verdict != crawltest.Kept || row.Checked != hosts*pages {
		t.Errorf("the pace: %s, %d gaps judged, want all %d kept", row.Verdict, row.Checked, hosts*pages)
	}
	r := rateOf(web.Referee().Requests(), hosts, pace)
	t.Logf("%d hosts × %d pages and robots.txt, pace %v: window %.3fs, median exchange %v; permitted %.1f/s, achieved %.1f/s = %.4f of it; the first request of each host counted too, %.4f",
		hosts, pages, pace, r.window.Seconds(), r.exchange.Round(10*time.Microsecond), r.permitted, r.achieved, r.achieved/r.permitted, r.loose/r.permitted)
	cost := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()) / time.Duration(len(r.late)+hosts)
	t.Logf("the pace: %s; waited beyond it: median %v, 99 %% %v, most %v; processor time of an exchange %v",
		row.Evidence, r.over(0.5), r.over(0.99), r.over(1), cost.Round(time.Microsecond))
}

// rate is how fast hosts were asked.
type rate struct {
	window    time.Duration // from the first request to the last
	exchange  time.Duration // the median
	permitted float64       // hosts ÷ (pace + exchange)
	achieved  float64       // requests ÷ window, without the first of each host, which ends no pause
	loose     float64       // with it
	late      []time.Duration
}

func rateOf(requests []crawltest.Request, hosts int, pace time.Duration) (r rate) {
	ends := map[string]time.Time{}
	var took []time.Duration
	first, last := requests[0].Start, requests[0].Start
	for _, x := range requests {
		if end, again := ends[x.Host]; again {
			r.late = append(r.late, x.Start.Sub(end)-pace)
		}
		ends[x.Host] = x.End
		took = append(took, x.End.Sub(x.Start))
		if x.Start.After(last) {
			last = x.Start
		}
	}
	slices.Sort(took)
	slices.Sort(r.late)
	r.window, r.exchange = last.Sub(first), took[len(took)/2]
	r.permitted = float64(hosts) / (pace + r.exchange).Seconds()
	r.achieved = float64(len(r.late)) / r.window.Seconds()
	r.loose = float64(len(requests)) / r.window.Seconds()
	return r
}

// over is a quantile of what was waited beyond the pace.
func (r rate) over(q float64) time.Duration {
	return r.late[int(q*float64(len(r.late)-1))].Round(10 * time.Microsecond)
}
