package crawler

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
)

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

func seedsOf(n int) (seeds []string) {
	for i := range n {
		seeds = append(seeds, "http://a.test/"+strconv.Itoa(i))
	}
	return seeds
}

// Refusals are in a row over runs. Only the operator opens the host, and then ten more retire it again.
func TestRule13_TenRefusalsRefuseTheHostUntilAnOperatorOpensIt(t *testing.T) {
	for _, status := range []int{401, 402, 403, 407, 451} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seedsOf(30), pagesBy("a.test", withStatus(status)))
			w.cfg.MaxTime = 6 * time.Second
			w.run()
			w.reopen()
			w.cfg.MaxTime = 0
			s := w.run()
			if n := len(w.asked("a.test")); n != 11 || s.Status.Refused != 1 || !s.Incomplete {
				t.Fatalf("%d: requested %d times, %d refused", status, n, s.Status.Refused)
			}
			if r := s.Status.Resting; len(r) != 1 || r[0].Reason != "10 refusals in a row, the last: status "+strconv.Itoa(status) {
				t.Errorf("resting: %+v", r)
			}
			time.Sleep(12 * time.Hour)
			w.reopen()
			if w.run(); len(w.asked("a.test")) != 11 {
				t.Errorf("%d: requested %d times: a restart reopens no host", status, len(w.asked("a.test")))
			}
			w.retry(frontier.Retrial{Hosts: true})
			if s := w.run(); len(w.asked("a.test")) != 21 || s.Status.Refused != 1 {
				t.Errorf("%d: requested %d times, want ten more", status, len(w.asked("a.test")))
			}
			for _, l := range w.ledger.all {
				assert.LessOrEqualf(t, l.Attempt, 1, "%s was tried again", l.URL)
			}
		})
	}
}

// A 403 on both the host's own robots.txt and the first page retires the host.
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
		playAll(t, []scenario{{
			name: c.name, seeds: "http://a.test/ http://a.test/x", ended: c.ended, incomplete: c.pages["/"].Status != 0,
			sites:   []*crawltest.Site{{Name: "a.test", Pages: c.pages, Robots: crawltest.Robots{Status: c.robots}}},
			figures: map[string]int64{"hosts_refused": c.refused},
			check: func(t *testing.T, _ *world, s Summary) {
				assert.Equalf(t, (c.refused > 0), s.Status.Resting != nil, "%+v", s.Status.Resting)
			},
		}})
	}
	playAll(t, []scenario{
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
