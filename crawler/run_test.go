package crawler

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
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

func TestAnExtensionOfTheScopeHoldsInTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://short.test/"}, shortened()...)
		w.cfg.MaxPages = 2
		w.run()
		w.cfg.MaxPages = 0
		if s := w.run(); s.Status.Fetched != 4 || s.Status.Dropped != 0 {
			t.Errorf("%+v", s.Status)
		}
		// It says where a seed led to, and is none: with scope seeds it is not what was asked for.
		if len(w.said) == 0 {
			t.Error("nobody was told")
		}
	})
}

func TestAChangedScopeIsKeptAtTheTaskTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 5))
		w.cfg.MaxPages = 1
		w.run()
		w.cfg.MaxPages, w.cfg.Scope = 0, scope.Config{Exclude: []string{"/p[12]"}}
		s := w.run()
		w.wantOutcomes("http://a.test/p1.html", "dropped: scope:exclude")
		if s.Status.Dropped != 2 || s.Status.Fetched != 3 {
			t.Errorf("%+v", s.Status)
		}
	})
}

func TestBudgetsAndAnswersGoOnOverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 5)
		site.Pages["/p1.html"] = crawltest.Page{FailFirst: 1, FailStatus: 500}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxBytes = 1
		first := w.run()
		if s := w.run(); s.EndedBy != EndedMaxBytes || s.Status.Bytes != first.Status.Bytes {
			t.Errorf("%d octets, then %d: the budget was used up before", first.Status.Bytes, s.Status.Bytes)
		}
		w.cfg.MaxBytes = 0
		// A crawl that was answered before waits for what is due within MaxWait, though nobody has answered yet.
		if s := w.run(); s.EndedBy != EndedDrained || s.Status.Fetched != 5 {
			t.Errorf("ended by %q, %d fetched", s.EndedBy, s.Status.Fetched)
		}
	})
}

func TestHTTPThatTheStoryReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 3000)
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/":         {Links: []string{"/long", "/declared", "/image", "/missing", "/chain0", "/twice", "/far"}},
			"/image":    {Type: "image/png", Body: "png"},
			"/missing":  {Status: 404, Type: "image/png", Body: "not found"},
			"/declared": {Type: "text/html", Body: long},
			"/far":      {Redirect: "http://10.1.2.3/"},
		}}
		for i := range 12 {
			site.Pages["/chain"+string(rune('0'+i))] = crawltest.Page{Redirect: "/chain" + string(rune('0'+i+1))}
		}
		site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/long" {
				rw.Header().Set("Content-Type", "text/html")
				rw.(http.Flusher).Flush() // no length declared
				rw.Write([]byte(long))
				return
			}
			http.NotFound(rw, r)
		})
		w := newWorld(t, []string{"http://a.test/", "http://10.1.2.3/"}, site)
		w.cfg.MaxBody, w.cfg.Scope.Reject = 2000, []string{"image/*"}
		s := w.run()
		w.wantOutcomes("http://a.test/long", "fetched: truncated: length")
		w.wantOutcomes("http://a.test/declared", "dropped: too large")
		w.wantOutcomes("http://a.test/image", "dropped: scope:reject")
		w.wantOutcomes("http://a.test/missing", "gone: status 404")
		w.wantOutcomes("http://a.test/chain9", "redirected: to http://a.test/chain:")
		w.wantOutcomes("http://a.test/chain:", "dropped: trap:redirect-chain")
		if w.count(budget.Truncated) != 1 {
			t.Errorf("%d truncated", w.count(budget.Truncated))
		}
		for _, r := range w.archive.records {
			if (r.Truncated != "") != (strings.HasSuffix(r.URL, "/long") || strings.HasSuffix(r.URL, "/declared") || strings.HasSuffix(r.URL, "/image")) {
				t.Errorf("%s: truncated %q", r.URL, r.Truncated)
			}
		}
		if !slices.ContainsFunc(s.Status.Resting, func(r status.Resting) bool {
			return r.Condition == "retired" && strings.Contains(r.Reason, "private address (see --allow-net)")
		}) {
			t.Errorf("%+v", s.Status.Resting)
		}
	})
}

// The pace counts from the end of the exchange, however long it takes to keep what it brought.
func TestRule09_OurOwnDiskDoesNotSlowTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 2))
		w.cfg.Recorder = newFaulty(w.archive, "http://a.test/", 1, func() { time.Sleep(Floor * 3 / 4) })
		start := time.Now()
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		if took := time.Since(start); took != 2*Floor {
			t.Errorf("took %v", took)
		}
	})
}

func TestNotPublic(t *testing.T) {
	for url, want := range map[string]bool{
		"http://localhost/": true, "http://127.0.0.1:8080/": true, "http://10.0.0.1/": true, "http://[fe80::1]/": true,
		"http://93.184.215.14/": false, "http://example.org/": false,
	} {
		if got := NotPublic(parse(t, url).Authority()); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}
