package crawler

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/storage"
)

// The end of a crawl waits at most Grace for a slow host, after an interrupt as after --max-time.
func TestRule25_EndWaitsAtMostGrace(t *testing.T) {
	const hosts = 20
	for kind := range slowKinds {
		for ended, end := range map[string]func(*world) Summary{
			EndedInterrupted: func(w *world) Summary { return w.aborted(5*time.Second, time.Hour) },
			EndedMaxTime:     func(w *world) Summary { w.cfg.MaxTime = 5 * time.Second; return w.run() },
		} {
			bubble(t, kind+", "+ended, func(t *testing.T) {
				w := slowWorld(t, kind, hosts, 3)
				begin := time.Now()
				s := end(w)
				assert.LessOrEqual(t, time.Since(begin), 5*time.Second+Grace, "it took too long")
				assert.Equal(t, ended, s.EndedBy)
				if pending := s.Status.Queued + s.Status.Deferred; pending < 3*hosts || s.Status.InFlight != 0 {
					t.Errorf("%d URLs of slow hosts are pending, %d in flight", pending, s.Status.InFlight)
				}
			})
		}
	}
}

// endings are the ways to end a crawl after 15 seconds, and the time each leaves to the exchanges under way.
var endings = map[string]struct {
	left time.Duration
	run  func(w *world) Summary
}{
	"max-time": {Grace, func(w *world) Summary {
		w.cfg.MaxTime = 15 * time.Second
		return w.run()
	}},
	"abort":              {0, func(w *world) Summary { return w.aborted(15*time.Second, 0) }},
	"abort in the grace": {300 * time.Millisecond, func(w *world) Summary { return w.aborted(15*time.Second, 300*time.Millisecond) }},
}

// aborted drains the crawl after d, unless left is zero, and aborts it after left.
func (w *world) aborted(d, left time.Duration) Summary {
	w.t.Helper()
	c := w.crawl()
	if left > 0 {
		time.AfterFunc(d, c.Drain)
	}
	ctx, abort := context.WithTimeout(w.t.Context(), d+left)
	defer abort()
	s, err := c.Run(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.balanced(s.Status)
	return s
}

// A response that the end cuts is archived so far, does not count as a failure or an attempt, and is requested again by the
// next run.
func TestRule25_CutResponsesAreArchivedAndStayPending(t *testing.T) {
	for how := range endings {
		t.Run(how, func(t *testing.T) { whatTheEndCuts(t, how) })
	}
}

func whatTheEndCuts(t *testing.T, how string) {
	for name, c := range map[string]struct {
		slow string // the target
		set  func(*world)
		host string
		want int // records that were cut
	}{
		"page":       {slow: "/", host: "a.test", want: 1},
		"robots.txt": {slow: "/robots.txt", host: "a.test", want: 1},
		"sitemap":    {slow: "/sitemap.xml", host: "a.test", want: 1},
		"own host":   {slow: "/p", host: "localhost", want: 4, set: func(w *world) { w.cfg.PerHost, w.cfg.Delay = 4, -1 }},
	} {
		bubble(t, name, func(t *testing.T) {
			heals := false
			site := &crawltest.Site{Name: c.host, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch {
				case !heals && strings.HasPrefix(r.URL.Path, c.slow) && (c.slow != "/" || r.URL.Path == "/"):
					trickle(rw, r, "text/html", 200)
				case r.URL.Path == "/robots.txt" && c.slow == "/sitemap.xml":
					fmt.Fprintf(rw, "Sitemap: http://%s/sitemap.xml\n", c.host)
				case r.URL.Path == "/robots.txt":
					http.NotFound(rw, r)
				default:
					fmt.Fprint(rw, "fine")
				}
			})}
			seeds := []string{"http://" + c.host + "/"}
			if name == "own host" {
				seeds = nil
				for i := range 4 {
					seeds = append(seeds, fmt.Sprintf("http://%s/p%d", c.host, i))
				}
			}
			w := newWorld(t, seeds, site)
			if c.set != nil {
				c.set(w)
			}
			w.cfg.Sitemaps.Robots = true
			begin := time.Now()
			s := endings[how].run(w)
			assert.Equal(t, 15*time.Second+endings[how].left, time.Since(begin), "the time it took")
			cut := 0
			for _, r := range w.archive.records {
				if r.Line.Reason != host.Aborted {
					continue
				}
				cut++
				if r.Truncated != fetch.CutTime || !strings.Contains(r.response, "####") || r.Line.Attempt != 1 {
					t.Errorf("%s: truncated %q, attempt %d, %d octets", r.URL, r.Truncated, r.Line.Attempt, len(r.response))
				}
			}
			if cut != c.want || len(s.Status.Failures) != 0 || s.Status.Parked != 0 {
				t.Errorf("%d records were cut, want %d; failures %v, parked %d", cut, c.want, s.Status.Failures, s.Status.Parked)
			}
			w.accounted(0)
			heals = true
			w.reopen()
			w.cfg.MaxTime = 0
			if s := w.run(); s.EndedBy != EndedDrained || s.Status.Failed+s.Status.Dropped != 0 {
				t.Errorf("the next run ended by %q: %+v", s.EndedBy, s.Status)
			}
			for _, l := range w.ledger.all {
				if l.Outcome == storage.OutcomeFetched && l.Attempt != 1 {
					t.Errorf("%s was fetched by attempt %d: a cut exchange counts for none", l.URL, l.Attempt)
				}
			}
		})
	}
}

