package crawler

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/explain"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/status"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

const halfSecond = 500 * time.Millisecond

// shared is a fetcher that sees hosts at addresses of the test, and notes when it sends a request to which address.
// The exchange itself goes where the web of the test has the host.
type shared struct {
	fetcher
	at   func(host string) []string
	down map[string]bool // addresses that cannot be reached

	mu     sync.Mutex
	starts map[netip.Prefix][]time.Time
	dialed []string // host and address
}

func (s *shared) Addresses(_ context.Context, a canon.Authority) ([]netip.AddrPort, error) {
	var out []netip.AddrPort
	for _, text := range s.at(a.Host()) {
		out = append(out, netip.AddrPortFrom(netip.MustParseAddr(text), 80))
	}
	if len(out) == 0 {
		return nil, &fetch.Failure{Class: fetch.NXDomain, Err: fmt.Errorf("no such name: %s", a.Host())}
	}
	return out, nil
}

func (s *shared) Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error) {
	at, begun := r.Addr.Addr(), r.Begun
	s.mu.Lock()
	s.dialed = append(s.dialed, r.URL.Authority().Host()+" "+at.String())
	s.mu.Unlock()
	if s.down[at.String()] {
		ex := fetch.Unmade(r.URL, &fetch.Failure{Class: fetch.Connect, Err: syscall.ECONNREFUSED})
		ex.Addr = r.Addr
		return ex, nil
	}
	r.Addr, r.Begun = netip.AddrPort{}, func() {
		s.mu.Lock()
		s.starts[host.Network(at)] = append(s.starts[host.Network(at)], time.Now())
		s.mu.Unlock()
		begun()
	}
	return s.fetcher.Do(ctx, r)
}

// share puts the hosts of w at addresses.
func (w *world) share(at func(host string) []string) *shared {
	s := &shared{fetcher: w.cfg.Fetcher, at: at, starts: map[netip.Prefix][]time.Time{}, down: map[string]bool{}}
	w.cfg.Fetcher = s
	return s
}

// apart fails the test if two requests at one address were closer than every.
func (s *shared) apart(t *testing.T, every time.Duration) {
	t.Helper()
	for at, times := range s.starts {
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < every {
				t.Errorf("%v: request %d came %v after the one before", at, i, gap)
			}
		}
	}
}

// many returns n sites with so many pages each, and their seeds.
func many(n, pages int) (sites []*crawltest.Site, seeds []string) {
	for i := range n {
		name := fmt.Sprintf("h%02d.test", i)
		sites, seeds = append(sites, crawltest.Tree(name, pages)), append(seeds, "http://"+name+"/")
	}
	return sites, seeds
}

// Requests to fifty hosts at one address leave one every half second, and no host is favoured.
func TestRule10_FiftyHostsAtOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 50, 3
		sites, seeds := many(hosts, pages)
		w := newWorld(t, seeds, sites...)
		s := w.share(func(string) []string { return []string{"8.8.8.8"} })
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		s.apart(t, halfSecond)
		times := s.starts[host.Network(netip.MustParseAddr("8.8.8.8"))]
		require.Len(t, times, hosts*(pages+1), "requests")
		took := times[len(times)-1].Sub(times[0])
		if want := time.Duration(len(times)-1) * halfSecond; took > want+want/50 {
			t.Errorf("%d requests took %v, the address permits %v", len(times), took, want)
		}
		first := map[string]int{} // how many hosts had their first request before each
		for _, r := range w.web.Referee().Requests() {
			if _, ok := first[r.Host]; !ok {
				first[r.Host] = len(first)
				assert.LessOrEqualf(t, r.Start.Sub(times[0]), hosts*halfSecond+5*time.Second, "%s got its first request too late", r.Host)
			}
		}
		byAddr := 0
		for _, l := range w.ledger.all {
			if l.PaceBy == storage.ByAddress {
				byAddr++
				if l.Gap > 0 && l.Gap < l.Pace {
					t.Errorf("%s: gap %v, pace %v", l.URL, l.Gap, l.Pace)
				}
			}
		}
		assert.GreaterOrEqualf(t, byAddr, hosts, "the ledger attributes the delay of %d exchanges to the address", byAddr)
	})
}

func TestRule10_17_OwnHostsAreExempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://localhost/"}, crawltest.Tree("localhost", 5))
		w.onDo(func(ctx context.Context, r fetch.Request, next fetcher) (*fetch.Exchange, error) {
			assert.False(t, r.Addr.IsValid() || r.Begin != nil, "an own host is paced by its address")
			return next.Do(ctx, r)
		})
		w.cfg.Fetcher = unasked{w.cfg.Fetcher, t}
		w.cfg.HostLocks, w.cfg.Delay = refusing{}, -1
		begin := time.Now()
		if sum := w.run(); sum.Status.Fetched != 5 || time.Since(begin) > time.Second {
			t.Errorf("%d fetched in %v", sum.Status.Fetched, time.Since(begin))
		}
	})
}

// unasked fails the test if the crawler looks up a host before the dial.
type unasked struct {
	fetcher
	t *testing.T
}

func (u unasked) Addresses(context.Context, canon.Authority) ([]netip.AddrPort, error) {
	u.t.Error("an own host is looked up ahead")
	return nil, syscall.EINVAL
}

