package crawler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/gate"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// pagesOf returns n URLs of a host.
func pagesOf(host string, n int) []string {
	urls := make([]string, n)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://%s/p%d", host, i)
	}
	return urls
}

// watched is a frontier that tells of what is added to it.
type watched struct {
	frontier.Frontier
	adds    atomic.Int64
	looks   atomic.Int64 // at a host
	largest atomic.Int64 // candidates in one call or result
	onAdd   func(n int64) error
}

func (f *watched) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	n := f.adds.Add(1)
	f.largest.Store(max(f.largest.Load(), int64(len(cs))))
	if f.onAdd != nil {
		if err := f.onAdd(n); err != nil {
			return frontier.Added{}, err
		}
	}
	return f.Frontier.Add(ctx, cs)
}

func (f *watched) Host(ctx context.Context, a canon.Authority) (frontier.Host, bool, error) {
	f.looks.Add(1)
	return f.Frontier.Host(ctx, a)
}

func (f *watched) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	f.largest.Store(max(f.largest.Load(), int64(len(rs[0].Found))))
	return f.Frontier.Finish(ctx, rs)
}

func TestSitemaps_OneOf60000URLsGivesTheFirst50000InBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", mapLine, map[string]string{"/s.xml": listOf(pagesOf("a.test", 60_000)...)}))
		f := &watched{Frontier: w.front}
		w.cfg.Frontier = f
		w.cfg.MaxPages = 2
		s := w.run()
		if s.Status.Discovered != 50_002 || s.Status.Listed != 60_000 || s.Status.Links["sitemap:too many entries"] != 10_000 {
			t.Errorf("%+v", s.Status)
		}
		if f.largest.Load() != sitemapBatch || f.adds.Load() != 50_000/sitemapBatch {
			t.Errorf("%d calls of Add, the largest of %d", f.adds.Load(), f.largest.Load())
		}
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}

func TestSitemaps_OneLooksAtSoManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range 3 * maxHosts {
			urls = append(urls, fmt.Sprintf("http://h%d.test/", i%(maxHosts+500)))
		}
		w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", mapLine, map[string]string{"/s.xml": listOf(append(urls, "http://a.test/p1")...)}))
		f := &watched{Frontier: w.front}
		w.cfg.Frontier = f
		s := w.run()
		w.wantAsked("a.test", "/robots.txt", "/", "/s.xml", "/p1")
		if f.looks.Load() != maxHosts || s.Status.Links[reasonOtherHost] != 3*maxHosts {
			t.Errorf("%d looks, %v", f.looks.Load(), s.Status.Links)
		}
	})
}

var errKilled = errors.New("killed")

// A kill while a sitemap is read, after some of its batches and before the rest: the next run reads it again, and all
// that it lists is there, once.
func TestSitemaps_AKillInTheMiddleLosesNothing(t *testing.T) {
	const listed = 3*sitemapBatch + 100
	for kill := int64(1); kill <= 4; kill++ { // at a batch, or before the turn is finished
		if racing && kill%2 == 1 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", mapLine, map[string]string{"/s.xml": listOf(pagesOf("a.test", listed)...)}))
			f := &watched{Frontier: w.front, onAdd: func(n int64) error {
				if n == kill {
					return errKilled
				}
				return nil
			}}
			w.cfg.Frontier = f
			if kill == 4 {
				w.cfg.Recorder = &killed{archive: w.archive, at: "/s.xml"}
			}
			if _, err := w.crawl().Run(t.Context()); !errors.Is(err, errKilled) {
				t.Fatalf("the run ended with %v", err)
			}
			w.crashed()
			w.cfg.Recorder = w.archive
			dropPages(t, w.front, "a.test", listed) // the sitemap was in flight: it comes last at its host
			w.cfg.MaxPages = 2
			s := w.run()
			if s.Status.Discovered != listed+2 || s.Status.Sitemaps != 1 {
				t.Errorf("killed at %d: %+v", kill, s.Status)
			}
			w.judged(crawltest.Rules{Pace: Floor, Partial: true, Repeats: 2})
		})
	}
}

