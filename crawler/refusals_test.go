package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/record"
	"curtsy/storage"
)

// Refusals beyond the first thousand of a kind are counted, in the archive as in the ledger, and also when the run is
// drained before its end.
func TestRule22_RefusalsOfAKindAreCountedNotListed(t *testing.T) {
	for name, pages := range map[string]int64{"to the end": 0, "drained": 2} {
		bubble(t, name, func(t *testing.T) {
			site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.NotFound(rw, r)
					return
				}
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(rw, "<p>This is %s.", r.URL.Path) // no copy of another one
				for i := range 1300 {
					fmt.Fprintf(rw, `<a href="/no/%s-%d">x</a>`, r.URL.Path[1:], i)
				}
				fmt.Fprint(rw, `<a href="/b">b</a><a href="/c">c</a>`)
			})}
			w := newWorld(t, []string{"http://a.test/"}, site)
			w.cfg.Scope.Exclude, w.cfg.MaxPages = []string{"/no/"}, pages
			s := w.run()
			var lines, counted int64
			for _, l := range w.ledger.all {
				switch {
				case l.Decision != storage.DecisionRefuse:
				case l.Count > 0:
					counted += l.Count
				default:
					lines++
				}
			}
			if want := s.Status.Pages * 1300; lines != record.MaxLines || lines+counted != want || s.Status.Dropped != want {
				t.Errorf("%d lines, %d counted, %d dropped; want %d", lines, counted, s.Status.Dropped, want)
			}
			w.sameRefusals()
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
