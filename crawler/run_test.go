package crawler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

func TestMaxPagesIsKeptExactlyUnderConcurrencyAndOverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seeds []string
		var sites []*crawltest.Site
		for _, name := range []string{"a.test", "b.test", "c.test", "d.test", "e.test"} {
			seeds, sites = append(seeds, "http://"+name+"/"), append(sites, crawltest.Tree(name, 9))
		}
		w := newWorld(t, seeds, sites...)
		w.cfg.MaxPages = 12
		s := w.run()
		if s.EndedBy != EndedMaxPages || s.Status.Pages != 12 || s.Incomplete {
			t.Errorf("%d pages, ended by %q, incomplete %v; want 12", s.Status.Pages, s.EndedBy, s.Incomplete)
		}
		w.cfg.MaxPages = 20
		if s = w.run(); s.Status.Pages != 20 {
			t.Errorf("%d pages after the second run, want 20 in all", s.Status.Pages)
		}
		if s = w.run(); s.Status.Pages != 20 || s.EndedBy != EndedMaxPages {
			t.Errorf("%d pages, ended by %q: the budget was used up before", s.Status.Pages, s.EndedBy)
		}
		w.cfg.MaxPages = 0
		if s = w.run(); s.Status.Pages != 45 || s.EndedBy != EndedDrained {
			t.Errorf("%d pages, ended by %q; want all 45", s.Status.Pages, s.EndedBy)
		}
		for _, r := range w.web.Referee().Judge(crawltest.Rules{Token: "curtsy", Pace: Floor}).Rows {
			if r.Rule == crawltest.Once && r.Verdict == crawltest.Broken {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestMaxPerHostLeavesTheRestPendingAndIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, crawltest.Tree("a.test", 9), crawltest.Tree("b.test", 2))
		w.cfg.MaxPerHost = 4
		s := w.run()
		if s.Status.Pages != 6 || s.EndedBy != EndedMaxPerHost || s.Incomplete {
			t.Errorf("%d pages, ended by %q, incomplete %v", s.Status.Pages, s.EndedBy, s.Incomplete)
		}
	})
}

func TestMaxBytesAndMaxTimeEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 50))
		w.cfg.MaxBytes = 8000
		if s := w.run(); s.EndedBy != EndedMaxBytes || s.Status.Bytes < 8000 || s.Status.Pages > 10 {
			t.Errorf("ended by %q after %d octets and %d pages", s.EndedBy, s.Status.Bytes, s.Status.Pages)
		}
		w.cfg.MaxBytes, w.cfg.MaxTime = 0, 10*time.Second
		start := time.Now()
		if s := w.run(); s.EndedBy != EndedMaxTime || time.Since(start) > 12*time.Second {
			t.Errorf("ended by %q after %v", s.EndedBy, time.Since(start))
		}
	})
}

// drained begins a crawl, does what stop says in the middle of it, and finishes it in a second run: nothing may be
// lost, and nothing done twice but what was cut short.
func drained(t *testing.T, stop func(c *Crawl, abort func()), repeats int) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 30)
		site.Latency = 300 * time.Millisecond
		w := newWorld(t, []string{"http://a.test/"}, site)
		c := w.crawl()
		ctx, abort := context.WithCancel(t.Context())
		defer abort()
		go func() {
			time.Sleep(10*Floor + 100*time.Millisecond)
			stop(c, abort)
		}()
		s, err := c.Run(ctx)
		if err != nil || s.EndedBy != EndedInterrupted {
			t.Fatalf("ended by %q, %v", s.EndedBy, err)
		}
		w.balanced(s.Status)
		if s.Status.InFlight != 0 || s.Status.Queued == 0 {
			t.Errorf("%+v", s.Status)
		}
		w.run()
		pages := map[string]int{}
		for _, target := range w.asked("a.test") {
			pages[target]++
		}
		extra := 0
		for target, n := range pages {
			if target != "/robots.txt" {
				extra += n - 1
			}
		}
		if len(pages) != 31 || extra > repeats {
			t.Errorf("%d distinct targets, want 31; %d repeats, at most %d are due", len(pages), extra, repeats)
		}
		report := w.web.Referee().Judge(crawltest.Rules{Token: "curtsy", Pace: Floor})
		for _, row := range report.Rows {
			if row.Verdict == crawltest.Broken && row.Rule != crawltest.Once {
				t.Errorf("%+v", row)
			}
		}
	})
}

func TestRule17_TheFirstInterruptDrains(t *testing.T) {
	drained(t, func(c *Crawl, _ func()) { c.Drain() }, 0)
}

func TestRule17_TheSecondAbortsAndKeepsThePace(t *testing.T) {
	drained(t, func(_ *Crawl, abort func()) { abort() }, 1)
}

// panicking is a fetcher that panics for one URL.
type panicking struct {
	fetcher
	target string
}

func (p panicking) Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error) {
	ex, err := p.fetcher.Do(ctx, r)
	if r.URL.RequestURI() == p.target {
		panic("a parser's defect")
	}
	return ex, err
}

func (p panicking) CloseIdle(a canon.Authority) { p.fetcher.CloseIdle(a) }

func TestAPanicInOneTaskIsAFailedAttemptOfThatTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 8))
		w.cfg.Fetcher = panicking{w.cfg.Fetcher, "/p2.html"}
		s := w.run()
		w.wantOutcomes("http://a.test/p2.html", "deferred: panic", "deferred: panic", "failed: panic")
		for _, row := range w.web.Referee().Judge(crawltest.Rules{Token: "curtsy", Pace: Floor}).Rows {
			if row.Rule == crawltest.Pace && row.Verdict != crawltest.Kept {
				t.Errorf("what was asked before the panic counts: %+v", row)
			}
		}
		if s.Status.Fetched != 7 || s.Status.Failed != 1 {
			t.Errorf("%+v", s.Status)
		}
	})
}

func TestPageLevelNofollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/":          {Links: []string{"/closed", "/open"}, NoFollow: []string{"/never"}},
			"/closed":    {Robots: "nofollow", Links: []string{"/deep"}, Embeds: []string{"/style.css"}},
			"/open":      {Links: []string{"/x"}},
			"/deep":      {},
			"/never":     {},
			"/x":         {},
			"/style.css": {Body: "body{}"},
		}})
		s := w.run()
		w.wantAsked("a.test", "/robots.txt", "/", "/closed", "/open", "/style.css", "/x")
		if s.Status.Links["scope:nofollow"] != 2 {
			t.Errorf("%d links not followed, want 2: %v", s.Status.Links["scope:nofollow"], s.Status.Links)
		}
	})
}
