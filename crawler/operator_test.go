package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// drop drops a host, as an operator does while the crawl is running.
func (w *world) drop(url string) {
	s := frontier.Steering{Act: frontier.Drop, Authority: parse(w.t, url).Authority()}
	if _, err := w.front.Steer(w.t.Context(), s); err != nil {
		w.t.Error(err)
	}
}

// wantTold fails unless ledger and archive tell of as many URLs that an operator dropped as the frontier counts, and of at
// least so many.
func (w *world) wantTold(least int64) {
	w.t.Helper()
	st, err := w.front.Stats(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var inLedger, inArchive int64
	for _, l := range w.ledger.all {
		if l.Reason == frontier.ReasonOperator && l.Outcome == "dropped" {
			inLedger += max(l.Count, 1)
		}
	}
	for _, l := range w.archive.refused {
		if l.Reason == frontier.ReasonOperator && l.Outcome == "dropped" {
			inArchive += max(l.Count, 1)
		}
	}
	counted := st.Reasons[frontier.Dropped][frontier.ReasonOperator]
	if inLedger != counted || inArchive != counted || counted < least {
		w.t.Errorf("%d URLs are dropped, at least %d should be; the ledger tells of %d, the archive of %d", counted, least, inLedger, inArchive)
	}
}

// What a drop closes later has its line as well: what other pages name, and the tasks of the turn that is under way, those
// that it defers and those that it leaves.
func TestWhatIsFoundOfADroppedHostAndWhatIsUnderALeaseHasItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		a := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/":
				fmt.Fprint(rw, `<a href="/1"></a><a href="/2"></a><a href="/3"></a><a href="/4"></a><a href="/5"></a><a href="/6"></a>`)
			case "/1":
				w.drop("http://a.test/")
				http.Error(rw, "", http.StatusServiceUnavailable)
			default:
				http.NotFound(rw, r)
			}
		})}
		b := &crawltest.Site{Name: "b.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(rw, r)
				return
			}
			time.Sleep(30 * time.Second)
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, `<a href="http://a.test/late"></a><a href="http://a.test/later"></a><a href="http://a.test/1"></a>`)
		})}
		w = newWorld(t, []string{"http://a.test/", "http://b.test/"}, a, b)
		w.run()
		w.wantTold(8) // 1 to 6, late and later
		w.wantOutcomes("http://a.test/1", "deferred: status 503", "dropped: operator")
		w.wantOutcomes("http://a.test/late", "dropped: operator")
	})
}

// The same holds for what a sitemap lists, of which a large one is entered in pieces.
func TestWhatASitemapListsOfADroppedHostHasItsLine(t *testing.T) {
	for _, listed := range []int{3, sitemapBatch + 3} {
		synctest.Test(t, func(t *testing.T) {
			var w *world
			a := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {}}, Robots: crawltest.Robots{Body: "Sitemap: http://a.test/map.txt\n"}}
			a.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/map.txt" {
					http.NotFound(rw, r)
					return
				}
				w.drop("http://a.test/")
				rw.Header().Set("Content-Type", "text/plain")
				for i := range listed {
					fmt.Fprintf(rw, "http://a.test/%d\n", i)
				}
			})
			w = newMapped(t, []string{"http://a.test/"}, a)
			w.run()
			w.wantTold(int64(listed))
		})
	}
}

// sameRefusals checks that archive and ledger say the same of what was not asked for.
func (w *world) sameRefusals() {
	w.t.Helper()
	var want []storage.Line
	for _, l := range w.ledger.all {
		if l.Attempt == 0 {
			want = append(want, l)
		}
	}
	if len(want) == 0 || !slices.Equal(w.archive.refused, want) {
		w.t.Errorf("%d refusals in the archive, %d in the ledger", len(w.archive.refused), len(want))
	}
}
