package crawler

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
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

// Politeness rule 25: the end of a crawl waits for nobody longer than Grace, in whatever way a host is slow, be the end an
// interrupt or --max-time.
func TestRule25_TheEndWaitsForNobody(t *testing.T) {
	for kind := range slowKinds {
		const hosts = 20
		for _, interrupted := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, interrupted %v", kind, interrupted), func(t *testing.T) {
				w := slowWorld(t, kind, hosts, 3)
				begin := time.Now()
				var s Summary
				if interrupted {
					s = w.drained(5 * time.Second)
				} else {
					w.cfg.MaxTime = 5 * time.Second
					s = w.run()
				}
				assert.LessOrEqual(t, time.Since(begin), 5*time.Second+Grace, "it took too long")
				if s.EndedBy != EndedMaxTime && s.EndedBy != EndedInterrupted {
					t.Errorf("ended by %q", s.EndedBy)
				}
				if n := int64(5 * hosts); s.Status.Queued+s.Status.Deferred < n-2*int64(hosts) || s.Status.InFlight != 0 {
					t.Errorf("%d URLs of slow hosts are pending, %d in flight", s.Status.Queued+s.Status.Deferred, s.Status.InFlight)
				}
			})
		}
	}
}

// drained runs the crawl and drains it after d.
func (w *world) drained(d time.Duration) Summary {
	w.t.Helper()
	c := w.crawl()
	time.AfterFunc(d, c.Drain)
	s, err := c.Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.balanced(s.Status)
	return s
}

// endings are the ways to end a crawl 15 seconds after its beginning, and how long each leaves to what is under way.
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

// aborted runs the crawl, drains it after d unless left is zero, and aborts it when left is over.
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

// What was cut is archived as far as it came, is no failure of the host, costs the URL no attempt, and is asked for again by
// the next run: a page, a sitemap, robots.txt, and several pages of an own host at once. An abort differs
// from the end of the grace in nothing but that it comes sooner (rule 17).
func TestRule25_WhatTheEndCutsIsArchivedAndStaysPending(t *testing.T) {
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
					t.Errorf("%s was fetched by attempt %d: what was cut counts for none", l.URL, l.Attempt)
				}
			}
		})
	}
}

// slowKinds are the ways in which a host can be slow: each says how it answers, or that it is never reached at all.
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
	brisk    = "body, just below what is brisk" // it costs the test most
)

// trickle sends so many octets each second until the client has had enough.
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

// slowWorld is a crawl of slow hosts, of each way to be slow or of one, and of good.test, whose pages are quick.
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

// askedWithin counts what a host was asked for in the first so much of the crawl.
func (w *world) askedWithin(host string, begin time.Time, d time.Duration) (n int) {
	for _, r := range w.web.Referee().Requests() {
		if r.Host == host && r.Start.Sub(begin) <= d {
			n++
		}
	}
	return n
}

// Politeness rule 25: no number of slow hosts takes the workers from the others, in whatever way they are slow. A good host
// that was found last gets nearly all that its pace allows.
func TestRule25_SlowHostsTakeNobodysPlace(t *testing.T) {
	long := os.Getenv("CURTSY_LONG") != ""
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
			// At first nobody knows who is slow: 64 hosts are found out in each second.
			if least := 58 - 2*hosts/64; first < least || all < 58*(minutes-1)+least {
				t.Errorf("%d in the first minute, want %d; %d in all", first, least, all)
			}
		})
	}
}

// Tickets of a budget are a place, too: slow hosts that hold all of them give them back.
func TestRule25_SlowHostsDoNotHoldTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := slowWorld(t, "body, just above the least speed", 20, 40)
		w.cfg.MaxPages, w.cfg.MaxTime = 10, 20*time.Minute
		if s := w.run(); s.EndedBy != EndedMaxPages || s.Status.Pages != 10 {
			t.Errorf("ended by %q with %d pages", s.EndedBy, s.Status.Pages)
		}
	})
}

// accounted fails the test unless each request that a host saw has its record, and each attempt its record but those that
// sent nothing.
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
		if kept[url] != n {
			w.t.Errorf("%s was asked for %d times and has %d records", url, n, kept[url])
		}
	}
	if without != sentNothing {
		w.t.Errorf("%d attempts have no record, want %d", without, sentNothing)
	}
}

// Whatever a host is slow with, an abort waits for nothing, and leaves out of the archive only what was not sent.
func TestRule17_AnAbortArchivesWhatWasSent(t *testing.T) {
	for kind := range slowKinds {
		for _, left := range []time.Duration{0, 300 * time.Millisecond} {
			bubble(t, fmt.Sprintf("%s, grace %v", kind, left), func(t *testing.T) {
				w := slowWorld(t, kind, 1, 3)
				begin := time.Now()
				s := w.aborted(5*time.Second, left)
				assert.LessOrEqual(t, time.Since(begin), 5*time.Second+left, "it took too long")
				sentNothing := 0
				if kind == "connect" {
					sentNothing = 1 // somebody may have been called on, so the line says so
				}
				w.accounted(sentNothing)
				if s.Status.Queued+s.Status.Deferred < 4 || s.Status.InFlight != 0 || len(s.Status.Failures) != 0 && kind != "header" { // that one ends by itself
					t.Errorf("%+v", s.Status)
				}
				for _, l := range w.ledger.all {
					if kind == "look-up" && l.URL[:12] == "http://slow0" {
						t.Errorf("nobody was asked, and a line says %+v", l)
					}
				}
			})
		}
	}
}

// At whatever instant an abort comes, alone or in the grace, with one exchange at a time or with several.
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

// An answer that came whole, and that an abort leaves nobody time to read, is archived, and asked for again.
func TestRule17_AnAbortArchivesWhatNobodyHasRead(t *testing.T) {
	for _, at := range []string{"a.test", "localhost"} {
		bubble(t, at, func(t *testing.T) {
			w := newWorld(t, []string{"http://" + at + "/"}, &crawltest.Site{Name: at, Handler: http.HandlerFunc(
				afterRobots(func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Type", "text/html")
					fmt.Fprint(rw, "<a href=/more>more</a>")
				}))})
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

// An exchange that is cut by the end of its lease's time is archived as far as it came, with its line, as one is that the end
// of the crawl cuts: a page, one with a head alone, one that sends nothing, and several pages of an own host at once.
func TestWhatTheEndOfTheLeaseCutsIsArchived(t *testing.T) {
	nothing := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow := func(rw http.ResponseWriter, r *http.Request) { trickle(rw, r, "text/html", 200) }
	for name, tt := range map[string]struct {
		host, want string
		answer     http.HandlerFunc
		truncated  string
	}{
		"a page":         {"a.test", "####", slow, fetch.CutTime},
		"without a head": {"a.test", "", nothing, ""},
		"own host":       {"localhost", "####", slow, fetch.CutTime},
	} {
		bubble(t, name, func(t *testing.T) {
			site := &crawltest.Site{Name: tt.host, Handler: http.HandlerFunc(afterRobots(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/slow") {
					tt.answer(rw, r)
				}
			}))}
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
