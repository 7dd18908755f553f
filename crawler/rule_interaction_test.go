package crawler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// rival is another crawl of the same user, which now and then has a host for a while.
type rival struct {
	freeSpots
	t *testing.T

	mu  sync.Mutex
	r   *rand.Rand
	out map[canon.Authority]bool
}

func (l *rival) Take(a canon.Authority, _ time.Duration) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out[a] {
		l.t.Errorf("%s is taken twice", a)
	}
	if l.r.IntN(6) == 0 {
		return time.Duration(l.r.IntN(5000)+1) * time.Millisecond, nil
	}
	l.out[a] = true
	return 0, nil
}

func (l *rival) Release(a canon.Authority, _ time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.out[a] {
		l.t.Errorf("%s is given back and was not taken", a)
	}
	delete(l.out, a)
	return nil
}

// tangle is a web of hosts whose robots.txt redirect to each other, fail, or ask for a delay.
func tangle(r *rand.Rand, hosts int, delays bool) (sites []*crawltest.Site, seeds []string) {
	for i := range hosts {
		site := crawltest.Tree(fmt.Sprintf("h%02d.test", i), r.IntN(8)+1)
		site.Latency = time.Duration(r.IntN(3)*r.IntN(300)) * time.Millisecond
		switch b, kind := &site.Robots, r.IntN(6); {
		case i%3 == 0 && kind > 0: // to where it ends: the referee cannot attribute a robots.txt in a chain to a host
			b.Redirect = fmt.Sprintf("http://h%02d.test/robots.txt", r.IntN(hosts/3)*3+1+r.IntN(2))
		case kind == 2 && delays:
			b.Body = "User-agent: *\nDisallow: /p2\nCrawl-delay: " + strconv.Itoa(r.IntN(7)) + "\n"
		case kind == 3:
			b.Body, b.FailFirst = "User-agent: *\nDisallow: /p3\n", r.IntN(3)
		case kind == 4:
			b.Body, b.Header = "User-agent: *\nDisallow: /none\n", map[string]string{"Cache-Control": "max-age=300"}
		}
		for target, p := range site.Pages {
			switch r.IntN(12) {
			case 0:
				p.FailFirst, p.FailStatus = r.IntN(2)+1, []int{500, 503, 429}[r.IntN(3)]
				if r.IntN(2) == 0 {
					p.RetryAfter = strconv.Itoa(r.IntN(200))
				}
			case 1:
				p.Delay = time.Duration(r.IntN(4000)) * time.Millisecond
			}
			site.Pages[target] = p
		}
		sites, seeds = append(sites, site), append(seeds, "http://"+site.Name+"/")
	}
	return sites, seeds
}

