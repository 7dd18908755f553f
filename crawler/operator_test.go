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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drop drops a host, as the operator does.
func (w *world) drop(url string) {
	_, err := w.front.Steer(w.t.Context(), frontier.Steering{Act: frontier.Drop, Authority: parse(w.t, url).Authority()})
	assert.NoError(w.t, err)
}

func (w *world) wantTold(least int64) {
	w.t.Helper()
	st, err := w.front.Stats(w.t.Context())
	require.NoError(w.t, err)
	counted := st.Reasons[frontier.Dropped][frontier.ReasonOperator]
	assert.GreaterOrEqual(w.t, counted, least, "dropped")
	for name, lines := range map[string][]storage.Line{"ledger": w.ledger.all, "archive": w.archive.refused} {
		n := int64(0)
		for _, l := range lines {
			if l.Reason == frontier.ReasonOperator && l.Outcome == "dropped" {
				n += max(l.Count, 1)
			}
		}
		assert.Equalf(w.t, counted, n, "dropped, by the %s", name)
	}
}

// URLs that a drop closes later also have their lines: those that other pages name, and those of the turn under way.
func TestDroppedHost_LateURLsHaveLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		a := pagesBy("a.test", func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/1" {
				w.drop("http://a.test/")
			}
			withStatus(503)(rw, r)
		})
		a.Pages = pages{"/": {Links: []string{"/1", "/2", "/3", "/4", "/5", "/6"}}}
		b := &crawltest.Site{Name: "b.test", Pages: pages{
			"/": {Links: []string{"http://a.test/late", "http://a.test/later", "http://a.test/1"}, Delay: 30 * time.Second},
		}}
		w = newWorld(t, []string{"http://a.test/", "http://b.test/"}, a, b)
		w.run()
		w.wantTold(8) // 1 to 6, late and later
		w.wantOutcomes("http://a.test/1", "deferred: status 503", "dropped: operator")
		w.wantOutcomes("http://a.test/late", "dropped: operator")
	})
}

func TestDroppedHost_SitemapURLsHaveLines(t *testing.T) {
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

// sameRefusals checks that archive and ledger agree on the URLs without a request.
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
