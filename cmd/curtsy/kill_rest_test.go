package main

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/ledger"
)

// Killed right after each answer that asks for a rest, most often before the frontier's commit, a crawl asks the host for
// nothing before the rest is over, and the audit finds nothing.
func TestARestThatWasAskedForJustBeforeAKillIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	t.Parallel()
	rest, kills := 3*time.Second, 1
	if full() {
		rest, kills = 10*time.Second, 10 // a busy machine may take seconds to see the line that it waits for
	}
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/":          {Links: []string{"/busy.html", "/a.html", "/b.html"}},
		"/busy.html": {FailFirst: kills, FailStatus: http.StatusServiceUnavailable, RetryAfter: strconv.Itoa(int(rest.Seconds()))},
		"/a.html":    {}, "/b.html": {},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "crawl")
	args := []string{"crawl", "--delay", "50ms", "--dir", dir, "--quiet", web.LoopbackURL("bakery.test")}
	busy := func() (n int) {
		for _, r := range web.Referee().Requests() {
			if r.Status == http.StatusServiceUnavailable {
				n++
			}
		}
		return n
	}
	told := func(dir string) (n int) {
		for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
			if err == nil && l.Status == http.StatusServiceUnavailable { // else it is being written
				n++
			}
		}
		return n
	}
	for n := range kills {
		p := launched(t, curtsy(t, args...))
		p.until(t, "an answer that asks for a rest is in the ledger", func() bool { return busy() > n && told(dir) > n })
		if !p.kill() {
			t.Fatalf("it ended before it was killed: %+v", p.end())
		}
		args = []string{"resume", "--quiet", dir}
	}
	ended(t, curtsy(t, args...)).want(t, cli.ExitDone)
	requests, asked := web.Referee().Requests(), 0
	for i, r := range requests[:len(requests)-1] {
		if r.Status != http.StatusServiceUnavailable {
			continue
		}
		asked++
		if gap := requests[i+1].Start.Sub(r.End); gap < rest {
			t.Errorf("%s came %v after an answer that asked for %v", requests[i+1].Target, gap, rest)
		}
	}
	if asked != kills {
		t.Errorf("%d answers asked for a rest, want %d", asked, kills)
	}
	ended(t, curtsy(t, "audit", dir)).want(t, cli.ExitDone)
}
