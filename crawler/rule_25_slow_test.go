package crawler

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
)

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