// slowKinds are the ways in which a host can be slow: how it responds, or that it is never reached.
var slowKinds = map[string]struct {
	answer        func(rw http.ResponseWriter, r *http.Request)
	look, connect bool // it is slow in the look-up, or in the connection
}{
	"look-up":                {look: true},
	"connect":                {connect: true},
	"first byte":             {answer: afterRobots(silent)},
	"robots.txt, first byte": {answer: silent},
	"robots.txt, body": {answer: func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			trickle(rw, r, "text/plain", 1)
		}
	}},
	"header":                           {answer: afterRobots(raw("HTTP/1.1 200 OK\r\nX-"))},
	"body, an octet a second":          {answer: afterRobots(func(rw http.ResponseWriter, r *http.Request) { trickle(rw, r, "text/html", 1) })},
	"body, just above the least speed": {answer: afterRobots(func(rw http.ResponseWriter, r *http.Request) { trickle(rw, r, "text/html", 110) })},
	brisk:                              {answer: afterRobots(func(rw http.ResponseWriter, r *http.Request) { trickle(rw, r, "text/html", 15<<10) })},
}

const (
	allKinds = "of all kinds"
	brisk    = "body, just below the rate that counts as brisk" // it costs the test most
)

// trickle sends so many bytes each second until the client stops reading.
func trickle(rw http.ResponseWriter, r *http.Request, media string, perSecond int) {
	rw.Header().Set("Content-Type", media)
	piece := strings.Repeat("#", perSecond)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(rw, piece); err != nil || http.NewResponseController(rw).Flush() != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// slowWorld is a crawl of hosts that are slow in one way or in all, and of good.test, whose pages are quick.
func slowWorld(t *testing.T, kind string, hosts, pages int) *world {
	t.Helper()
	var kinds []string
	for k := range slowKinds {
		if k == kind || kind == allKinds && k != brisk {
			kinds = append(kinds, k)
		}
	}
	looks, connects := map[string]bool{}, map[string]bool{}
	var sites []*crawltest.Site
	var seeds []string
	for i := range hosts {
		k := slowKinds[kinds[i%len(kinds)]]
		name := fmt.Sprintf("slow%d.test", i)
		sites = append(sites, &crawltest.Site{Name: name, Handler: http.HandlerFunc(k.answer)})
		looks[name], connects[name] = k.look, k.connect
		for p := range 5 {
			seeds = append(seeds, fmt.Sprintf("http://%s/%d", name, p))
		}
	}
	seeds = append(seeds, "http://good.test/") // the last of all
	web := crawltest.New(append(sites, crawltest.Tree("good.test", pages))...)
	w := newWorldOf(t, seeds, web)
	unreachable := map[netip.Addr]bool{}
	for name, slow := range connects {
		unreachable[w.addr(name)] = slow
	}
	w.fetchBy(func(cfg *fetch.Config) {
		cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			if looks[host] {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return web.Resolve(ctx, host)
		}
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if unreachable[netip.MustParseAddrPort(address).Addr()] {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return web.Dial(ctx, network, address)
		}
	})
	w.cfg.Workers = 64
	return w
}

func (w *world) askedWithin(host string, begin time.Time, d time.Duration) (n int) {
	for _, r := range w.requests(host) {
		if r.Start.Sub(begin) <= d {
			n++
		}
	}
	return n
}

// However many hosts are slow, a good host gets nearly all requests that its delay allows.
func TestRule25_SlowHostsDoNotDelayOthers(t *testing.T) {
	cases := map[string]int{allKinds: 300}
	switch {
	case long:
		cases[allKinds] = 1000
		for k := range slowKinds {
			cases[k] = 1000
		}
	case testing.Short():
		cases[allKinds] = 80
	}
	for kind, hosts := range cases {
		bubble(t, fmt.Sprintf("%d, %s", hosts, kind), func(t *testing.T) {
			w := slowWorld(t, kind, hosts, 200)
			minutes := 2
			if long {
				minutes = 3
			}
			w.cfg.MaxTime = time.Duration(minutes) * time.Minute
			begin := time.Now()
			w.run()
			first, all := w.askedWithin("good.test", begin, time.Minute), w.askedWithin("good.test", begin, w.cfg.MaxTime)
			t.Logf("the good host was asked %d times in the first minute, %d in %v", first, all, w.cfg.MaxTime)
			// At first the crawler does not know which hosts are slow; it detects 64 each second.
			if least := 58 - 2*hosts/64; first < least || all < 58*(minutes-1)+least {
				t.Errorf("%d in the first minute, want %d; %d in all", first, least, all)
			}
		})
	}
}

// Slow hosts that hold all tickets of a budget give them back.
func TestRule25_SlowHostsDoNotHoldTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := slowWorld(t, "body, just above the least speed", 20, 40)
		w.cfg.MaxPages, w.cfg.MaxTime = 10, 20*time.Minute
		if s := w.run(); s.EndedBy != EndedMaxPages || s.Status.Pages != 10 {
			t.Errorf("ended by %q with %d pages", s.EndedBy, s.Status.Pages)
		}
	})
}

