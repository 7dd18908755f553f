package crawler

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/hostlock"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// busyLocks are host locks that put off every other Take, as if another crawl had the host.
type busyLocks struct {
	mu sync.Mutex
	freeSpots
	wait  time.Duration
	turns map[canon.Authority]int
	out   map[canon.Authority]bool
}

func newBusyLocks(wait time.Duration) *busyLocks {
	return &busyLocks{wait: wait, turns: map[canon.Authority]int{}, out: map[canon.Authority]bool{}}
}

func (l *busyLocks) Take(a canon.Authority, _ time.Duration) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns[a]++; l.turns[a]%2 == 1 {
		return l.wait, nil
	}
	l.out[a] = true
	return 0, nil
}

func (l *busyLocks) Release(a canon.Authority, _ time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.out, a)
	return nil
}

// Only exchanges count against the limit of sitemaps of a host.
func TestATurnWithoutAnExchangeCountsNoSitemap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", mapLine, map[string]string{"/s.xml": listOf("http://a.test/p1")}))
		w.cfg.HostLocks = newBusyLocks(3 * time.Second)
		w.run()
		if n, got := w.memory("http://a.test/"), len(w.asked("a.test")); n.Sitemaps != 1 || got != 4 {
			t.Errorf("%d sitemaps counted of one; %d requests", n.Sitemaps, got)
		}
	})
}

// A robots.txt that redirects to a host on hold is unreachable, and the crawl ends. It continues after the hold.
func TestAHopToAHostThatIsHeldByTheOperatorRests(t *testing.T) {
	for _, order := range []frontier.Steering{{Act: frontier.Park}, {Act: frontier.Park, For: 20 * time.Minute}, {Act: frontier.Drop}} {
		synctest.Test(t, func(t *testing.T) {
			site, there := crawltest.Tree("a.test", 2), crawltest.Tree("b.test", 1)
			site.Robots.Redirect, there.Robots.Body = "http://b.test/robots.txt", "User-agent: *\nDisallow: /no\n"
			w := newWorld(t, []string{"http://a.test/"}, site, there)
			order.Authority = parse(t, "http://b.test/").Authority()
			if _, err := w.front.Steer(t.Context(), order); err != nil {
				t.Fatal(err)
			}
			w.cfg.MaxTime, w.cfg.MaxWait = 3*time.Hour, 5*time.Minute
			s := w.run()
			if s.EndedBy != EndedWaiting || len(w.asked("b.test")) != 0 || len(s.Status.Resting) == 0 ||
				!strings.HasPrefix(s.Status.Resting[0].Reason, "robots.txt redirects to http://b.test, which the operator holds") {
				t.Fatalf("%+v: ended by %q; %+v", order, s.EndedBy, s.Status.Resting)
			}
			resume := frontier.Steering{Act: frontier.Resume, Authority: order.Authority}
			if _, err := w.front.Steer(t.Context(), resume); err != nil {
				t.Fatal(err)
			}
			w.cfg.MaxWait = 2 * time.Hour
			w.reopen()
			if s := w.run(); s.EndedBy != EndedDrained || s.Status.Fetched != 2 {
				t.Errorf("%+v: ended by %q; %+v", order, s.EndedBy, s.Status)
			}
		})
	}
}

// A policy that cannot be refreshed yet, because the host it redirects to backs off or is on hold, stays in force meanwhile.
func TestPolicy_WaitingRefreshDelaysNoOtherHost(t *testing.T) {
	for name, held := range map[string]bool{"rests": false, "held": true} {
		bubble(t, name, func(t *testing.T) {
			site, there := crawltest.Tree("a.test", 2000), crawltest.Tree("b.test", 1)
			site.Robots.Redirect = "http://b.test/robots.txt"
			there.Robots.Body, there.Robots.Header = "User-agent: *\nDisallow: /no\n", map[string]string{"Cache-Control": "max-age=600"}
			w := newWorld(t, []string{"http://a.test/"}, site, there)
			w.cfg.MaxTime, w.cfg.HostLocks = 595*time.Second, newBusyLocks(time.Second)
			b := parse(t, "http://b.test/").Authority()
			time.AfterFunc(time.Minute, func() {
				if held {
					_, err := w.front.Steer(t.Context(), frontier.Steering{Act: frontier.Park, Authority: b, For: time.Hour})
					assert.NoError(t, err)
					return
				}
				turn, err := w.front.ClaimAuthority(t.Context(), b)
				assert.NoError(t, err)
				_, err = w.front.Finish(t.Context(), []frontier.Result{{Authority: b, Token: turn.Token, Wait: time.Hour, Host: &frontier.HostUpdate{
					Condition: frontier.Parked, Reason: "status 503", Memory: turn.Host.Memory, Robots: turn.Host.Robots,
				}}})
				assert.NoError(t, err)
			})
			begin := time.Now()
			w.run()
			late := 0 // when the policy may be refreshed, at 90 % of its life
			for _, r := range w.requests("a.test") {
				if r.Start.Sub(begin) > 545*time.Second {
					late++
				}
			}
			assert.GreaterOrEqual(t, late, 20, "pages in the last 50 s")
		})
	}
}

