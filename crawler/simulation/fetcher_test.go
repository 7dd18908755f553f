package simulation

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// answer is what an exchange brings.
type answer struct {
	status     int
	failure    fetch.Class
	lost       bool // no connection: nothing was sent
	latency    time.Duration
	response   time.Duration // sent to first octet; zero without an answer
	asked      bool          // with Retry-After
	retryAfter time.Duration
	date       bool // as a date
	location   string
	body       []byte
	rules      bool // an answer to the question for robots.txt, good or bad
	slow       bool // with a Crawl-delay
}

// fault reports whether the exchange says nothing about what was asked for.
func (x *answer) fault() bool { return x.failure != "" || x.status >= 500 || x.status == 429 }

// fetcher makes exchanges with the world.
type fetcher struct {
	w *world
	r *referee
}

// Do implements the interface that the crawler asks for.
func (f *fetcher) Do(ctx context.Context, q fetch.Request) (*fetch.Exchange, error) {
	a, err := parse(q.URL)
	if err != nil {
		return nil, err
	}
	ex := &fetch.Exchange{URL: q.URL, Start: time.Now()}
	n, asked := f.r.begin(a)
	x := f.w.answer(a, n, asked)
	time.Sleep(x.latency)
	ex.End = time.Now()
	if x.asked && x.date { // a date has whole seconds: what is left of it may be less
		at := ex.End.Add(x.retryAfter).Truncate(time.Second)
		x.retryAfter = at.Sub(ex.End)
	}
	f.r.end(a, x)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.fill(ex, a, x)
	return ex, nil
}

// CloseIdle implements the interface: there are no connections.
func (f *fetcher) CloseIdle(canon.Authority) {}

// Addresses gives each host one of its own.
func (f *fetcher) Addresses(_ context.Context, a canon.Authority) ([]netip.AddrPort, error) {
	id, err := hostID(a.Host())
	return []netip.AddrPort{addressOf(id)}, err
}

func addressOf(id int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(id >> 16), byte(id >> 8), byte(id)}), 80)
}

var (
	request = []byte("GET / HTTP/1.1\r\n\r\n")
	raw     = []byte("HTTP/1.1 200 OK\r\n\r\n")
	errMade = errors.New("made by the simulation")
)

// fill puts an answer as the crawler wants it.
func (f *fetcher) fill(ex *fetch.Exchange, a address, x *answer) {
	ex.ResponseTime = x.response
	if x.failure != "" {
		ex.Failure = &fetch.Failure{Class: x.failure, Err: errMade}
	}
	if x.lost {
		return
	}
	ex.Addr = addressOf(a.id)
	ex.Request = request
	if x.status == 0 {
		return
	}
	ex.Status = x.status
	ex.Header = http.Header{"Content-Type": {"text/html"}}
	if x.location != "" {
		ex.Header["Location"] = []string{x.location}
	}
	switch {
	case x.asked && x.date:
		ex.Header["Retry-After"] = []string{ex.End.Add(x.retryAfter).UTC().Format(http.TimeFormat)}
	case x.asked:
		ex.Header["Retry-After"] = []string{strconv.Itoa(int(x.retryAfter / time.Second))}
	}
	ex.Response = io.NewSectionReader(bytes.NewReader(raw), 0, int64(len(raw)))
	ex.HeadSize = int64(len(raw))
	ex.Body = io.NewSectionReader(bytes.NewReader(x.body), 0, int64(len(x.body)))
	ex.PayloadSize = int64(len(x.body))
	binary.BigEndian.PutUint64(ex.PayloadDigest[:], hash(uint64(a.id)<<32|uint64(a.n), uint64(a.what)))
}

// answer is what the n-th exchange with a host brings.
func (w *world) answer(a address, n uint64, asked int) *answer {
	h := &w.hosts[a.id]
	draw := hash(uint64(a.id), n<<8)
	x := &answer{status: 200, latency: h.latency}
	if !w.calm {
		x.latency = ticks(float64(h.latency/time.Millisecond) * math.Exp(0.35*normal(draw)))
	}
	if x.dead(h) {
		return x
	}
	switch {
	case a.what == forRobots:
		w.robots(x, a.id, asked)
	case a.what == forRobotsOf:
		w.rulesOf(x, a.n)
	case x.failing(h, w.calm || a.id < w.roots, hash(uint64(a.id), n/2<<8|1)): // in pairs, so that schedules double
	case a.what == forPage && w.kind(a.id, a.n) == missing:
		x.status = 404
	case a.what == forPage && w.kind(a.id, a.n) == moved:
		x.status, x.location = 301, "/m/"+strconv.Itoa(a.n)
	case a.what == forMoved:
		x.body = fmt.Appendf(nil, "<title>moved %d of %d</title>", a.n, a.id)
	default:
		x.body = w.page(a.id, a.n)
	}
	if x.failure == "" {
		x.response = x.latency
	}
	return x
}

