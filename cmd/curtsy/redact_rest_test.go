package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// After a kill the ledger alone may know that a host asked to be left alone (Retry-After). Who takes down the page that said
// so takes the line away, and not the rest: the next run keeps it (politeness rules 11 and 17).
func TestRule17_ATakedownAfterAKillForgetsNoRest(t *testing.T) {
	for _, args := range [][]string{{"redact", "--all"}, {"redact"}} {
		home(t, "")
		web := webOf(t, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
			"/":     {Links: []string{"/a", "/busy"}},
			"/a":    {},
			"/busy": {FailFirst: 99, FailStatus: http.StatusServiceUnavailable, RetryAfter: "3600"},
		}})
		seed := web.LoopbackURL("bakery.test")
		dir, s := filepath.Join(t.TempDir(), "d"), crawldir.Defaults()
		s.Delay, s.MaxWait = 0, time.Second
		seeds, err := crawldir.SeedURLs(seed)
		if err == nil {
			err = crawldir.Create(t.Context(), dir, &s, seeds)
		}
		var before []byte // the frontier, as a kill between the ledger's commit and its own leaves it
		if err == nil {
			_, err = crawldir.Run(t.Context(), dir, crawldir.Options{Attend: func(ctx context.Context, start crawldir.Start) (crawler.Summary, error) {
				if before, err = os.ReadFile(inDir(dir, crawldir.FrontierName)); err != nil {
					return crawler.Summary{}, err
				}
				return start.Crawl.Run(ctx)
			}})
		}
		if err == nil {
			err = os.WriteFile(inDir(dir, crawldir.FrontierName), before, 0o600)
		}
		must(t, err)
		asked := len(web.Referee().Requests())
		if last := web.Referee().Requests()[asked-1]; last.Status != http.StatusServiceUnavailable {
			t.Fatalf("the run that is killed was answered %d last", last.Status)
		}
		shared(t, append(args, dir, seed+"busy")...).want(t, cli.ExitDone)
		r, err := crawldir.Run(t.Context(), dir, crawldir.Options{})
		if err != nil || r.EndedBy != crawler.EndedWaiting {
			t.Errorf("%v: ended by %s, %v", args, r.EndedBy, err)
		}
		if more := web.Referee().Requests()[asked:]; len(more) > 0 {
			t.Errorf("%v: asked for %s before the rest was over", args, more[0].Target)
		}
		shared(t, "audit", dir).want(t, cli.ExitDone)
	}
}
