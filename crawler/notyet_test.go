package crawler

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// busyLocks are host locks of which every other request for one is told to come again, as if another crawl had it.
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

// The proof of an own host has to wait like any exchange, and that is no failure of anything.
func TestRule18_TheProofWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 5, nil)
		w.cfg.Workers = 1
		locks := newBusyLocks(3 * time.Second)
		w.cfg.HostLocks = locks
		if s := w.run(); s.EndedBy != EndedDrained || s.Status.Fetched != 5 {
			t.Errorf("ended by %q, %d fetched", s.EndedBy, s.Status.Fetched)
		}
		if n := count(w.asked("own.test"), OwnerPath); n != 1 || len(locks.out) != 0 {
			t.Errorf("the proof was asked for %d times; locks still taken: %v", n, locks.out)
		}
	})
}

// The ledger says which pace was kept before the proof, that of a crowded address, too.
func TestRule18_TheLineOfTheProofSaysThePaceOfItsAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 1, nil)
		w.cfg.IPDelay = 10 * time.Second
		w.share(func(string) []string { return []string{"8.8.8.8"} })
		w.run()
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionOwner && (l.PaceBy != storage.ByAddress || l.Gap != 10*time.Second || l.Pace != l.Gap) {
				t.Errorf("pace %v by %q, gap %v", l.Pace, l.PaceBy, l.Gap)
			}
		}
	})
}

// A turn that ended without an exchange counts nothing: the sitemaps of a host are bounded by what was asked of it.
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

// A robots.txt that leads to a host which the operator holds cannot be had: the host that asks rests like any whose
// robots.txt is out of reach, and the crawl ends. It goes on when the operator lets go.
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

// A policy that may be refreshed, but not now, because the host that it redirects to rests or is held by the operator,
// serves meanwhile: the host is asked for its pages, and waits no longer than another crawl or its address makes it.
func TestARefreshThatMustWaitHoldsNobodyUp(t *testing.T) {
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
					if _, err := w.front.Steer(t.Context(), frontier.Steering{Act: frontier.Park, Authority: b, For: time.Hour}); err != nil {
						t.Error(err)
					}
					return
				}
				turn, err := w.front.ClaimAuthority(t.Context(), b)
				if err != nil {
					t.Error(err)
					return
				}
				rest := frontier.Result{Authority: b, Token: turn.Token, Wait: time.Hour, Host: &frontier.HostUpdate{
					Condition: frontier.Parked, Reason: "status 503", Memory: turn.Host.Memory, Robots: turn.Host.Robots,
				}}
				if _, err := w.front.Finish(t.Context(), []frontier.Result{rest}); err != nil {
					t.Error(err)
				}
			})
			begin := time.Now()
			w.run()
			late := 0 // when the policy may be refreshed, at 90 % of its life
			for _, r := range w.web.Referee().Requests() {
				if r.Host == "a.test" && r.Start.Sub(begin) > 545*time.Second {
					late++
				}
			}
			if late < 20 {
				t.Errorf("%d pages in the last 50 s", late)
			}
		})
	}
}

// A longer pace than that of the last run binds the exchange for another host's robots.txt, too.
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
		last, n := time.Time{}, 0
		for _, r := range w.web.Referee().Requests() {
			if r.Host == "b.test" {
				n++
				if gap := r.Start.Sub(last); !last.IsZero() && gap < 20*time.Second {
					t.Errorf("request %d came after %v", n, gap)
				}
				last = r.End
			}
		}
		if n < 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// What a turn says of the pace holds after a kill: also a turn that does nothing but drop what opted out.
func TestRule16_17_ATurnOfOptOutsForgetsNoPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 8)
		site.Robots.Body = "User-agent: *\nCrawl-delay: 20\n"
		l := newListed(newWorld(t, []string{"http://a.test/"}, site), "a.test/p\n", nil)
		l.run()
		if h := l.host("http://a.test/"); h.Pace != 20*time.Second || h.Outcomes[frontier.Dropped] == 0 {
			t.Errorf("pace %v; %v", h.Pace, h.Outcomes)
		}
	})
}

// A proof that opted out is not asked for: nobody was asked, so nothing is counted and nothing waits.
func TestRule16_18_AProofThatOptedOutCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 3, nil)
		newListed(w, "own.test/.well-known/\n", nil)
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

// A host's robots.txt that was read for others binds at once: its own turn, which reads it for the host itself, and the
// turns of those others wait for its Crawl-delay.
func TestRule04_07_ACrawlDelayReadForAnotherHostBinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites := []*crawltest.Site{crawltest.Tree("a.test", 2), crawltest.Tree("c.test", 2), crawltest.Tree("b.test", 2)}
		for _, site := range sites[:2] {
			site.Robots.Redirect = "http://b.test/robots.txt"
		}
		sites[2].Robots.Body = "User-agent: *\nCrawl-delay: 30\n"
		w := newWorld(t, []string{"http://a.test/", "http://c.test/"}, sites...)
		w.cfg.Scope.Mode = scope.ModeAny
		time.AfterFunc(5*time.Second, func() { // b.test's own pages come when its robots.txt was read already
			w.add(seed(t, "http://b.test/", ""))
		})
		w.run()
		w.seeds = append(w.seeds, "http://b.test/")
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor, Partial: true})
		if n := count(w.asked("b.test"), "/robots.txt"); n != 3 {
			t.Errorf("robots.txt was asked for %d times", n)
		}
	})
}
