package crawler

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
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

// TestRule17_TheNextRunFinishesWhatWasStopped: an interrupt, an abort and the end of the time lose nothing, repeat nothing
// but what an abort cut short, and keep the pace.
func TestRule17_TheNextRunFinishesWhatWasStopped(t *testing.T) {
	const middle = 10*Floor + 100*time.Millisecond
	for _, c := range []struct {
		name  string
		site  *crawltest.Site
		stop  func(*world) Summary
		ended string
		rules crawltest.Rules
	}{
		{"an interrupt", crawltest.Tree("a.test", 30), func(w *world) Summary { return w.drained(middle) }, EndedInterrupted, crawltest.Rules{Pace: Floor}},
		{"an abort", crawltest.Tree("a.test", 30), func(w *world) Summary { return w.aborted(middle, 0) }, EndedInterrupted, crawltest.Rules{Pace: Floor, Repeats: 1}},
		{"the end of the time of a wide turn", crawltest.Tree("localhost", 200), func(w *world) Summary {
			w.cfg.Delay, w.cfg.PerHost, w.cfg.Workers, w.cfg.MaxTime = -1, 8, 64, 2050*time.Millisecond
			return w.run()
		}, EndedMaxTime, crawltest.Rules{Width: 8}},
	} {
		bubble(t, c.name, func(t *testing.T) {
			c.site.Latency = 300 * time.Millisecond
			w := newWorld(t, []string{"http://" + c.site.Name + "/"}, c.site)
			if s := c.stop(w); s.EndedBy != c.ended || s.Status.InFlight != 0 || s.Status.Queued == 0 || s.Status.Fetched == 0 {
				t.Fatalf("ended by %q: %+v", s.EndedBy, s.Status)
			}
			w.reopen()
			w.cfg.MaxTime = 0
			if s := w.run(); s.Status.Fetched != int64(len(c.site.Pages)) {
				t.Errorf("%d fetched", s.Status.Fetched)
			}
			w.judged(c.rules)
		})
	}
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

func TestStories_HTTP(t *testing.T) {
	long := strings.Repeat("x", 3000)
	site := &crawltest.Site{Name: "a.test", Pages: pages{
		"/":      {Links: []string{"/long", "/declared", "/image", "/missing", "/chain0", "/twice", "/far"}},
		"/image": picture, "/missing": {Status: 404, Type: "image/png", Body: "not found"}, "/declared": {Type: "text/html", Body: long},
		"/far": {Redirect: "http://10.1.2.3/"},
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
	tell(t, []story{{
		name: "limits of bodies, types and redirects", seeds: "http://a.test/ http://10.1.2.3/", sites: []*crawltest.Site{site},
		set: func(w *world) { w.cfg.MaxBody, w.cfg.Scope.Reject = 2000, []string{"image/*"} },
		outcomes: map[string]string{
			"a.test/long": "fetched: truncated: length", "a.test/declared": "dropped: too large", "a.test/image": "dropped: scope:reject",
			"a.test/missing": "gone: status 404", "a.test/chain9": "redirected: to http://a.test/chain:", "a.test/chain:": "dropped: trap:redirect-chain",
		},
		ended: EndedWaiting, incomplete: true,
		check: func(t *testing.T, w *world, s Summary) {
			cut := map[string]bool{"http://a.test/long": true, "http://a.test/declared": true, "http://a.test/image": true}
			for _, r := range w.archive.records {
				if (r.Truncated != "") != cut[r.URL] {
					t.Errorf("%s: truncated %q", r.URL, r.Truncated)
				}
			}
			restsWith("private address (see --allow-net)")(t, w, s)
			if s.Status.Retired != 1 || w.count(budget.Truncated) != 1 {
				t.Errorf("%d retired, %d truncated", s.Status.Retired, w.count(budget.Truncated))
			}
		},
	}})
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
