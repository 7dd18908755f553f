package crawler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/explain"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// crowd is a frontier with very many parked hosts, which counts how many it lists.
type crowd struct {
	frontier.Frontier
	hosts int
	given int
}

func (f *crowd) Hosts(_ context.Context, after canon.Authority, limit int) ([]frontier.Host, error) {
	next := 0
	if !after.IsZero() {
		fmt.Sscanf(after.Host(), "h%d.test", &next)
		next++
	}
	var hs []frontier.Host
	for i := next; i < f.hosts && len(hs) < limit; i++ {
		a, err := canon.ParseAuthority(fmt.Sprintf("http://h%07d.test:80", i))
		if err != nil {
			return nil, err
		}
		hs = append(hs, frontier.Host{Authority: a, Queued: 1})
	}
	f.given += len(hs)
	return hs, nil
}

func (f *crowd) Stats(ctx context.Context) (frontier.Stats, error) {
	st, err := f.Frontier.Stats(ctx)
	st.Hosts, st.Queued, st.Parked, st.Discovered = int64(f.hosts), int64(f.hosts), 1, int64(f.hosts)
	return st, err
}

func TestStatus_FrequentQueriesDoNotWalkAllHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 1))
		f := &crowd{Frontier: w.front, hosts: 200_000}
		w.cfg.Frontier = f
		c := w.crawl()
		for name, ask := range map[string]func() error{
			"Status":   func() error { _, err := c.Status(t.Context()); return err },
			"Estimate": func() error { _, err := c.Estimate(t.Context()); return err },
		} {
			f.given = 0
			require.NoError(t, ask())
			assert.LessOrEqualf(t, f.given, f.hosts/10, "%s looked at %d of %d hosts", name, f.given, f.hosts)
		}
		if e, err := c.Estimate(t.Context()); err != nil || e.Known != 200_000 {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// Of the URLs that a turn leases, only the one requested is in flight; the others are queued.
func TestStatus_InFlightCountsExchanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 12)
		for path, p := range site.Pages {
			p.Delay = 10 * time.Second
			site.Pages[path] = p
		}
		w := newWorld(t, []string{"http://a.test/"}, site)
		c := w.crawl()
		most, over, u := int64(0), make(chan struct{}), parse(t, "http://a.test/")
		time.AfterFunc(30500*time.Millisecond, func() {
			defer close(over)
			for range 40 {
				time.Sleep(time.Second)
				s, err := c.Status(t.Context())
				if sum := s.Fetched + s.Queued + s.InFlight + s.Deferred; err != nil || sum != s.Discovered {
					t.Errorf("%d of %d URLs, %v", sum, s.Discovered, err)
				}
				most = max(most, s.InFlight)
				one, err := c.Live().One(t.Context(), u.Authority())
				e, bad := c.Explain(t.Context(), explain.Question{URL: u})
				if err := errors.Join(err, bad); err != nil || one.InFlight > s.InFlight || e.Host.InFlight > s.InFlight ||
					one.Queued+one.InFlight+one.Deferred != one.Pending || e.Host.Queued+e.Host.InFlight+e.Host.Deferred != one.Pending {
					t.Errorf("of %d in flight the host has %d, explained as %d, %v", s.InFlight, one.InFlight, e.Host.InFlight, err)
				}
			}
		})
		w.finish(c)
		if <-over; most != 1 {
			t.Errorf("%d in flight at one host", most)
		}
	})
}

func TestDryRun_RequestsOnlyRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, d := crawltest.Tree("a.test", 3), crawltest.Tree("b.test", 3), crawltest.Tree("d.test", 3)
		a.Robots.Body = "User-agent: *\nCrawl-delay: 3\n"
		b.Robots.Redirect = "http://c.test/robots.txt"
		d.Robots.Status = 503
		w := newWorld(t, []string{"http://a.test/", "http://a.test/p1.html", "http://b.test/", "http://d.test/"}, a, b, crawltest.Tree("c.test", 1), d)
		w.cfg.DryRun, w.cfg.MaxWait = true, 5*time.Second
		w.share(func(string) []string { return []string{"8.8.8.8"} })
		c := w.crawl()
		w.finish(c)
		for _, tt := range []struct {
			host   string
			status int
			pace   time.Duration
			seeds  int64
			left   string
		}{
			{"a.test", 200, 3 * time.Second, 2, ""},
			{"b.test", 404, Floor, 1, ""},
			{"d.test", 503, Floor, 1, "robots.txt: status 503"},
		} {
			m, ok, err := c.Met(t.Context(), parse(t, "http://"+tt.host+"/").Authority())
			if err != nil || !ok || m.State.Status() != tt.status || m.Pace.Pause != tt.pace || m.Queued+m.Deferred != tt.seeds || m.Left != tt.left || m.Spot.Addr().String() != "8.8.8.8" {
				t.Errorf("%s: %v %v %+v", tt.host, err, ok, m)
			}
		}
		for _, r := range w.web.Referee().Requests() {
			assert.Equalf(t, "/robots.txt", r.Target, "requested %s", r.Host)
		}
	})
}

func TestARunningAndAStoppedCrawlExplainAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 6)
		site.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /p3\nCrawl-delay: 2\n"}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxPages = 3
		w.run()
		c := w.crawl()
		for _, raw := range []string{"http://a.test/", "http://a.test/p1.html", "http://a.test/p3.html", "http://a.test/new", "http://b.test/"} {
			q := explain.Question{URL: parse(t, raw)}
			live, err := c.Explain(t.Context(), q)
			require.NoError(t, err)
			stopped, err := ExplainStopped(t.Context(), w.cfg, w.cfg.Frontier, q)
			require.NoError(t, err)
			if live.Crawl != "running" || stopped.Crawl == "running" {
				t.Errorf("%s: %s and %s", raw, live.Crawl, stopped.Crawl)
			}
			stopped.Crawl = live.Crawl
			stopped.Conclude()
			assert.Equalf(t, stopped, live, "%s: running\n%+v\nstopped\n%+v", raw, live, stopped)
		}
	})
}