// A longer --delay than in the last run also binds the exchange for another host's robots.txt.
func TestRule04_AHopKeepsThePaceThatHoldsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites := []*crawltest.Site{crawltest.Tree("a.test", 1), crawltest.Tree("c.test", 1), crawltest.Tree("b.test", 1)}
		for _, site := range sites[:2] {
			site.Robots.Redirect = "http://b.test/robots.txt"
		}
		sites[0].Robots.Delay = 1400 * time.Millisecond // c.test is first, and the run ends before a.test may go on
		sites[2].Robots.Body, sites[2].Robots.Delay = "User-agent: *\nDisallow: /no\n", 3*time.Second
		w := newWorld(t, []string{"http://a.test/", "http://c.test/"}, sites...)
		w.cfg.MaxTime = 1500 * time.Millisecond
		w.run()
		w.reopen()
		w.cfg.Delay, w.cfg.MaxTime = 20*time.Second, 0
		if s := w.run(); s.Status.Fetched != 2 {
			t.Errorf("%+v", s.Status)
		}
		requests := w.requests("b.test")
		require.GreaterOrEqual(t, len(requests), 2, "requests")
		for i, r := range requests[1:] {
			assert.GreaterOrEqualf(t, r.Start.Sub(requests[i].End), 20*time.Second, "the delay of request %d", i+1)
		}
	})
}

// A turn that only drops URLs of an opt-out keeps the delay of the host.
func TestRule16_17_OptOutTurnKeepsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 8)
		site.Robots.Body = "User-agent: *\nCrawl-delay: 20\n"
		l := newListed(newWorld(t, []string{"http://a.test/"}, site), "a.test/p\n")
		l.run()
		if h := l.host("http://a.test/"); h.Pace != 20*time.Second || h.Outcomes[frontier.Dropped] == 0 {
			t.Errorf("pace %v; %v", h.Pace, h.Outcomes)
		}
	})
}

func TestRule16_18_AProofThatOptedOutCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 3, nil)
		newListed(w, "own.test/.well-known/\n")
		w.cfg.Fetcher = secured{w.cfg.Fetcher, t}
		begin := time.Now()
		s := w.run()
		if s.Status.Fetched != 3 || s.Status.Exchanges != 4 || time.Since(begin) != 3*Floor {
			t.Errorf("%d fetched by %d exchanges in %v", s.Status.Fetched, s.Status.Exchanges, time.Since(begin))
		}
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionOwner && (l.Reason != reasonOptOut || l.Attempt != 0 || l.List == "") {
				t.Errorf("%+v", l)
			}
		}
	})
}

// restsAskedFor are sites that ask for a back-off, by the response that does.
func restsAskedFor(seconds int) map[string]crawltest.Site {
	after := fmt.Sprint(seconds)
	page := func(h http.HandlerFunc) crawltest.Site { return *pagesBy("", h) }
	return map[string]crawltest.Site{
		"503, Retry-After":        page(withStatus(503, "Retry-After", after)),
		"429, Retry-After":        page(withStatus(429, "Retry-After", after)),
		"302, Retry-After":        page(withStatus(302, "Retry-After", after, "Location", "/there")),
		"200, RateLimit":          page(body(200, "<p>Bread.", "RateLimit", `"p";r=0;t=`+after, "Content-Type", "text/html")),
		"503 (robots.txt)":        {Handler: withStatus(503, "Retry-After", after)},
		"500, Retry-After robots": {Handler: withStatus(500, "Retry-After", after)},
	}
}

// sharesLocks gives crawls the host locks of one user, each as a separate process.
func sharesLocks(t *testing.T, worlds ...*world) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "locks")
	for _, w := range worlds {
		l, err := hostlock.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		if why := l.Missing(); why != "" {
			t.Skip(why)
		}
		w.cfg.HostLocks = l
	}
}

// A back-off that a host asked one crawl for binds the other crawls of the user, which log why they wait. Own hosts are no
// exception (rule 18).
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
				assert.Equalf(t, 1, two.logged(why), "it logged %q", two.messages)
				again := one.web.Referee().Requests()[len(all):]
				require.NotEmpty(t, again, "the host is never asked again")
				if gap := again[0].Start.Sub(last); gap < 3000*time.Second || gap > 3002*time.Second {
					t.Errorf("requested %v after a response that asked for 50 min", gap)
				}
			})
		}
	}
}

// A host that asked another crawl for more than a day leaves the run at once.
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
			assert.Equal(t, 1, two.logged("waits because of an earlier crawl or command until 2000-01-02T03:46:"), "log lines on the rest")
			time.Sleep(100_000 * time.Second)
			if late.run(); len(one.asked("a.test")) == asked {
				t.Error("the host is never asked again")
			}
		})
	}
}

// A back-off that another command was asked for also stops parallel exchanges with an own host, after those under way.
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
			assert.NoError(t, other.cfg.HostLocks.Rest(parse(t, w.seeds[0]).Authority(), time.Now(), hostlock.Wish{Wait: rest, Status: 429}))
		})
		assert.EqualValues(t, 200, w.run().Status.Fetched, "fetched")
		before := 0
		for _, r := range w.web.Referee().Requests() {
			switch at := r.Start.Sub(begin); {
			case at <= asked:
				before++
			case at < asked+rest:
				t.Errorf("%s is requested after %v", r.Target, at)
			}
		}
		assert.GreaterOrEqual(t, before, 10, "requests before the rest")
	})
}
