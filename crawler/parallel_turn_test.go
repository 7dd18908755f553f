package crawler

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

// most returns the largest number of requests to a host in flight at one time.
func (w *world) most(host string) (most int) {
	all := w.requests(host)
	for _, r := range all {
		n := 0
		for _, o := range all {
			if !o.Start.After(r.Start) && o.End.After(r.Start) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// wideWorld is a crawl of an own site with eight exchanges at once.
func wideWorld(t *testing.T, site *crawltest.Site) *world {
	w := newWorld(t, []string{"http://localhost/"}, site)
	w.cfg.Delay, w.cfg.PerHost, w.cfg.Workers = -1, 8, 64
	return w
}

func TestRule18_PerHostExchangesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("localhost", 101)
		site.Latency = 100 * time.Millisecond
		for target := range site.Pages {
			site.Pages[target] = crawltest.Page{}
		}
		site.Pages["/"] = crawltest.Page{Links: slices.Collect(maps.Keys(site.Pages))}
		w := wideWorld(t, site)
		begin := time.Now()
		s := w.run()
		if s.Status.Fetched != 101 || s.Status.Pages != 101 {
			t.Fatalf("%d fetched, %d pages", s.Status.Fetched, s.Status.Pages)
		}
		assert.Equal(t, 8, w.most("localhost"), "in flight at once, want 8")
		// robots.txt, the root, then a hundred in thirteen rounds.
		assert.LessOrEqual(t, time.Since(begin), 1600*time.Millisecond, "it took too long")
		w.judged(crawltest.Rules{Width: 8})
		for _, l := range w.ledger.all {
			if l.Gap < 0 || !l.Own {
				t.Errorf("%s: a gap of %v; own %v", l.URL, l.Gap, l.Own)
			}
		}
	})
}

// Exchanges in flight when an own host asks for a back-off may end. Together they count as one failure.
func TestRule18_ManyRefusedAtOnceAreOnePark(t *testing.T) {
	for _, status := range []int{503, 500} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var fails []time.Time
			var after time.Time
			pages, down := crawltest.Tree("localhost", 40).Pages, true
			site := pagesBy("localhost", func(rw http.ResponseWriter, r *http.Request) {
				time.Sleep(50 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case r.URL.Path != "/" && down:
					fails = append(fails, time.Now())
					rw.WriteHeader(status)
				default:
					if r.URL.Path != "/" && after.IsZero() {
						after = time.Now()
					}
					rw.Header().Set("Content-Type", "text/html")
					for _, l := range pages[r.URL.Path].Links {
						fmt.Fprintf(rw, `<a href="%s">x</a>`, l)
					}
				}
			})
			w := wideWorld(t, site)
			time.AfterFunc(20*time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				down = false
			})
			s := w.run()
			if len(fails) < 2 || len(fails) > 8 || s.Status.Refused != 0 || s.Status.Fetched != 40 {
				t.Errorf("%d: %d failed, %d fetched, %d refused", status, len(fails), s.Status.Fetched, s.Status.Refused)
			}
			rest := map[int]time.Duration{503: time.Minute, 500: 30 * time.Second}[status]
			if d := after.Sub(fails[len(fails)-1]); d < rest || d > rest+time.Second {
				t.Errorf("%d: rested %v, want %v", status, d, rest)
			}
		})
	}
}

func TestRule15_BudgetsAreExactInWideTurns(t *testing.T) {
	for _, workers := range []int{1, 3, 64} {
		synctest.Test(t, func(t *testing.T) {
			site := crawltest.Tree("localhost", 60)
			site.Latency = 10 * time.Millisecond
			w := tagged(t, map[string]string{"localhost": "news"}, site)
			w.cfg.Delay, w.cfg.PerHost, w.cfg.Workers = -1, 8, workers
			for _, budget := range []struct {
				of    *int64
				most  int64
				ended string
			}{
				{&w.cfg.MaxPages, 23, EndedMaxPages}, {&w.cfg.MaxPerHost, 31, EndedMaxPerHost},
				{&w.cfg.MaxPerDomain, 41, EndedMaxPerDomain}, {&w.cfg.MaxPerTag, 51, EndedMaxPerTag},
			} {
				*budget.of = budget.most
				if s := w.run(); s.Status.Pages != budget.most || s.EndedBy != budget.ended {
					t.Errorf("%d workers: %d pages, ended by %q; want %d, %q", workers, s.Status.Pages, s.EndedBy, budget.most, budget.ended)
				}
				if most := w.most("localhost"); most > workers {
					t.Errorf("%d in flight with %d workers", most, workers)
				}
				*budget.of = 0
				w.reopen()
			}
		})
	}
}

// A failure elsewhere ends the exchanges of a wide turn, and each has its line.
func TestRule18_AFailureElsewhereLeavesALineOfEachExchangeOfAWideTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("localhost", 3)
		site.Pages["/"] = crawltest.Page{Delay: time.Minute}
		site.Pages["/x.html"] = crawltest.Page{Delay: time.Minute}
		w := newWorld(t, []string{"http://localhost/", "http://localhost/x.html", "http://a.test/"}, site, crawltest.Tree("a.test", 3))
		w.cfg.Delay, w.cfg.PerHost = -1, 8
		w.archive.before = func(r storage.Record) error {
			if strings.HasPrefix(r.URL, "http://a.test/") {
				return errors.New("the disk is full")
			}
			return nil
		}
		w.web.Change("a.test", func(s *crawltest.Site) { s.Latency = time.Second })
		c := w.crawl()
		if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Fatal(err)
		}
		w.wantOutcomes("http://localhost/", "deferred: aborted")
		w.wantOutcomes("http://localhost/x.html", "deferred: aborted")
	})
}

// A panic beside the reader of a page waits for the reader; otherwise the race detector reports it.
func TestAPanicInAWideTurnWaitsForTheReaderOfItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Redirect: "http://localhost/"}}}
		w := newWorld(t, []string{"http://a.test/"}, from, crawltest.Tree("localhost", 3))
		w.cfg.Delay, w.cfg.PerHost = -1, 8
		say := w.cfg.Log
		w.cfg.Log = func(format string, args ...any) {
			if strings.HasPrefix(format, "seed %s redirects") {
				panic("a defect")
			}
			say(format, args...)
		}
		w.run()
		w.wantOutcomes("http://localhost/", "deferred: panic", "deferred: panic", "failed: panic")
	})
}
