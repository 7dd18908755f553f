package crawler

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/crawler/trap"
	"curtsy/storage"
)

// recordsOf crawls an own site and returns by URL the outcomes and links that are recorded.
func recordsOf(t *testing.T, perHost int, change func(*world)) (records map[string]string, counts map[string]int64) {
	records = map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		w := wideWorld(t, crawltest.Tree("localhost", 60))
		w.cfg.PerHost = perHost
		change(w)
		w.run()
		for _, l := range w.ledger.all {
			records[l.URL] += string(l.Decision) + " " + string(l.Outcome) + " " + l.Reason + "\n"
		}
		for _, r := range w.archive.records {
			for _, to := range r.Outlinks {
				records[r.URL] += string(to.Kind) + " " + to.URL + "\n"
			}
		}
		stats, err := w.front.Stats(t.Context())
		require.NoError(t, err)
		counts = stats.Counts
		records["history"] = fmt.Sprint(len(w.memory("http://localhost/").History)) // the same shapes, in another order
	})
	return records, counts
}

// Parallel exchanges read pages ahead, which changes no record: not when shapes begin to count meanwhile, and not when a page
// cannot be read.
func TestReadAhead_RecordsAreTheSame(t *testing.T) {
	for name, change := range map[string]func(*world){
		"plain":                func(*world) {},
		"shapes, from 20 on":   func(w *world) { w.cfg.Traps = trap.Limits{Template: 420} },
		"a reader that panics": func(w *world) { w.cannotRead(true) },
	} {
		t.Run(name, func(t *testing.T) {
			alone, onAlone := recordsOf(t, 1, change)
			ahead, onAhead := recordsOf(t, 8, change)
			if len(alone) < 3 || !maps.Equal(alone, ahead) {
				t.Errorf("one at a time %d URLs: %v\neight at a time %d: %v", len(alone), alone, len(ahead), ahead)
			}
			for _, counts := range []map[string]int64{onAlone, onAhead} {
				maps.DeleteFunc(counts, func(name string, _ int64) bool { return name == budget.Bytes })
			}
			if !maps.Equal(onAlone, onAhead) {
				t.Errorf("one at a time %v\neight at a time %v", onAlone, onAhead)
			}
		})
	}
}

// unreadable is a body that cannot be read: a panic, or an error of the crawler's own disk.
type unreadable struct{ panics bool }

func (u unreadable) ReadAt([]byte, int64) (int, error) {
	if u.panics {
		panic("a parser's defect")
	}
	return 0, errDisk
}

// cannotRead makes the body of /p7.html unreadable.
func (w *world) cannotRead(panics bool) {
	w.onExchange(func(r fetch.Request, ex *fetch.Exchange) {
		if r.URL.RequestURI() == "/p7.html" {
			ex.Body = io.NewSectionReader(unreadable{panics}, 0, 100)
		}
	})
}

var errDisk = errors.New("the disk is gone")

type slow struct{ io.ReaderAt }

func (s slow) ReadAt(p []byte, at int64) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return s.ReaderAt.ReadAt(p, at)
}

// Ten refusals in a row retire a host, in the order of the responses and not in that of the reading.
func TestRefusalsDoNotOvertakePagesThatAreBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "localhost", Latency: time.Millisecond, Pages: map[string]crawltest.Page{}}
		var root crawltest.Page
		for i := range 120 {
			target, page := fmt.Sprintf("/p%d.html", i), crawltest.Page{Delay: time.Duration(i) * time.Microsecond} // they answer in order
			if i%3 != 0 {
				page.Status = http.StatusForbidden
			}
			root.Links = append(root.Links, target)
			site.Pages[target] = page
		}
		site.Pages["/"] = root
		w := wideWorld(t, site)
		w.onExchange(func(_ fetch.Request, ex *fetch.Exchange) {
			if ex.Status == http.StatusOK && ex.Body != nil {
				ex.Body = io.NewSectionReader(slow{ex.Body}, 0, ex.Body.Size())
			}
		})
		if s := w.run(); s.Status.Pages != 41 {
			t.Errorf("%d pages, want 41: %+v", s.Status.Pages, s)
		}
	})
}

func TestADiskThatFailsAReadingAheadEndsTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := wideWorld(t, crawltest.Tree("localhost", 30))
		w.cannotRead(false)
		_, err := w.crawl().Run(t.Context())
		require.ErrorIs(t, err, errDisk)
	})
}

// Only one large page at a time is read until it is settled. Small pages pass it.
func TestLargePages_HaveTurnsUntilSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seeds []string
		var sites []*crawltest.Site
		add := func(host string, size int) {
			page := crawltest.Page{Body: "<p>" + strings.Repeat(" ", size)}
			seeds, sites = append(seeds, "http://"+host+"/"), append(sites, &crawltest.Site{Name: host, Pages: map[string]crawltest.Page{"/": page}})
		}
		n := 2 * cap(record.NewCPU())
		for i := range n {
			add(fmt.Sprintf("large%d.test", i), extract.MaxParse*6/10)
			add(fmt.Sprintf("small%d.test", i), 10)
		}
		w := newWorld(t, seeds, sites...)
		var mu sync.Mutex
		large, small, now, most, before := 0, 0, 0, 0, 0 // before: small ones before the second large one
		w.archive.before = func(r storage.Record) error {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.PayloadSize > 1<<20:
				if large++; large == 2 {
					before = small
				}
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
			case !strings.HasSuffix(r.URL, "/robots.txt"):
				small++
			}
			return nil
		}
		w.cfg.Workers = 2 * n
		if s := w.run(); s.Status.Fetched != int64(2*n) {
			t.Errorf("%+v", s.Status)
		}
		if most != 1 || before != n {
			t.Errorf("%d large pages at one time, want 1; %d small ones before the second, want %d", most, before, n)
		}
	})
}
