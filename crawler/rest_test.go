package crawler

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// trouble is a way to fail, and what politeness rules 11 and 12 make of it.
type trouble struct {
	name   string
	status int           // zero: no complete answer
	first  time.Duration // rest after the first in a row; zero: the pace
	obeys  bool          // Retry-After with it means something on a page
}

func troubles() []trouble {
	s, m := time.Second, time.Minute
	return []trouble{
		{"429", 429, m, true}, {"503", 503, m, true},
		{"500", 500, 30 * s, false}, {"502", 502, 30 * s, false}, {"504", 504, 30 * s, false},
		{"408", 408, 30 * s, false}, {"425", 425, 30 * s, false},
		{"302", 302, 0, true}, {"403", 403, 0, false}, {"404", 404, 0, false}, {"400", 400, 0, false},
		{"reset", 0, m, false}, {"incomplete", 0, m, false}, {"protocol", 0, m, false}, {"timeout", 0, m, false},
	}
}

// answer fails in the way of tr.
func (tr trouble) answer(rw http.ResponseWriter, r *http.Request, retryAfter string) {
	if retryAfter != "" {
		rw.Header().Set("Retry-After", retryAfter)
	}
	switch tr.name {
	case "reset":
		panic(http.ErrAbortHandler)
	case "timeout":
		silent(rw, r)
	case "incomplete":
		rw.Header().Set("Content-Length", "100")
		rw.WriteHeader(200)
		http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	case "protocol":
		raw("HTTP/1.1 what\r\n\r\n")(rw, r)
	case "302":
		rw.Header().Set("Location", "/target"+r.URL.Path)
		fallthrough
	default:
		rw.WriteHeader(tr.status)
	}
}

// least is the rest that the rules ask for after the i-th failure in a row, from 0, with a Retry-After or with none, which is
// negative: written down once more, in other words than the code's.
func (tr trouble) least(i int, asked time.Duration) time.Duration {
	rest := Floor
	if tr.first > 0 {
		rest = min(tr.first<<i, time.Hour)
		if i == 4 && tr.status != 429 && tr.status != 503 {
			rest = time.Hour
		}
	}
	switch {
	case asked < 0 || !tr.obeys:
	case tr.status == 302:
		rest = max(asked, rest)
	default:
		rest = max(asked, Floor)
	}
	return rest
}

// Each way to fail, five times in a row, with each Retry-After: the rest is exactly what the rules say, so that no crawl is
// slower than it must be. Package host has the table of rests, TestGate_3_2_Retry those of robots.txt.
func TestRule11And12_TheRestIsWhatTheRulesSay(t *testing.T) {
	for _, tr := range troubles() {
		for field, asked := range map[string]time.Duration{"": -1, "0": 0, "10": 10 * time.Second, "5000": 5000 * time.Second} {
			bubble(t, tr.name+" Retry-After "+field, func(t *testing.T) {
				var begins, ends []time.Time
				w := newWorld(t, seedsOf(6), pagesBy("a.test", func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Connection", "close") // a connection that is used again is tried once more at once
					begins = append(begins, time.Now())
					defer func() { ends = append(ends, time.Now()) }()
					if len(begins) <= 5 {
						tr.answer(rw, r, field)
					}
				}))
				w.cfg.MaxWait = 2 * time.Hour
				w.run()
				for i := range 5 {
					if got, want := begins[i+1].Sub(ends[i]), tr.least(i, asked); got < want || got > want+time.Millisecond {
						t.Errorf("after failure %d the host rested %v, want %v", i+1, got, want)
					}
				}
			})
		}
	}
}

