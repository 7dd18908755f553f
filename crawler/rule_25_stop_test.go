package crawler

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/storage"
)

// Politeness rule 25: the end of a crawl waits for nobody longer than Grace, in whatever way a host is slow, be the end an
// interrupt or --max-time.
func TestRule25_TheEndWaitsForNobody(t *testing.T) {
	for kind := range slowKinds {
		const hosts = 20
		for _, interrupted := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, interrupted %v", kind, interrupted), func(t *testing.T) {
				w := slowWorld(t, kind, hosts, 3)
				begin := time.Now()
				var s Summary
				if interrupted {
					s = w.drained(5 * time.Second)
				} else {
					w.cfg.MaxTime = 5 * time.Second
					s = w.run()
				}
				if took := time.Since(begin); took > 5*time.Second+Grace {
					t.Errorf("it took %v", took)
				}
				if s.EndedBy != EndedMaxTime && s.EndedBy != EndedInterrupted {
					t.Errorf("ended by %q", s.EndedBy)
				}
				if n := int64(5 * hosts); s.Status.Queued+s.Status.Deferred < n-2*int64(hosts) || s.Status.InFlight != 0 {
					t.Errorf("%d URLs of slow hosts are pending, %d in flight", s.Status.Queued+s.Status.Deferred, s.Status.InFlight)
				}
			})
		}
	}
}

// drained runs the crawl and drains it after d.
func (w *world) drained(d time.Duration) Summary {
	w.t.Helper()
	c := w.crawl()
	time.AfterFunc(d, c.Drain)
	s, err := c.Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.balanced(s.Status)
	return s
}

// endings are the ways to end a crawl 15 seconds after its beginning, and how long each leaves to what is under way.
var endings = map[string]struct {
	left time.Duration
	run  func(w *world) Summary
}{
	"max-time": {Grace, func(w *world) Summary {
		w.cfg.MaxTime = 15 * time.Second
		return w.run()
	}},
	"abort":              {0, func(w *world) Summary { return w.aborted(15*time.Second, 0) }},
	"abort in the grace": {300 * time.Millisecond, func(w *world) Summary { return w.aborted(15*time.Second, 300*time.Millisecond) }},
}

// aborted runs the crawl, drains it after d unless left is zero, and aborts it when left is over.
func (w *world) aborted(d, left time.Duration) Summary {
	w.t.Helper()
	c := w.crawl()
	if left > 0 {
		time.AfterFunc(d, c.Drain)
	}
	ctx, abort := context.WithTimeout(w.t.Context(), d+left)
	defer abort()
	s, err := c.Run(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.balanced(s.Status)
	return s
}

// What was cut is archived as far as it came, is no failure of the host, costs the URL no attempt, and is asked for again by
// the next run: a page, a sitemap, robots.txt, and several pages of an own host at once. An abort differs
// from the end of the grace in nothing but that it comes sooner (rule 17).
func TestRule25_WhatTheEndCutsIsArchivedAndStaysPending(t *testing.T) {
	for how := range endings {
		t.Run(how, func(t *testing.T) { whatTheEndCuts(t, how) })
	}
}

func whatTheEndCuts(t *testing.T, how string) {
	for name, c := range map[string]struct {
		slow string // the target
		set  func(*world)
		host string
		want int // records that were cut
	}{
		"page":       {slow: "/", host: "a.test", want: 1},
		"robots.txt": {slow: "/robots.txt", host: "a.test", want: 1},
		"sitemap":    {slow: "/sitemap.xml", host: "a.test", want: 1},
		"own host":   {slow: "/p", host: "localhost", want: 4, set: func(w *world) { w.cfg.PerHost, w.cfg.Delay = 4, -1 }},
	} {
		bubble(t, name, func(t *testing.T) {
			heals := false
			site := &crawltest.Site{Name: c.host, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch {
				case !heals && strings.HasPrefix(r.URL.Path, c.slow) && (c.slow != "/" || r.URL.Path == "/"):
					trickle(rw, r, "text/html", 200)
				case r.URL.Path == "/robots.txt" && c.slow == "/sitemap.xml":
					fmt.Fprintf(rw, "Sitemap: http://%s/sitemap.xml\n", c.host)
				case r.URL.Path == "/robots.txt":
					http.NotFound(rw, r)
				default:
					fmt.Fprint(rw, "fine")
				}
			})}
			seeds := []string{"http://" + c.host + "/"}
			if name == "own host" {
				seeds = nil
				for i := range 4 {
					seeds = append(seeds, fmt.Sprintf("http://%s/p%d", c.host, i))
				}
			}
			w := newWorld(t, seeds, site)
			if c.set != nil {
				c.set(w)
			}
			w.cfg.Sitemaps.Robots = true
			begin := time.Now()
			s := endings[how].run(w)
			if took := time.Since(begin); took != 15*time.Second+endings[how].left {
				t.Errorf("it took %v", took)
			}
			cut := 0
			for _, r := range w.archive.records {
				if r.Line.Reason != host.Aborted {
					continue
				}
				cut++
				if r.Truncated != fetch.CutTime || !strings.Contains(r.response, "####") || r.Line.Attempt != 1 {
					t.Errorf("%s: truncated %q, attempt %d, %d octets", r.URL, r.Truncated, r.Line.Attempt, len(r.response))
				}
			}
			if cut != c.want || len(s.Status.Failures) != 0 || s.Status.Parked != 0 {
				t.Errorf("%d records were cut, want %d; failures %v, parked %d", cut, c.want, s.Status.Failures, s.Status.Parked)
			}
			for _, l := range w.ledger.all {
				if l.Attempt > 0 && l.Record == "" {
					t.Errorf("%s was asked for and has no record", l.URL)
				}
			}
			if asked := len(w.web.Referee().Requests()); asked != len(w.archive.records) {
				t.Errorf("%d requests, %d records", asked, len(w.archive.records))
			}
			heals = true
			w.reopen()
			w.cfg.MaxTime = 0
			if s := w.run(); s.EndedBy != EndedDrained || s.Status.Failed+s.Status.Dropped != 0 {
				t.Errorf("the next run ended by %q: %+v", s.EndedBy, s.Status)
			}
			for _, l := range w.ledger.all {
				if l.Outcome == storage.OutcomeFetched && l.Attempt != 1 {
					t.Errorf("%s was fetched by attempt %d: what was cut counts for none", l.URL, l.Attempt)
				}
			}
		})
	}
}

// A page that asks not to be archived is not, though it was cut (politeness rule 19).
func TestRule19_WhatTheEndCutsMayAskNotToBeArchived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(afterRobots(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/head" {
				rw.Header().Set("X-Robots-Tag", "noarchive")
			} else {
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprint(rw, "<meta name=robots content=noarchive>")
			}
			trickle(rw, r, "text/html", 200)
		}))}
		w := newWorld(t, []string{"http://a.test/head", "http://a.test/meta"}, site)
		w.cfg.MaxTime = 5 * time.Second
		w.run()
		w.reopen()
		w.run()
		for _, r := range w.archive.records {
			if strings.Contains(r.response, "####") {
				t.Errorf("%s is archived with its body", r.URL)
			}
		}
	})
}