// dead fails the exchange with a host that never answers.
func (x *answer) dead(h *host) bool {
	switch h.dead {
	case alive:
		return false
	case noName:
		x.failure = fetch.NXDomain
	case noRoute:
		x.failure, x.latency = fetch.Timeout, 10*time.Second
	case refusesConnections:
		x.failure = fetch.Connect
	}
	x.status, x.lost = 0, true
	return true
}

// failing makes the exchange fail now and then.
func (x *answer) failing(h *host, never bool, draw uint64) bool {
	p := uint16(draw)
	if never || p >= h.throttl+400 {
		return false
	}
	x.status = 0
	switch draw >>= 16; {
	case p >= h.throttl: // 0.6 % of all
		switch draw % 6 {
		case 0, 1:
			x.failure = fetch.Reset
		case 2:
			x.failure = fetch.Incomplete
		case 3:
			x.failure, x.latency = fetch.Timeout, 30*time.Second
		default:
			x.status = 500 + int(draw>>8%2)*2
		}
		return true
	case draw%4 == 0:
		x.status = 503 // and no word of when
		return true
	case draw%4 == 1:
		x.status = 429
	default:
		x.status, x.date = 503, draw%4 == 2
	}
	x.asked = true
	x.retryAfter = time.Duration(2+draw>>8%600) * time.Second
	if draw>>20%50 == 0 {
		x.retryAfter = 2 * time.Hour
	}
	return true
}

// robots answers the question for robots.txt.
func (w *world) robots(x *answer, id, asked int) {
	switch h := &w.hosts[id]; {
	case h.rules == noRules:
		x.status, x.rules = 404, true
	case h.rules == movedRules && !w.calm:
		x.status, x.location = 301, "/rules/"+strconv.Itoa(id)
	case h.rules == elseRules:
		x.status, x.location = 302, nameOf((id+1)%len(w.hosts))+"/rules/"+strconv.Itoa(id)
	case h.rules == lateRules && asked <= 2:
		x.status = 500 + 3*(id%2)
	case h.rules == busyRules && asked <= 1:
		x.status, x.asked, x.retryAfter, x.date = 503, true, time.Duration(10+id%90)*time.Second, id%2 == 0
	default:
		w.rulesOf(x, id)
	}
}

// rulesOf answers with the rules of a host.
func (w *world) rulesOf(x *answer, id int) {
	h := &w.hosts[id]
	x.rules, x.slow = true, h.delay > 0
	x.body = append(x.body, "User-agent: *\nDisallow: /private/\n"...)
	if h.rules == ownRules {
		x.body = fmt.Appendf(x.body, "Disallow: /only-%d/\n", id)
	}
	if h.delay > 0 {
		x.body = fmt.Appendf(x.body, "Crawl-delay: %v\n", h.delay.Seconds())
	}
}

// page is the text of an ordinary page.
func (w *world) page(id, page int) []byte {
	b := fmt.Appendf(nil, "<title>page %d of %d</title>", page, id)
	for x := hash(uint64(id)<<32|uint64(page), 9); x > 0; x /= 26 { // a word of its own: pages of one mould are a trap
		b = append(b, 'a'+byte(x%26))
	}
	for _, k := range w.links(id, page) {
		b = fmt.Appendf(b, "<a href=%s>next</a>", w.path(id, k))
	}
	for _, other := range w.introduced(id, page) {
		b = fmt.Appendf(b, "<a href=%s/p/0>new</a>", nameOf(int(other)))
	}
	if other, ok := w.elsewhere(id, page); ok {
		b = fmt.Appendf(b, "<a href=%s/p/0>see also</a>", nameOf(other))
	}
	return b
}