// Over a day, the host leaves the run at once, and the next run asks it no earlier than it said.
func TestRule11_OverADayTheHostLeavesTheRunAndTheNextOneObeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 3)
		site.Pages["/p1.html"] = crawltest.Page{FailFirst: 1, RetryAfter: "172800"}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxWait = 100 * time.Hour
		begin := time.Now()
		s := w.run()
		if took := time.Since(begin); took > time.Minute || s.EndedBy != EndedWaiting || !s.Incomplete || s.Status.Retired != 1 {
			t.Fatalf("took %v, ended by %q: %+v", took, s.EndedBy, s.Status)
		}
		if r := s.Status.Resting; len(r) != 1 || !strings.Contains(r[0].Reason, "Retry-After 48h0m0s") || r[0].Wait < 172700 {
			t.Errorf("resting: %+v", r)
		}
		for range 3 { // however often it is tried
			time.Sleep(time.Hour)
			w.reopen()
			w.cfg.MaxWait = 10 * time.Minute
			if s := w.run(); s.EndedBy != EndedWaiting || len(w.asked("a.test")) != 3 {
				t.Fatalf("ended by %q after %q", s.EndedBy, w.asked("a.test"))
			}
		}
		w.reopen()
		w.cfg.MaxWait = 100 * time.Hour
		if s := w.run(); s.Status.Fetched != 3 || time.Since(begin) < 48*time.Hour {
			t.Errorf("%d fetched after %v", s.Status.Fetched, time.Since(begin))
		}
		w.judged(crawltest.Rules{Pace: Floor})
	})
}

func TestRule11_WhatCannotBeReadIsFlagged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 2)
		site.Pages["/p1.html"] = crawltest.Page{FailFirst: 1, FailStatus: 429, RetryAfter: "in a while"}
		w := newWorld(t, []string{"http://a.test/"}, site)
		s := w.run()
		if r := s.Status.Resting; len(r) != 1 || !strings.Contains(r[0].Reason, "24h0m0s (its value is unreadable") {
			t.Errorf("resting: %+v", r)
		}
		if w.count(budget.OddRetryAfter) != 1 || s.Status.Failures["429"] != 1 {
			t.Errorf("%d odd, failures %v", w.count(budget.OddRetryAfter), s.Status.Failures)
		}
	})
}

// The three parks of rule 12 and the retirement are of one run; what is in a row goes on over runs.
func TestRule12_FailuresInARowOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		site := pagesBy("a.test", func(rw http.ResponseWriter, r *http.Request) {
			n++
			rw.WriteHeader(500)
		})
		var seeds []string
		for i := range 20 {
			seeds = append(seeds, "http://a.test/"+strconv.Itoa(i))
		}
		w := newWorld(t, seeds, site)
		w.cfg.MaxWait = 50 * time.Minute
		w.run() // to the first park of an hour
		if n != 5 {
			t.Fatalf("%d requests before the host is parked for an hour, want 5", n)
		}
		w.reopen()
		w.cfg.MaxWait = 3 * time.Hour
		s := w.run()
		if n != 20 || s.Status.Retired != 1 || s.Status.Failures["5xx"] != 20 {
			t.Errorf("%d requests, %v, %d retired; want three parks of this run, at the 10th, the 15th and the 20th", n, s.Status.Failures, s.Status.Retired)
		}
		if r := s.Status.Resting; len(r) != 1 || !strings.Contains(r[0].Reason, "20 failures in a row, the last: status 500") {
			t.Errorf("resting: %+v", r)
		}
	})
}

// saying is a site whose pages answer with the statuses in turn, the last one for ever.
func saying(statuses ...int) *crawltest.Site {
	n := 0
	return pagesBy("a.test", func(rw http.ResponseWriter, r *http.Request) {
		status := statuses[min(n, len(statuses)-1)]
		n++
		rw.WriteHeader(status)
	})
}

func seedsOf(n int) (seeds []string) {
	for i := range n {
		seeds = append(seeds, "http://a.test/"+strconv.Itoa(i))
	}
	return seeds
}