// accounted checks that each request has its record, and each attempt except those that sent no request.
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
		assert.Equalf(w.t, n, kept[url], "records of the requests for %s", url)
	}
	assert.Equal(w.t, sentNothing, without, "attempts without a record")
}

// An abort does not wait, and archives everything that was sent.
func TestRule17_AbortArchivesSentRequests(t *testing.T) {
	for kind := range slowKinds {
		for _, left := range []time.Duration{0, 300 * time.Millisecond} {
			bubble(t, fmt.Sprintf("%s, grace %v", kind, left), func(t *testing.T) {
				w := slowWorld(t, kind, 1, 3)
				begin := time.Now()
				s := w.aborted(5*time.Second, left)
				assert.LessOrEqual(t, time.Since(begin), 5*time.Second+left, "it took too long")
				sentNothing := 0
				if kind == "connect" {
					sentNothing = 1 // the dial may have reached the host, so there is a line
				}
				w.accounted(sentNothing)
				if s.Status.Queued+s.Status.Deferred < 4 || s.Status.InFlight != 0 || len(s.Status.Failures) != 0 && kind != "header" { // its exchange ends before the abort
					t.Errorf("%+v", s.Status)
				}
				for _, l := range w.ledger.all {
					if kind == "look-up" && l.URL[:12] == "http://slow0" {
						t.Errorf("no request was sent, and yet there is the line %+v", l)
					}
				}
			})
		}
	}
}

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
			assert.EqualValues(t, 40, w.run().Status.Fetched, "fetched")
			w.accounted(0)
		})
	}
}

// A complete response that an abort leaves unread is archived, and requested again.
func TestRule17_AbortArchivesUnreadResponses(t *testing.T) {
	for _, at := range []string{"a.test", "localhost"} {
		bubble(t, at, func(t *testing.T) {
			w := newWorld(t, []string{"http://" + at + "/"}, &crawltest.Site{Name: at, Pages: pages{"/": {Links: []string{"/more"}}, "/more": {}}})
			c := w.crawl()
			for range cap(c.reader.cpu) {
				c.reader.cpu <- struct{}{}
			}
			ctx, abort := context.WithTimeout(t.Context(), 5*time.Second)
			defer abort()
			s, err := c.Run(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 1, s.Status.Queued+s.Status.Deferred, s.Status)
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

// An exchange that the end of its lease cuts is archived so far, with its line.
func TestLease_CutExchangesAreArchived(t *testing.T) {
	slow := func(rw http.ResponseWriter, r *http.Request) { trickle(rw, r, "text/html", 200) }
	for name, tt := range map[string]struct {
		host, want string
		answer     http.HandlerFunc
		truncated  string
	}{
		"a page":         {"a.test", "####", slow, fetch.CutTime},
		"without a head": {"a.test", "", silent, ""},
		"own host":       {"localhost", "####", slow, fetch.CutTime},
	} {
		bubble(t, name, func(t *testing.T) {
			site := pagesBy(tt.host, func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/slow") {
					tt.answer(rw, r)
				}
			})
			seeds := []string{"http://" + tt.host + "/slow1", "http://" + tt.host + "/slow2", "http://" + tt.host + "/quick"}
			w := newWorldLeased(t, 30*time.Second, seeds, crawltest.New(site))
			if tt.host == "localhost" {
				w.cfg.PerHost, w.cfg.Delay = 4, -1
			}
			s := w.run()
			w.wantOutcomes(seeds[0], "deferred: "+reasonLease, "deferred: "+reasonLease, "failed: "+reasonLease)
			cut := 0
			for _, r := range w.archive.records {
				if r.Line.Reason != reasonLease {
					continue
				}
				cut++
				if r.Truncated != tt.truncated || !strings.Contains(r.response, tt.want) || r.Line.Truncated != tt.truncated {
					t.Errorf("%s: truncated %q, %d octets", r.URL, r.Truncated, len(r.response))
				}
			}
			if asked := len(w.web.Referee().Requests()); cut != 6 || asked != len(w.archive.records) {
				t.Errorf("%d records were cut; %d requests, %d records", cut, asked, len(w.archive.records))
			}
			w.counts(s.Status, 8)
			assert.EqualValues(t, 0, w.count(frontier.ReasonExpired), "leases expired")
		})
	}
}
