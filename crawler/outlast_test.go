package crawler

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
)

// An exchange that is cut by the end of its lease's time is archived as far as it came, with its line, as one is that the end
// of the crawl cuts: a page, one with a head alone, one that sends nothing, and several pages of an own host at once.
func TestWhatTheEndOfTheLeaseCutsIsArchived(t *testing.T) {
	nothing := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow := func(rw http.ResponseWriter, r *http.Request) { trickle(rw, r, "text/html", 200) }
	for name, tt := range map[string]struct {
		host, want string
		answer     http.HandlerFunc
		truncated  string
	}{
		"a page":         {"a.test", "####", slow, fetch.CutTime},
		"without a head": {"a.test", "", nothing, ""},
		"own host":       {"localhost", "####", slow, fetch.CutTime},
	} {
		bubble(t, name, func(t *testing.T) {
			site := &crawltest.Site{Name: tt.host, Handler: http.HandlerFunc(afterRobots(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/slow") {
					tt.answer(rw, r)
				}
			}))}
			seeds := []string{"http://" + tt.host + "/slow1", "http://" + tt.host + "/slow2", "http://" + tt.host + "/quick"}
			w := newWorldLeased(t, 30*time.Second, seeds, crawltest.New(site))
			if tt.host == "localhost" {
				w.cfg.PerHost, w.cfg.Delay = 4, -1
			}
			s := w.run()
			w.wantOutcomes(seeds[0], "deferred: "+reasonLease, "deferred: "+reasonLease, "failed: "+reasonLease)
			cut := 0
			for _, r := range w.archive.records {
				if r.Line.Reason != reasonLease {
					continue
				}
				cut++
				if r.Truncated != tt.truncated || !strings.Contains(r.response, tt.want) || r.Line.Truncated != tt.truncated {
					t.Errorf("%s: truncated %q, %d octets", r.URL, r.Truncated, len(r.response))
				}
			}
			if asked := len(w.web.Referee().Requests()); cut != 6 || asked != len(w.archive.records) {
				t.Errorf("%d records were cut; %d requests, %d records", cut, asked, len(w.archive.records))
			}
			w.counts(s.Status, 8)
		})
	}
}