// Ten in a row, over as many runs as it takes; nothing is asked again; only an operator opens the host, and then ten
// more are needed.
func TestRule13_TenRefusalsRefuseTheHostUntilAnOperatorOpensIt(t *testing.T) {
	for _, status := range []int{401, 402, 403, 407, 451} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seedsOf(30), saying(status))
			w.cfg.MaxTime = 6 * time.Second
			w.run()
			w.reopen()
			w.cfg.MaxTime = 0
			s := w.run()
			if n := len(w.asked("a.test")); n != 11 || s.Status.Refused != 1 || !s.Incomplete {
				t.Fatalf("%d: asked for %d times, %d refused", status, n, s.Status.Refused)
			}
			if r := s.Status.Resting; len(r) != 1 || r[0].Reason != "10 refusals in a row, the last: status "+strconv.Itoa(status) {
				t.Errorf("resting: %+v", r)
			}
			time.Sleep(12 * time.Hour)
			w.reopen()
			if w.run(); len(w.asked("a.test")) != 11 {
				t.Errorf("%d: asked for %d times: a restart opens nothing", status, len(w.asked("a.test")))
			}
			w.retry(frontier.Retrial{Hosts: true})
			if s := w.run(); len(w.asked("a.test")) != 21 || s.Status.Refused != 1 {
				t.Errorf("%d: asked for %d times, want ten more", status, len(w.asked("a.test")))
			}
			for _, l := range w.ledger.all {
				if l.Attempt > 1 {
					t.Errorf("%s was tried again", l.URL)
				}
			}
		})
	}
}

// A body that is cut by our own limits, one that is not wanted, a coding that is broken and an exchange that takes too
// long say nothing against the host.
func TestRule12_OurOwnLimitsCostTheHostItsPaceAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 5_000_000)
		site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				http.NotFound(rw, r)
			case "/0", "/1", "/2", "/3", "/4": // declared
				rw.Header().Set("Content-Length", "5000000")
				rw.Write([]byte(long))
			case "/5", "/6", "/7": // not declared
				rw.(http.Flusher).Flush()
				rw.Write([]byte(long))
			case "/8", "/9": // takes longer than we listen, at more than the least speed
				for r.Context().Err() == nil {
					rw.Write([]byte("0123456789"))
					http.NewResponseController(rw).Flush()
					time.Sleep(50 * time.Millisecond)
				}
			default:
				rw.Header().Set("Content-Encoding", "gzip")
				rw.Write([]byte("no gzip"))
			}
		})}
		w := newWorld(t, seedsOf(14), site)
		w.cfg.MaxBody = 1_000_000
		s := w.run()
		if s.EndedBy != EndedDrained || len(s.Status.Failures) != 0 || s.Status.Parked+s.Status.Retired+s.Status.Refused != 0 {
			t.Errorf("ended by %q, failures %v: %+v", s.EndedBy, s.Status.Failures, s.Status.Resting)
		}
		for _, l := range w.ledger.all {
			if l.Attempt > 1 || l.Gap > Floor+time.Millisecond && l.PaceBy == storage.ByFloor {
				t.Errorf("%+v", l)
			}
		}
	})
}

// Whatever is wrong with some URLs of a host, each good one is asked for before any bad one is asked for again, so that it
// waits for no more rests than there are bad ones before it.
func TestRule12_UntriedBeforeFailed(t *testing.T) {
	for _, tr := range troubles() {
		if tr.first == 0 {
			continue
		}
		bubble(t, tr.name, func(t *testing.T) {
			var mu sync.Mutex // a request that timed out is answered by a goroutine that nobody waits for
			asked := map[string]int{}
			begin := time.Now()
			var late time.Duration // the last good page
			site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Connection", "close")
				switch path := r.URL.Path; path {
				case "/robots.txt":
					http.NotFound(rw, r)
				case "/0", "/1":
					mu.Lock()
					if asked[path]++; asked[path] > 1 && len(asked) < 4 {
						t.Errorf("%s is asked for again after %v: asked so far %v", path, time.Since(begin), asked)
					}
					mu.Unlock()
					tr.answer(rw, r, "")
				default:
					mu.Lock()
					asked[path]++
					late = time.Since(begin)
					mu.Unlock()
					fmt.Fprint(rw, "good")
				}
			})}
			w := newWorld(t, seedsOf(4), site)
			w.run()
			mu.Lock()
			defer mu.Unlock()
			if len(asked) != 4 || late > 6*time.Minute {
				t.Errorf("%v: the last good page after %v", asked, late)
			}
		})
	}
}

