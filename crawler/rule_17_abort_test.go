package crawler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
)

// accounted fails the test unless each request that a host saw has its record, and each attempt its record but those that
// sent nothing.
func (w *world) accounted(sentNothing int) {
	w.t.Helper()
	synctest.Wait()
	asked, kept, without := map[string]int{}, map[string]int{}, 0
	for _, r := range w.web.Referee().Requests() {
		asked["http://"+r.Host+r.Target]++
	}
	for _, r := range w.archive.records {
		kept[r.URL]++
	}
	for _, l := range w.ledger.all {
		if l.Attempt > 0 && l.Record == "" {
			without++
		}
	}
	for url, n := range asked {
		if kept[url] != n {
			w.t.Errorf("%s was asked for %d times and has %d records", url, n, kept[url])
		}
	}
	if without != sentNothing {
		w.t.Errorf("%d attempts have no record, want %d", without, sentNothing)
	}
}

// Whatever a host is slow with, an abort waits for nothing, and leaves out of the archive only what was not sent.
func TestRule17_AnAbortArchivesWhatWasSent(t *testing.T) {
	for kind := range slowKinds {
		for _, left := range []time.Duration{0, 300 * time.Millisecond} {
			bubble(t, fmt.Sprintf("%s, grace %v", kind, left), func(t *testing.T) {
				w := slowWorld(t, kind, 1, 3)
				begin := time.Now()
				s := w.aborted(5*time.Second, left)
				if took := time.Since(begin); took > 5*time.Second+left {
					t.Errorf("it took %v", took)
				}
				sentNothing := 0
				if kind == "connect" {
					sentNothing = 1 // somebody may have been called on, so the line says so
				}
				w.accounted(sentNothing)
				if s.Status.Queued+s.Status.Deferred < 4 || s.Status.InFlight != 0 || len(s.Status.Failures) != 0 && kind != "header" { // that one ends by itself
					t.Errorf("%+v", s.Status)
				}
				for _, l := range w.ledger.all {
					if kind == "look-up" && l.URL[:12] == "http://slow0" {
						t.Errorf("nobody was asked, and a line says %+v", l)
					}
				}
			})
		}
	}
}

// At whatever instant an abort comes, alone or in the grace, with one exchange at a time or with several.
func TestRule17_AnAbortAtAnyInstantAccountsForEachRequest(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 25))
	for i := range rounds(60) {
		d, left, latency := time.Duration(r.IntN(6000))*time.Millisecond, time.Duration(r.IntN(3))*150*time.Millisecond, time.Duration(r.IntN(4))*100*time.Millisecond
		name := []string{"a.test", "localhost"}[i%2]
		bubble(t, fmt.Sprintf("%s after %v and %v, latency %v", name, d, left, latency), func(t *testing.T) {
			site := crawltest.Tree(name, 40)
			site.Latency = latency
			w := newWorld(t, []string{"http://" + name + "/"}, site)
			if name == "localhost" {
				w.cfg.PerHost, w.cfg.Delay = 4, -1
			}
			w.aborted(d, left)
			w.accounted(0)
			synctest.Wait()
			w.reopen()
			if s := w.run(); s.Status.Fetched != 40 {
				t.Errorf("%d fetched", s.Status.Fetched)
			}
			w.accounted(0)
		})
	}
}

// A request that went out in part was seen by somebody, perhaps: the part is archived.
func TestRule17_AnAbortArchivesARequestHalfSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test"})
		w.fetchBy(func(cfg *fetch.Config) {
			cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				context.AfterFunc(t.Context(), func() { far.Close() })
				go io.CopyN(io.Discard, far, 10)
				return near, nil
			}
		})
		w.aborted(3*time.Second, 0)
		if rs := w.archive.records; len(rs) != 1 || !bytes.Equal(rs[0].Request, []byte("GET /robot")) || rs[0].Response != nil || rs[0].Line.Reason != host.Aborted {
			t.Errorf("%+v", rs)
		}
	})
}

// An answer that came whole, and that an abort leaves nobody time to read, is archived, and asked for again.
func TestRule17_AnAbortArchivesWhatNobodyHasRead(t *testing.T) {
	for _, at := range []string{"a.test", "localhost"} {
		bubble(t, at, func(t *testing.T) {
			w := newWorld(t, []string{"http://" + at + "/"}, &crawltest.Site{Name: at, Handler: http.HandlerFunc(
				afterRobots(func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Type", "text/html")
					fmt.Fprint(rw, "<a href=/more>more</a>")
				}))})
			c := w.crawl()
			for range cap(c.reader.cpu) {
				c.reader.cpu <- struct{}{}
			}
			ctx, abort := context.WithTimeout(t.Context(), 5*time.Second)
			defer abort()
			s, err := c.Run(ctx)
			if err != nil || s.Status.Queued+s.Status.Deferred != 1 {
				t.Fatalf("%v: %+v", err, s.Status)
			}
			w.accounted(0)
			if last := w.archive.records[len(w.archive.records)-1]; last.Line.Reason != host.Aborted || last.Truncated != "" || last.PayloadSize == 0 {
				t.Errorf("%+v", last)
			}
			w.reopen()
			w.run()
			w.wantOutcomes("http://"+at+"/", "deferred: aborted", "fetched: unavailable")
			w.wantOutcomes("http://"+at+"/more", "fetched: unavailable")
		})
	}
}
