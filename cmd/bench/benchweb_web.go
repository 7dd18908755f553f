package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"curtsy/storage/plainly"
)

// ServedWeb is a web to measure crawlers on: any number of hosts on addresses of loopback, and pages of some 20 KiB that
// are put together from pieces rendered beforehand, so that serving one costs next to nothing beside fetching it. The
// same Config makes the same pages. It has a referee of its own, which notes five numbers for a request and reads
// no header field but Connection.
//
// It is served over sockets, by a process of its own where
// processor time is measured, so that what the crawler takes is told apart.
type ServedWeb struct {
	cfg  WebConfig
	text pieces
	from []string // "http://127.0.1.1:41234", by host

	robots []byte               // the whole answer
	ill    func(net.Conn) error // sends the answer of the hostile page; nil if there is none

	listeners []net.Listener
	hosts     []hostLog
	zero      time.Time // that the referee counts from
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// WebConfig says what a Web is.
type WebConfig struct {
	// Hosts is how many there are. One is 127.0.0.1; more are 127.0.1.1 and so on, all on one port. Zero means one.
	Hosts int

	// Pages is how many there are in all; the hosts have them in turn. At least one for each host.
	Pages int

	// Endless pages link to further ones without end, each to as many as it has links; then Pages is how many a crawl
	// is expected to fetch.
	Endless bool

	// Seed of the pages: which links they have and what they say.
	Seed uint64

	// Pace is the Crawl-delay that robots.txt asks for, and the gap that the referee holds requests to. Zero asks for
	// none.
	Pace time.Duration

	// Latency is how long each answer waits.
	Latency time.Duration

	// Width is how many requests may be under way at one host. Zero means that nobody counts.
	Width int

	// Ill is the body of one more page, which the root of the first host links to. Empty for none.
	Ill HostileBody
}

// Links is how many links a page has.
const Links = 40

// hostLog is what the referee notes about a host.
type hostLog struct {
	mu     sync.Mutex
	log    []request
	opened int // connections so far
	open   int // now
	most   int // at once
}

// request is one request. Times count from the Web's zero.
type request struct {
	page       int // number among the host's own; or one of those below
	start, end time.Duration
}

// Paths that are asked for beside pages.
const (
	robotsPage = -1
	noPage     = -2 // there is no such page
	illPage    = -3 // the hostile page
)

// Start makes and serves a web.
func Start(c WebConfig) (*ServedWeb, error) {
	c.Hosts = max(c.Hosts, 1)
	if c.Pages < c.Hosts {
		return nil, fmt.Errorf("benchweb: %s for %s: each has at least one", plainly.Count(c.Pages, "page"),
			plainly.Count(c.Hosts, "host"))
	}
	if c.Hosts > 250*254 || c.Pages > mostPages {
		return nil, fmt.Errorf("benchweb: %s and %s: there are no more than %d and %d", plainly.Count(c.Hosts, "host"),
			plainly.Count(c.Pages, "page"), 250*254, mostPages)
	}
	b := &ServedWeb{cfg: c, text: newPieces(c.Seed), hosts: make([]hostLog, c.Hosts), conns: map[net.Conn]bool{},
		zero: time.Now()}
	b.robots = answerOf("text/plain; charset=utf-8", robotsOf(c.Pace))
	if c.Ill != "" {
		var err error
		if b.ill, err = b.hostileAnswer(); err != nil {
			return nil, err
		}
	}
	if err := b.listen(); err != nil {
		return nil, err
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	for i, l := range b.listeners {
		b.from = append(b.from, "http://"+l.Addr().String())
		b.running.Go(func() { b.accept(i, l) })
	}
	return b, nil
}

func robotsOf(pace time.Duration) string {
	text := "User-agent: *\nDisallow: /private/\n"
	if pace > 0 {
		text += "Crawl-delay: " + strconv.FormatFloat(pace.Seconds(), 'f', -1, 64) + "\n"
	}
	return text
}

// Seeds are the URLs of the hosts' roots.
func (b *ServedWeb) Seeds() []string {
	var seeds []string
	for _, from := range b.from {
		seeds = append(seeds, from+"/")
	}
	return seeds
}

// Reset forgets what was noted, for the next crawler. The connections of the one before are closed.
func (b *ServedWeb) Reset() {
	b.mu.Lock()
	for c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	for i := range b.hosts {
		h := &b.hosts[i]
		h.mu.Lock()
		h.log, h.opened, h.most = nil, 0, h.open
		h.mu.Unlock()
	}
}

// Close ends all connections and waits for what serves them.
func (b *ServedWeb) Close() error {
	b.stop()
	var errs []error
	for _, l := range b.listeners {
		errs = append(errs, l.Close())
	}
	b.mu.Lock()
	for c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.running.Wait()
	return errors.Join(errs...)
}
