package crawler

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// saying is a site whose pages answer with the statuses in turn, the last one for ever.
func saying(statuses ...int) *crawltest.Site {
	n := 0
	return &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		status := statuses[min(n, len(statuses)-1)]
		n++
		rw.WriteHeader(status)
	})}
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