// dropPages drops those pages of a site that are pending.
func dropPages(t *testing.T, f frontier.Frontier, host string, n int) {
	t.Helper()
	var us []canon.URL
	for _, page := range pagesOf(host, n) {
		us = append(us, parse(t, page))
	}
	if _, err := f.Steer(t.Context(), frontier.Steering{Act: frontier.Drop, Authority: us[0].Authority(), URLs: us}); err != nil {
		t.Fatal(err)
	}
}

// killed fails when the record of one URL is to be kept.
type killed struct {
	*archive
	at string
}

func (k *killed) Record(ctx context.Context, r storage.Record) (storage.Receipt, error) {
	if strings.HasSuffix(r.URL, k.at) {
		return storage.Receipt{}, errKilled
	}
	return k.archive.Record(ctx, r)
}

func TestSitemaps_AreBoundedPerHost(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		// Three indexes that list 600 each, and one that lists too many by itself.
		files, robotsTxt := map[string]string{}, "Sitemap: /big.xml\n"
		for i := range 3 {
			var urls []string
			for j := range 600 {
				urls = append(urls, fmt.Sprintf("/m%d-%d.xml", i, j))
			}
			files[fmt.Sprintf("/i%d.xml", i)] = indexOf(urls...)
			robotsTxt += fmt.Sprintf("Sitemap: /i%d.xml\n", i)
		}
		files["/big.xml"] = indexOf(pagesOf("a.test", maxSitemaps+5)...)
		w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", robotsTxt, files))
		w.cfg.Delay = 10 * time.Second
		s := w.run()
		if s.Status.Links[reasonSitemaps] != 5 {
			t.Errorf("%v", s.Status.Links)
		}
		asked := len(w.asked("a.test")) - 2
		dropped := s.Status.Reasons["dropped"][reasonSitemaps]
		if asked != maxSitemaps || dropped != 4+1800+maxSitemaps-int64(asked) {
			t.Errorf("%d were asked for, %d dropped", asked, dropped)
		}
		// The count goes on over restarts.
		w.reopen()
		w.web.Change("a.test", func(s *crawltest.Site) { s.Robots.Body += "Sitemap: /new.xml\n" })
		u := parse(t, "http://a.test/later")
		w.front.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindSeed, Seed: u.String()}})
		time.Sleep(25 * time.Hour)
		w.run()
		w.wantOutcomes("http://a.test/new.xml", "dropped: "+reasonSitemaps)
	})
}

func TestSitemaps_OneRobotsTxtNamesSoMany(t *testing.T) {
	terms := robots.Terms{}
	book := terms.Parse([]byte("Sitemap: mailto:x\nSitemap:\nSitemap: /robots.txt\n"+strings.Repeat("sitemap: /s\n", 3)), "curtsy")
	a := parse(t, "http://a.test/").Authority()
	maps, refused := namedSitemaps(gate.Rules{Book: book}, a)
	if len(maps) != 1 || maps[0] != parse(t, "http://a.test/s") || refused["sitemap:scheme"] != 1 || refused["sitemap:no address"] == 0 {
		t.Errorf("%v, %v", maps, refused)
	}
	var b strings.Builder
	for i := range maxSitemaps + 7 {
		fmt.Fprintf(&b, "Sitemap: /%d\n", i)
	}
	maps, refused = namedSitemaps(gate.Rules{Book: terms.Parse([]byte(b.String()), "curtsy")}, a)
	if len(maps) != maxSitemaps || refused[reasonSitemaps] != 7 {
		t.Errorf("%d, %v", len(maps), refused)
	}
	if maps, _ := namedSitemaps(gate.Rules{}, a); maps != nil {
		t.Error("a host without rules names none")
	}
}

// What a robots.txt names is the same in the first turn of a later run, which may be the first one to read sitemaps.
func TestSitemaps_AreNamedByAPolicyThatIsKnownAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/", "http://a.test/p0"}, mapped("a.test", mapLine, map[string]string{"/s.xml": listOf("http://a.test/p1")}))
		w.cfg.MaxPages = 1
		w.run()
		w.reopen()
		w.cfg.MaxPages, w.cfg.Sitemaps.Robots = 0, true
		w.run()
		w.wantAsked("a.test", "/robots.txt", "/", "/p0", "/s.xml", "/p1")
	})
}
