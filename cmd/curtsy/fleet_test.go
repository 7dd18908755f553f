package main

import (
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier/postgres/pgtest"
	"curtsy/storage/ledger"
)

// Two processes with a crawl directory each, and caches apart so that they share nothing but the frontier, crawl as one: every
// page once, one request to a host at a time, the Crawl-delay between any two of them, and the work divided.
func TestFleet_TwoProcesses(t *testing.T) {
	t.Parallel()
	locator := pgtest.Start(t).Locator()
	const hosts, pages = 40, 20
	sites := make([]*crawltest.Site, hosts)
	for i := range sites {
		sites[i] = crawltest.Tree("host"+itoa(i)+".test", pages)
		sites[i].Robots.Body = "User-agent: *\nCrawl-delay: 0.3\n"
	}
	web := crawltest.New(sites...)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	w1, w2 := filepath.Join(t.TempDir(), "w1"), filepath.Join(t.TempDir(), "w2")
	args := []string{"crawl", "--frontier", locator, "--one-machine", "--delay", "0", "--quiet", "--dir", w1}
	for _, name := range web.Hosts() {
		args = append(args, web.LoopbackURL(name))
	}
	first := launched(t, curtsy(t, args...))
	if !first.until(t, "the crawl is there to be joined", func() bool { return crawldir.Require(w1) == nil }) {
		t.Fatal(first.errs.String())
	}
	second := ended(t, curtsy(t, "join", "--frontier", locator, "--one-machine", "--quiet", "--dir", w2))
	second.want(t, cli.ExitDone)
	if <-first.over; first.err != nil {
		t.Fatalf("%v\n%s", first.err, first.errs.String())
	}

	judged(t, web, crawltest.Rules{Pace: 300 * time.Millisecond})
	asked := map[string]int64{}
	for _, dir := range []string{w1, w2} {
		told, err := ledger.Asked(inDir(dir, crawldir.LedgerName), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		asked[dir] = told.Answers
		if r := ended(t, curtsy(t, "status", "--json", dir)); !r.says(`"state": "finished"`) {
			t.Errorf("status %s: %s%s", dir, r.out, r.err)
		}
		ended(t, curtsy(t, "audit", dir)).want(t, cli.ExitDone)
	}
	all := int64(len(web.Referee().Requests()))
	if asked[w1]+asked[w2] != all || min(asked[w1], asked[w2])*4 < all || all < hosts*(pages+1) {
		t.Errorf("%d answers in one ledger, %d in the other, of %d: each should have a quarter", asked[w1], asked[w2], all)
	}
	t.Logf("%d and %d of %d answers", asked[w1], asked[w2], all)
}
