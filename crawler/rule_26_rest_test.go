package crawler

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/hostlock"
)

// restsAskedFor are responses that ask for so many seconds, by what asks for them, and where they come from.
func restsAskedFor(seconds int) map[string]crawltest.Site {
	after := fmt.Sprint(seconds)
	page := func(h http.HandlerFunc) crawltest.Site {
		return crawltest.Site{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				withStatus(404)(rw, r)
				return
			}
			h(rw, r)
		})}
	}
	return map[string]crawltest.Site{
		"503, Retry-After":        page(withStatus(503, "Retry-After", after)),
		"429, Retry-After":        page(withStatus(429, "Retry-After", after)),
		"302, Retry-After":        page(withStatus(302, "Retry-After", after, "Location", "/there")),
		"200, RateLimit":          page(body(200, "<p>Bread.", "RateLimit", `"p";r=0;t=`+after, "Content-Type", "text/html")),
		"503 (robots.txt)":        {Handler: withStatus(503, "Retry-After", after)},
		"500, Retry-After robots": {Handler: withStatus(500, "Retry-After", after)},
	}
}

// sharesLocks gives crawls the host locks of one user, each as a process of its own.
func sharesLocks(t *testing.T, worlds ...*world) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "locks")
	for _, w := range worlds {
		l, err := hostlock.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if why := l.Missing(); why != "" {
			t.Skip(why)
		}
		w.cfg.HostLocks = l
	}
}

// Politeness rules 11, 14 and 26: what a host asked one crawl for, another crawl of the same user keeps, to the microsecond,
// and says why it waits. Own hosts are no exception (rule 18).
func TestRule26_AnotherCrawlKeepsARest(t *testing.T) {
	for _, host := range []string{"a.test", "localhost"} {
		for name, made := range restsAskedFor(3000) {
			bubble(t, host+" "+name, func(t *testing.T) {
				site := made
				site.Name = host
				seeds := []string{"http://" + host + "/"}
				one := newWorld(t, seeds, &site)
				two := newWorldOn(t, 0, seeds, one.web)
				sharesLocks(t, one, two)
				one.cfg.MaxWait, two.cfg.MaxWait = time.Minute, time.Hour
				two.cfg.PerHost, two.cfg.Delay = 4, -1
				one.run()
				all := one.web.Referee().Requests()
				last := all[len(all)-1].End
				time.Sleep(300 * time.Millisecond)

				c := two.crawl()
				const why = "waits because of an earlier crawl or command until 2000-01-01T00:50:"
				time.AfterFunc(20*time.Minute, func() {
					s, err := c.Status(t.Context())
					if n := len(one.web.Referee().Requests()) - len(all); err != nil || n != 0 {
						t.Errorf("%d requests during the rest, %v", n, err)
					}
					if len(s.Resting) != 1 || !strings.Contains(s.Resting[0].Reason, why) {
						t.Errorf("resting: %+v", s.Resting)
					}
				})
				time.AfterFunc(51*time.Minute, c.Drain)
				two.finish(c)
				if strings.Count(strings.Join(two.said, "\n"), why) != 1 {
					t.Errorf("it said %q", two.said)
				}
				again := one.web.Referee().Requests()[len(all):]
				if len(again) == 0 {
					t.Fatal("the host is never asked again")
				}
				if gap := again[0].Start.Sub(last); gap < 3000*time.Second || gap > 3002*time.Second {
					t.Errorf("asked %v after a response that asked for 50 min", gap)
				}
			})
		}
	}
}

// Politeness rule 11: a host that asked another crawl for more than a day leaves the run at once, however long that waits.
func TestRule11_ARestOfADayEndsAnotherRun(t *testing.T) {
	for name, made := range restsAskedFor(100_000) {
		bubble(t, name, func(t *testing.T) {
			site := made
			site.Name = "a.test"
			seeds := []string{"http://a.test/"}
			one := newWorld(t, seeds, &site)
			two, late := newWorldOn(t, 0, seeds, one.web), newWorldOn(t, 0, seeds, one.web)
			sharesLocks(t, one, two, late)
			one.run()
			asked, began := len(one.asked("a.test")), time.Now()
			two.cfg.MaxWait = 48 * time.Hour
			s := two.run()
			if n := len(one.asked("a.test")) - asked; n != 0 || time.Since(began) > time.Minute || s.Status.Queued+s.Status.Deferred != 1 || s.Status.Retired != 1 {
				t.Errorf("%d requests, after %v; %+v", n, time.Since(began), s.Status)
			}
			if said := strings.Join(two.said, "\n"); strings.Count(said, "waits because of an earlier crawl or command until 2000-01-02T03:46:") != 1 {
				t.Errorf("it said %q", said)
			}
			time.Sleep(100_000 * time.Second)
			if late.run(); len(one.asked("a.test")) == asked {
				t.Error("the host is never asked again")
			}
		})
	}
}

// Politeness rules 18 and 26: a host that several exchanges at once are made with is left alone as soon as it has asked another
// command for that, once those under way are over; and each page is fetched afterwards.
func TestRule26_ARestHoldsAmongExchangesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("localhost", 200)
		site.Latency = 100 * time.Millisecond
		w := wideWorld(t, site)
		other := newWorldOn(t, 0, w.seeds, w.web)
		sharesLocks(t, w, other)
		begin := time.Now()
		const asked, rest = 1050 * time.Millisecond, time.Minute
		time.AfterFunc(asked, func() {
			if err := other.cfg.HostLocks.Rest(parse(t, w.seeds[0]).Authority(), time.Now(), hostlock.Wish{Wait: rest, Status: 429}); err != nil {
				t.Error(err)
			}
		})
		if s := w.run(); s.Status.Fetched != 200 {
			t.Errorf("%d fetched", s.Status.Fetched)
		}
		before := 0
		for _, r := range w.web.Referee().Requests() {
			switch at := r.Start.Sub(begin); {
			case at <= asked:
				before++
			case at < asked+rest:
				t.Errorf("%s is asked for after %v", r.Target, at)
			}
		}
		if before < 10 {
			t.Errorf("%d requests before the rest", before)
		}
	})
}