// All rules hold together: hosts at few addresses, robots.txt that redirect, another crawl, failures, panics, opt-outs and
// commands of the operator, in crawls that drain or abort at any instant.
func TestPoliteness_AllRulesTogether(t *testing.T) {
	worlds := uint64(12)
	if testing.Short() {
		worlds = 4
	}
	if long {
		worlds = 300
	}
	for seed := range worlds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { meet(t, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

func meet(t *testing.T, r *rand.Rand) {
	const hosts = 24
	aborts := r.IntN(2) == 0 // a delay that was not read completely does not bind
	sites, seeds := tangle(r, hosts, !aborts)
	w := newWorld(t, seeds, sites...)
	l := newListed(w, "# nobody yet\n")
	spots := r.IntN(6) + 1
	s := w.share(func(host string) []string {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(host, "h"), ".test"))
		assert.NoError(t, err)
		return []string{netip.AddrFrom4([4]byte{8, 8, 8, byte(n%spots + 1)}).String()}
	})
	bad := map[string]bool{}
	for range r.IntN(3) {
		bad[seeds[r.IntN(hosts)]+"p1.html"] = true
	}
	w.onDo(func(ctx context.Context, r fetch.Request, next fetcher) (*fetch.Exchange, error) {
		if bad[r.URL.String()] {
			panic("a defect that " + r.URL.String() + " brings about")
		}
		return next.Do(ctx, r)
	})
	w.cfg.Workers, w.cfg.MaxWait = r.IntN(10)+2, 50*time.Minute
	locks := &rival{t: t, r: rand.New(rand.NewPCG(r.Uint64(), 1)), out: map[canon.Authority]bool{}}
	w.cfg.HostLocks = locks
	var mu sync.Mutex
	var left string // the host that opted out
	var since time.Time

	for run := 0; ; run++ {
		turns, lastTurn, spun := 0, map[canon.Authority]time.Time{}, map[canon.Authority]int{} // turns at the instant of the one before
		w.cfg.Frontier = claiming{w.front, func(c *frontier.Claimed) {
			mu.Lock()
			defer mu.Unlock()
			for _, t := range c.Turns {
				turns++
				if now := time.Now(); lastTurn[t.Authority].Equal(now) {
					spun[t.Authority]++
				} else {
					lastTurn[t.Authority] = now
				}
			}
		}}
		c := w.crawl()
		ctx, abort := context.WithCancel(t.Context())
		last := run == 3
		var stops []*time.Timer
		at := func(f func()) {
			stops = append(stops, time.AfterFunc(time.Duration(r.IntN(60_000_000))*time.Microsecond, f))
		}
		if !last {
			end := c.Drain
			if aborts {
				end = abort
			}
			at(end)
			held := parse(t, seeds[r.IntN(hosts)]).Authority()
			act := []frontier.Act{frontier.Park, frontier.Resume, frontier.Resume}[r.IntN(3)]
			at(func() {
				_, err := w.front.Steer(context.Background(), frontier.Steering{Act: act, Authority: held})
				assert.NoError(t, err)
			})
		}
		if run == 1 {
			who := sites[r.IntN(hosts)].Name
			at(func() {
				l.write("# somebody\n" + who + "\n")
				mu.Lock()
				defer mu.Unlock()
				left, since = who, time.Now().Add(5*time.Second) // until it is noticed, and exchanges under way have begun
			})
		}
		if last {
			for _, seed := range seeds {
				_, err := w.front.Steer(ctx, frontier.Steering{Act: frontier.Resume, Authority: parse(t, seed).Authority()})
				require.NoError(t, err)
			}
		}
		begin := time.Now()
		sum, err := c.Run(ctx)
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		for _, stop := range stops {
			stop.Stop()
		}
		abort()
		settled(t, w, locks)
		assert.LessOrEqual(t, turns, hosts*(int(time.Since(begin)/Floor)+10), "turns")
		for a, n := range spun {
			assert.LessOrEqualf(t, n, 10, "%s was given %d turns at the instant of the one before", a, n)
		}
		if last {
			w.balanced(sum.Status)
			for _, rests := range sum.Status.Resting { // waiting does not help a circle of redirects, or a host left alone
				if !strings.HasPrefix(rests.Reason, "robots.txt") && rests.Reason != reasonPanic {
					t.Errorf("ended by %q: %+v", sum.EndedBy, rests)
				}
			}
			break
		}
		w.reopen()
	}
	w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor, Partial: true, Repeats: 1000})
	s.apart(t, LeastIPDelay)
	for _, x := range w.web.Referee().Requests() {
		assert.Falsef(t, x.Host == left && x.Start.After(since), "%s%s was requested although its host had opted out", x.Host, x.Target)
	}
	for _, line := range w.ledger.all {
		if line.Attempt > 0 && line.Status > 0 && line.Gap > 0 && line.Gap < line.Pace {
			t.Errorf("%s: gap %v, pace %v by %s", line.URL, line.Gap, line.Pace, line.PaceBy)
		}
	}
}

func settled(t *testing.T, w *world, locks *rival) {
	t.Helper()
	st, err := w.front.Stats(t.Context())
	require.NoError(t, err)
	sum := st.Queued + st.InFlight + st.Deferred
	for _, n := range st.Outcomes {
		sum += n
	}
	if sum != st.Discovered || st.InFlight != 0 || st.Leases != 0 {
		t.Errorf("the parts sum to %d, discovered are %d; %d in flight, %d leases", sum, st.Discovered, st.InFlight, st.Leases)
	}
	assert.Empty(t, locks.out, "locks are left")
}