// The crawler dials the next address if one is unreachable, and reports the host if all are.
func TestRule10_AnUnreachableAddressGivesWay(t *testing.T) {
	for addresses, fetched := range map[int]int64{2: 0, 3: 4} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 4))
			w.cfg.MaxWait = time.Second
			s := w.share(func(string) []string { return []string{"8.8.8.1", "8.8.8.2", "8.8.8.3"}[:addresses] })
			s.down["8.8.8.1"], s.down["8.8.8.2"] = true, true
			sum := w.run()
			want := []string{"a.test 8.8.8.1", "a.test 8.8.8.2"}
			if fetched > 0 {
				want = append(want, slices.Repeat([]string{"a.test 8.8.8.3"}, 5)...)
			} else {
				restsWith("connect")(t, w, sum)
			}
			assert.Equal(t, fetched, sum.Status.Fetched, "fetched")
			assert.Equal(t, want, s.dialed)
		})
	}
}

func TestIPDelayIsAtLeast100ms(t *testing.T) {
	w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 1))
	for d, ok := range map[time.Duration]bool{0: true, 100 * time.Millisecond: true, 99 * time.Millisecond: false, -1: false, time.Hour: true} {
		w.cfg.IPDelay = d
		assert.Equal(t, ok, (w.cfg.Validate() == nil), d)
	}
}

// together runs crawls at the same time, each of which fetches so many pages.
func together(t *testing.T, pages int64, worlds ...*world) {
	t.Helper()
	var g errgroup.Group
	for _, w := range worlds {
		c := w.crawl()
		g.Go(func() error {
			s, err := c.Run(t.Context())
			if err == nil && (s.EndedBy != EndedDrained || s.Status.Fetched != pages) {
				err = fmt.Errorf("ended by %q, %d fetched", s.EndedBy, s.Status.Fetched)
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
}

// refusing are host locks whose disk fails.
type refusing struct{ freeSpots }

func (refusing) Take(canon.Authority, time.Duration) (time.Duration, error) {
	return 0, syscall.EIO
}
func (refusing) Release(canon.Authority, time.Duration) error { return nil }

func TestRule17_LocksThatFailStopTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 3))
		w.cfg.HostLocks = refusing{}
		c := w.crawl()
		if _, err := c.Run(t.Context()); err == nil || len(w.asked("a.test")) != 0 {
			t.Errorf("%v; requested %q", err, w.asked("a.test"))
		}
	})
}

// freeSpots are the parts of host locks for addresses and back-offs that no other crawl holds.
type freeSpots struct{}

func (freeSpots) Start(netip.Prefix, time.Duration) (time.Duration, error) { return 0, nil }
func (freeSpots) Started(netip.Prefix, time.Duration) error                { return nil }

func (freeSpots) Rest(canon.Authority, time.Time, hostlock.Wish) error { return nil }
func (freeSpots) Resting(canon.Authority) (hostlock.Wish, error)       { return hostlock.Wish{}, nil }

// The delay of an address holds over all crawls of one user, each with its own hosts there.
func TestRule26_TwoCrawlsShareAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sites []*crawltest.Site
		var seeds [2][]string
		for i := range 8 {
			s := crawltest.Tree(fmt.Sprintf("h%d.test", i), 5)
			sites = append(sites, s)
			seeds[i%2] = append(seeds[i%2], "http://"+s.Name+"/")
		}
		one := newWorld(t, seeds[0], sites...)
		two := newWorldOn(t, 0, seeds[1], one.web)
		at := func(string) []string { return []string{"198.18.7.7"} }
		notes := []*shared{one.share(at), two.share(at)}
		sharesLocks(t, one, two)
		together(t, 20, one, two)
		var all []time.Time
		for _, n := range notes {
			all = append(all, n.starts[netip.MustParsePrefix("198.18.7.7/32")]...)
		}
		slices.SortFunc(all, time.Time.Compare)
		for i := range all[1:] {
			assert.GreaterOrEqualf(t, all[i+1].Sub(all[i]), halfSecond, "start %d came too early", i+1)
		}
		assert.Len(t, all, 8*6, "requests")
	})
}

// Where hosts share an address, estimate, status and explain include the delay of the address.
func TestRule10_EstimateStatusAndExplainKnowThePaceOfTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 20, 12
		sites, seeds := many(hosts, pages)
		w := newWorld(t, seeds, sites...)
		s := w.share(func(string) []string { return []string{"8.8.8.8"} })
		c := w.crawl()
		var e status.Estimate
		var at time.Time
		u, err := canon.Parse(seeds[3] + "p11.html")
		require.NoError(t, err)
		var x explain.Explanation
		var st status.Status
		told := make(chan struct{})
		time.AfterFunc(80*time.Second, func() {
			defer close(told)
			at = time.Now()
			e, _ = c.Estimate(t.Context())
			st, _ = c.Status(t.Context())
			x, err = c.Explain(t.Context(), explain.Question{URL: u})
		})
		w.finish(c)
		<-told
		times := s.starts[host.Network(netip.MustParseAddr("8.8.8.8"))]
		took := times[len(times)-1].Sub(at)
		if e.PaceBy != string(storage.ByAddress) || e.Pace != halfSecond || !strings.Contains(e.String(), "at 20 hosts of 8.8.8.8") {
			t.Errorf("%+v: %v", e, e)
		}
		if e.Left < took-took/5 || e.Left > took+took/5 {
			t.Errorf("estimated %v, it took %v", e.Left, took)
		}
		if err != nil || x.Pace.By != storage.ByAddress || x.Pace.Seconds != 10 {
			t.Errorf("%v: %+v", err, x.Pace)
		}
		if len(st.Longest) == 0 || st.Longest[0].Pace != 10 || st.LimitedByIP < 15 || st.LimitedByIP > 19 {
			t.Errorf("%+v; %d hosts limited by IP", st.Longest, st.LimitedByIP)
		}
		if s, err := c.Status(t.Context()); err != nil || s.LimitedByIP != 0 {
			t.Errorf("at the end %d hosts limited by IP, %v", s.LimitedByIP, err)
		}
	})
}
