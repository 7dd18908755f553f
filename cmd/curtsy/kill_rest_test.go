package main

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
)

// Killed right after each answer that asks for a rest, most often before the frontier's commit, a crawl asks the host for
// nothing before the rest is over, and the audit finds nothing.
func TestARestThatWasAskedForJustBeforeAKillIsKept(t *testing.T) {
	if !full() {
		t.Skip("takes a minute")
	}
	const rest, kills = 5 * time.Second, 2
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/":          {Links: []string{"/busy.html", "/a.html", "/b.html"}},
		"/busy.html": {FailFirst: kills, FailStatus: http.StatusServiceUnavailable, RetryAfter: "5"},
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
	for n := range kills {
		cmd := curtsy(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); busy() <= n && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond) // what it takes to write it down
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		args = []string{"resume", "--quiet", dir}
	}
	ended(t, curtsy(t, args...)).want(t, exitDone)
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
	ended(t, curtsy(t, "audit", dir)).want(t, exitDone)
}
