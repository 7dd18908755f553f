package main

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// A crawl of third-party hosts that is killed at the instant of an exchange, also several times within seconds, keeps its
// pace with each, and its audit finds nothing. (Own hosts, with which TestAKilledCrawlLosesNothing is concerned, are
// exempt from most of what an audit requires.)
func TestAKilledCrawlOfForeignHostsIsAuditedClean(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("several processes")
	}
	kills, hosts := 4, 20
	if full() {
		kills, hosts = 40, 200
	}
	sites := make([]*crawltest.Site, hosts)
	for i := range sites {
		sites[i] = crawltest.Tree("host"+itoa(i)+".test", 3)
	}
	web := webOf(t, sites...)
	dir := filepath.Join(t.TempDir(), "crawl")
	user, says := &lab{t: t, config: t.TempDir()}, ""
	args := []string{"crawl", "--own-site", "none", "--ip-delay", "100ms", "--dir", dir, "--quiet"}
	for _, name := range web.Hosts() {
		args = append(args, web.LoopbackURL(name))
	}
	for done := 0; done < kills; done++ {
		before, more := len(web.Referee().Requests()), 1+rand.IntN(2*hosts/3)
		if done == 0 {
			more += hosts // some of the hosts get a second request: an archive without a record cannot be audited
		}
		p := launched(t, user.command(args...))
		p.until(t, "some requests", func() bool { return len(web.Referee().Requests()) >= before+more })
		if !p.kill() {
			break
		}
		args = []string{"resume", "--quiet", dir}
		clean(t, dir)
	}
	if open, err := openSegment(dir); err != nil {
		t.Fatal(err)
	} else if open != "" { // none if the kill came before the first record of a run
		says = "which a kill left open, is completed, and the ledger has a mark of it"
	}
	file := filepath.Join(t.TempDir(), "x.wacz") // with all that the archive holds
	user.run("export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitDone, says)
	clean(t, file)
	user.run("resume", "--quiet", dir).want(t, cli.ExitDone)
	clean(t, dir)
	judged(t, web, crawltest.Rules{Pace: 990 * time.Millisecond, Repeats: kills * hosts})
}
