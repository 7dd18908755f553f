package crawler

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
	"curtsy/storage"
)

// keptPaces fails the test for a line whose exchange began sooner after the one before than the line says was due, and
// returns how many lines of exchanges there are by who asked for the pause.
func keptPaces(t *testing.T, all []storage.Line) map[string]int {
	t.Helper()
	by := map[string]int{}
	for _, l := range all {
		if l.Attempt == 0 {
			if l.Gap != 0 || l.Pace != 0 || l.PaceBy != "" {
				t.Errorf("%s was not asked for, and yet its pace is %v by %q, its gap %v", l.URL, l.Pace, l.PaceBy, l.Gap)
			}
			continue
		}
		by[string(l.PaceBy)]++
		if l.PaceBy == "" {
			t.Errorf("%s (%s, %s): nobody asked for its pace", l.URL, l.Decision, l.Reason)
		}
		if l.Gap > 0 && l.Gap < l.Pace {
			t.Errorf("%s: a gap of %v, %v were due by %q", l.URL, l.Gap, l.Pace, l.PaceBy)
		}
		if l.Gap%time.Microsecond != 0 {
			t.Errorf("%s: a gap of %v is more exact than the archive's dates", l.URL, l.Gap)
		}
	}
	return by
}

// The rest that a host asked for is the pace of its next exchange, and so after a restart.
func TestRule11_TheLineSaysThatRetryAfterWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/robots.txt" {
				http.NotFound(rw, r)
				return
			}
			if asked++; asked == 1 {
				rw.Header().Set("Retry-After", "300")
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		})}
		w := newWorld(t, []string{"http://a.test/", "http://a.test/x"}, site)
		w.cfg.MaxWait = time.Minute
		w.run()
		time.Sleep(time.Minute)
		w.reopen()
		w.cfg.MaxWait = time.Hour
		w.run()
		keptPaces(t, w.ledger.all)
		var paces []host.Pace
		for _, l := range w.ledger.all {
			paces = append(paces, host.Pace{Pause: l.Pace, By: l.PaceBy})
		}
		want := []host.Pace{{Pause: Floor, By: storage.ByFloor}, {Pause: Floor, By: storage.ByFloor}, {Pause: 300 * time.Second, By: storage.ByRetryAfter}, {Pause: Floor, By: storage.ByFloor}}
		if !slices.Equal(paces, want) {
			t.Errorf("%v, want %v", paces, want)
		}
	})
}

// Rule 18: exchanges of an own host may overlap, and then the line says that the host is own and that no pause was due.
// What comes first after a rest has its turn alone.
func TestRule18_OverlappingExchangesHaveNoPaceAndAreOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "localhost", Latency: 100 * time.Millisecond, Pages: map[string]crawltest.Page{"/": {
			Links: []string{"/a", "/b", "/busy", "/d", "/e", "/f", "/g", "/h"},
		}}}
		for _, target := range site.Pages["/"].Links {
			site.Pages[target] = crawltest.Page{}
		}
		site.Pages["/busy"] = crawltest.Page{FailFirst: 1}
		w := wideWorld(t, site)
		w.cfg.PerHost = 3
		w.run()
		overlapping := 0
		if by := keptPaces(t, w.ledger.all); by[string(storage.ByErrors)] != 1 {
			t.Errorf("who asked for the pace: %v; one exchange came after a rest", by)
		}
		for i, l := range w.ledger.all {
			if !l.Own {
				t.Errorf("%s is not said to be own", l.URL)
			}
			for _, o := range w.ledger.all[:i] {
				if l.Began.Before(o.Began.Add(o.Took)) && o.Began.Before(l.Began.Add(l.Took)) {
					overlapping++
					if l.Pace != 0 || o.Pace != 0 {
						t.Errorf("%s and %s overlap at paces of %v and %v", o.URL, l.URL, o.Pace, l.Pace)
					}
				}
			}
		}
		if overlapping == 0 {
			t.Error("no exchanges overlap")
		}
	})
}

// After a kill nobody knows when the last exchange with a host was: the first line of each says no gap, and those behind it
// do again.
func TestLine_TheGapAfterAKillIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 9))
		w.cfg.MaxTime = 4 * Floor
		w.run()
		w.crashed()
		w.cfg.MaxTime = 0
		before := len(w.ledger.all)
		w.run()
		for i, l := range w.ledger.all {
			if known := i != 0 && i != before; (l.Gap > 0) != known {
				t.Errorf("line %d of %d + %d, %s: gap %v", i, before, len(w.ledger.all)-before, l.URL, l.Gap)
			}
		}
	})
}