// Rule 13: a host that said no is asked for nothing more, in this run or any later one, however long it has been; a
// command of the operator opens it, and then its robots.txt comes first again.
func TestRule13_OnlyACommandOpensARefusedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 5)
		site.Robots.Status = 403
		site.Pages["/"] = crawltest.Page{Status: 403, Links: []string{"/p1.html"}}
		w := newWorld(t, []string{"http://a.test/", "http://a.test/p1.html", "http://a.test/p2.html"}, site)
		s := w.run()
		w.wantAsked("a.test", "/robots.txt", "/")
		if s.Status.Refused != 1 || s.Status.Queued != 2 || !s.Incomplete {
			t.Fatalf("%+v", s.Status)
		}
		for range 3 {
			time.Sleep(40 * 24 * time.Hour)
			w.reopen()
			if s = w.run(); len(w.asked("a.test")) != 2 || s.Status.Refused != 1 {
				t.Fatalf("asked for %q: %+v", w.asked("a.test"), s.Status)
			}
		}
		w.web.Change("a.test", func(s *crawltest.Site) { s.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /p2\n"} })
		w.retry(frontier.Retrial{Hosts: true})
		w.run()
		w.wantAsked("a.test", "/robots.txt", "/", "/robots.txt", "/p1.html")
		w.wantOutcomes("http://a.test/p2.html", "disallowed: disallow rule")
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}

// TestRule13_Refusals: only a 403 of the first page, of a host whose own robots.txt was refused, ends the host.
func TestRule13_Refusals(t *testing.T) {
	forbidden := crawltest.Page{Status: 403}
	for _, c := range []struct {
		name    string
		robots  int
		pages   pages
		refused int64
		ended   string
	}{
		{"401", 403, pages{"/": {Status: 401}, "/x": {}}, 0, ""},
		{"not the first", 403, pages{"/": {Links: []string{"/y"}}, "/y": forbidden, "/x": {}}, 0, ""},
		{"404 for robots", 404, pages{"/": forbidden, "/x": {}}, 0, ""},
		{"403 for all", 403, pages{"/": forbidden, "/x": {}}, 1, EndedWaiting},
	} {
		tell(t, []story{{
			name: c.name, seeds: "http://a.test/ http://a.test/x", ended: c.ended, incomplete: c.pages["/"].Status != 0,
			sites:   []*crawltest.Site{{Name: "a.test", Pages: c.pages, Robots: crawltest.Robots{Status: c.robots}}},
			figures: map[string]int64{"hosts_refused": c.refused},
			check: func(t *testing.T, _ *world, s Summary) {
				if s.Status.Resting != nil != (c.refused > 0) {
					t.Errorf("%+v", s.Status.Resting)
				}
			},
		}})
	}
	tell(t, []story{
		{
			name: "at the end of a redirect", seeds: "http://a.test/ http://a.test/x http://b.test/ http://b.test/x",
			sites: []*crawltest.Site{
				{Name: "a.test", Pages: pages{"/": forbidden, "/x": {}}, Robots: crawltest.Robots{Redirect: "http://b.test/secret"}},
				{Name: "b.test", Pages: pages{"/": forbidden, "/x": {}, "/secret": forbidden}, Robots: crawltest.Robots{Body: "User-agent: *\nAllow: /\n"}},
			},
			outcomes: map[string]string{"b.test/x": "fetched: allow rule"}, figures: map[string]int64{"hosts_refused": 1},
			asked: map[string]string{"a.test": "/robots.txt /"}, ended: EndedWaiting, incomplete: true,
		},
		{
			name: "now, not once", seeds: "http://a.test/ http://a.test/x",
			sites: []*crawltest.Site{{
				Name: "a.test", Pages: pages{"/": {FailFirst: 1, FailStatus: 503, RetryAfter: "86400", Status: 403}, "/x": {}},
				Robots: crawltest.Robots{FailFirst: 1, FailStatus: 403, Body: "User-agent: *\nAllow: /\n"},
			}},
			set:      func(w *world) { w.cfg.MaxWait = 48 * time.Hour },
			outcomes: map[string]string{"a.test/x": "fetched: allow rule"}, figures: map[string]int64{"hosts_refused": 0}, incomplete: true,
		},
	})
}
