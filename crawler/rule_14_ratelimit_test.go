package crawler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

func TestRule14_TheWholeCrawlKeepsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 6)
		left := 5
		pages := site.Pages
		site.Pages = nil
		site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.RequestURI, "/robots") {
				http.NotFound(rw, r)
				return
			}
			left--
			rw.Header().Set("RateLimit", fmt.Sprintf(`"q";r=%d;t=40`, left))
			if left == 0 {
				left = 10
			}
			rw.Header().Set("Content-Type", "text/html")
			for _, l := range pages[r.RequestURI].Links {
				fmt.Fprintf(rw, `<a href="%s">x</a>`, l)
			}
		})
		w := newWorld(t, []string{"http://a.test/"}, site)
		begin := time.Now()
		s := w.run()
		// After the robots.txt 1 s, then 40 s / 4, 3, 2, 1, then all of 40 s.
		want := time.Second + 10*time.Second + 13333334*time.Microsecond + 20*time.Second + 40*time.Second + 40*time.Second
		if took := time.Since(begin).Truncate(time.Millisecond); s.Status.Fetched != 6 || took != want.Truncate(time.Millisecond) {
			t.Errorf("%d fetched in %v, want 6 in %v", s.Status.Fetched, took, want)
		}
		by := map[string]int{}
		for _, l := range w.ledger.all {
			by[string(l.PaceBy)]++
			if l.PaceBy == storage.ByRateLimit && l.Gap < l.Pace {
				t.Errorf("%s: a gap of %v at a pace of %v", l.URL, l.Gap, l.Pace)
			}
		}
		if by[string(storage.ByRateLimit)] != 5 { // four were spaced by it, one had to wait for all of a quota
			t.Errorf("who asked for the pace: %v; five exchanges waited for RateLimit", by)
		}
	})
}
