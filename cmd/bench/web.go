package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/plainly"
)

// webConfig describes a web. Equal ones make the same pages.
type webConfig struct {
	Hosts   int           // one is 127.0.0.1; more are 127.0.1.1 and up, with one port
	Pages   int           // in all, spread over the hosts; of an endless web, those to fetch
	Endless bool          // each page links to as many new ones as it has links
	Pace    time.Duration // Crawl-delay in robots.txt, which the servers check; 0 = none
	Latency time.Duration // of each response
	Width   int           // requests that may be in progress at a host; 0 = unlimited
	Hostile string        // body of one more page, linked from the first root; "" for none
}

// web serves pages of some 20 KiB from prepared pieces, so that serving is much cheaper than fetching. Its judge reads no header
// field but Connection.
type web struct {
	cfg       webConfig
	text      [][]byte // paragraphs of some 330 bytes, with a little markup
	from      []string // "http://127.0.1.1:41234", by host
	robots    []byte   // the whole response
	hostile   []byte   // the whole response of the hostile page; nil without one
	listeners []net.Listener
	hosts     []hostLog
	zero      time.Time // the judge's clock starts here
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// hostLog is the log of a host.
type hostLog struct {
	mu     sync.Mutex
	log    []request
	opened int // connections
}

// request has times since the web's zero.
type request struct {
	page       int // number among the host's own, or one of those below
	start, end time.Duration
}

const (
	robotsPage  = -1
	noPage      = -2 // not found
	hostilePage = -3
)

// serveWeb is the process of a remoteWeb.
func serveWeb(c webConfig, std cli.Streams) error {
	w, err := startWeb(c)
	if err != nil {
		return err
	}
	seeds := make([]string, c.Hosts)
	for i, from := range w.from {
		seeds[i] = from + "/"
	}
	out := json.NewEncoder(std.Out)
	err = out.Encode(seeds)
	for lines := bufio.NewScanner(std.In); err == nil && lines.Scan(); w.reset() {
		err = out.Encode(w.report())
	}
	return errors.Join(err, w.close())
}

func startWeb(c webConfig) (_ *web, err error) {
	if c.Hosts < 1 || c.Hosts > 250*254 || c.Pages < c.Hosts || c.Pages > mostPages {
		return nil, cli.Usagef("%d hosts with %d pages: at most %d hosts, with one page each at least", c.Hosts, c.Pages, 250*254)
	}
	w := &web{cfg: c, text: paragraphs(), hosts: make([]hostLog, c.Hosts), conns: map[net.Conn]bool{}, zero: time.Now()}
	robots := "User-agent: *\nDisallow: /private/\n"
	if c.Pace > 0 {
		robots += "Crawl-delay: " + strconv.FormatFloat(c.Pace.Seconds(), 'f', -1, 64) + "\n"
	}
	w.robots = response("text/plain", "", []byte(robots))
	if w.hostile, err = w.hostileResponse(); err != nil {
		return nil, err
	}
	for range 20 { // until a port is free on every address
		if err = w.listen(); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; on macOS run sudo ifconfig lo0 alias 127.0.1.1 for each address first", err)
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	for i, l := range w.listeners {
		w.from = append(w.from, "http://"+l.Addr().String())
		w.running.Go(func() { w.accept(i, l) })
	}
	return w, nil
}

// listen listens at one port of an address for each host.
func (w *web) listen() error {
	port := "0"
	for i := range w.cfg.Hosts {
		address := "127.0.0.1"
		if w.cfg.Hosts > 1 {
			address = net.IPv4(127, 0, byte(1+i/250), byte(1+i%250)).String()
		}
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", net.JoinHostPort(address, port))
		if err == nil {
			w.listeners = append(w.listeners, l)
			_, port, err = net.SplitHostPort(l.Addr().String())
		}
		if err != nil {
			for _, l := range w.listeners {
				_ = l.Close()
			}
			w.listeners = nil
			return err
		}
	}
	return nil
}

func (w *web) accept(host int, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed; a lack of descriptors shows in the crawl
		}
		w.mu.Lock()
		if w.ctx.Err() != nil {
			w.mu.Unlock()
			_ = c.Close()
			return
		}
		w.conns[c] = true
		w.running.Go(func() { w.serve(host, c) })
		w.mu.Unlock()
	}
}

func (w *web) serve(host int, c net.Conn) {
	h := &w.hosts[host]
	h.mu.Lock()
	h.opened++
	h.mu.Unlock()
	defer func() {
		_ = c.Close()
		w.mu.Lock()
		delete(w.conns, c)
		w.mu.Unlock()
	}()
	in := bufio.NewReaderSize(c, 8<<10)
	var out []byte
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		start := time.Since(w.zero)
		target, keep, ok := readRequest(in)
		if !ok {
			return
		}
		ill := w.hostile != nil && host == 0 && string(target) == hostilePath
		page := hostilePage
		if !ill {
			out, page = w.respond(out[:0], host, target)
		}
		// The log has the request before the client has the response. The end is noted just before the bytes are sent, so
		// that no gap is measured too short; a hostile body ends once it is sent.
		h.mu.Lock()
		at := len(h.log)
		h.log = append(h.log, request{page: page, start: start})
		h.mu.Unlock()
		if w.cfg.Latency > 0 {
			select {
			case <-time.After(w.cfg.Latency):
			case <-w.ctx.Done():
				return
			}
		}
		var err error
		if ill {
			_, err = c.Write(w.hostile)
		}
		h.mu.Lock()
		if at < len(h.log) { // else the log was reset
			h.log[at].end = time.Since(w.zero)
		}
		h.mu.Unlock()
		if !ill {
			_, err = c.Write(out)
		}
		if err != nil || !keep {
			return
		}
	}
}

// readRequest reads the head of a GET request without a body; ok is false for any other. net/http would take more processor
// time than the rest of the response.
func readRequest(in *bufio.Reader) (target []byte, keep, ok bool) {
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, false, false
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case first:
			words := bytes.Fields(line)
			if len(words) != 3 || string(words[0]) != "GET" {
				return nil, false, false
			}
			target, keep = bytes.Clone(words[1]), string(words[2]) == "HTTP/1.1"
		case len(line) == 0:
			return target, keep, true
		case bytes.EqualFold(name, []byte("Connection")):
			keep = keep && !bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
		}
	}
}

// reset empties the logs and closes the connections of the last crawler.
func (w *web) reset() {
	w.mu.Lock()
	for c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	for i := range w.hosts {
		h := &w.hosts[i]
		h.mu.Lock()
		h.log, h.opened = nil, 0
		h.mu.Unlock()
	}
}

// close ends all connections and waits for their goroutines.
func (w *web) close() (err error) {
	w.stop()
	for _, l := range w.listeners {
		err = errors.Join(err, l.Close())
	}
	w.reset()
	w.running.Wait()
	return err
}

// A host's pages are numbered from 0, the root. Page n links to pages 10n+1 to 10n+10 of its host, if they exist, so
// that the root leads to all; its other links lead to random pages, half of them on its own host. An endless page n
// links to 40n+1 to 40n+40, to which no other page links.
const (
	links      = 40 // of a page
	fan        = 10 // of these, to the next pages of its host
	mostPages  = 1 << 30
	paragraphN = 512
	pieceSize  = 350                // bytes of a paragraph, at least
	digits     = "bcdfghjklmnpqrst" // of page numbers in paths: paths that differ only in digits look like traps
	tail       = ".html"
	scramble   = 0x9e3779b1 // odd, so that no two pages share a path; neighbours look different
	unscramble = 0x0e8b2f51 // its inverse modulo 2^32
)

var sections = strings.Fields("archive library gardens harbour kitchen letters markets notices")

func paragraphs() (all [][]byte) {
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	for range paragraphN {
		var b strings.Builder
		for b.Len() < pieceSize {
			fmt.Fprintf(&b, "%s <em>%s</em> %s %s. ", pick(crawltest.Someone), pick(crawltest.Did), pick(crawltest.Thing), pick(crawltest.Moment))
		}
		all = append(all, []byte(b.String()))
	}
	return all
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): neighbours become independent.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15 // the increment of SplitMix64

// draw is a number below n that depends on the page and i.
func draw(host, page, i, n int) int {
	return int(mix((uint64(host)<<44+uint64(page)<<8+uint64(i)+2)*golden) % uint64(n))
}

func appendPath(b []byte, page int) []byte {
	b = append(b, '/')
	if page == 0 {
		return b
	}
	b = append(b, sections[page%len(sections)]...)
	b = append(b, "/what-was-found-"...)
	n := uint32(page) * scramble
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[n>>shift&15])
	}
	return append(b, tail...)
}

// pageAt returns the page at a path, or noPage.
func pageAt(path []byte) int {
	if string(path) == "/" {
		return 0
	}
	end := len(path) - len(tail)
	if end < 8 {
		return noPage
	}
	var n uint32
	for _, c := range path[end-8 : end] {
		d := strings.IndexByte(digits, c)
		if d < 0 {
			return noPage
		}
		n = n<<4 | uint32(d)
	}
	page := int(n * unscramble)
	var own [64]byte
	if page < 0 || page >= mostPages || !bytes.Equal(appendPath(own[:0], page), path) {
		return noPage
	}
	return page
}

func (w *web) has(host, page int) bool {
	return page >= 0 && (w.cfg.Endless || page < w.pagesOf(host))
}

func (w *web) pagesOf(host int) int { return (w.cfg.Pages - host + w.cfg.Hosts - 1) / w.cfg.Hosts }

// leadsTo is the target of link i.
func (w *web) leadsTo(host, page, i int) (toHost, toPage int) {
	if w.cfg.Endless {
		return host, (links*page + i + 1) % mostPages
	}
	if to := fan*page + i + 1; i < fan && to < w.pagesOf(host) {
		return host, to
	}
	if i%2 == 0 {
		host = draw(host, page, i, w.cfg.Hosts)
	}
	return host, draw(host, page, i+links, w.pagesOf(host))
}

func (w *web) respond(out []byte, host int, target []byte) (_ []byte, page int) {
	if string(target) == "/robots.txt" {
		return append(out, w.robots...), robotsPage
	}
	if page = pageAt(target); !w.has(host, page) {
		return append(out, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nNot found\n"...), noPage
	}
	out = append(out, "HTTP/1.1 200 OK\r\nServer: bench\r\nConnection: keep-alive\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length:       \r\n\r\n"...)
	begin := len(out)
	out = w.render(out, host, page)
	for n, at := len(out)-begin, begin-5; n > 0; n, at = n/10, at-1 { // over the spaces
		out[at] = byte('0' + n%10)
	}
	return out, page
}

// render appends a page: a head, and half a KiB of text for each link.
func (w *web) render(out []byte, host, page int) []byte {
	out = append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"...)
	out = appendPath(out, page)
	out = append(out, "</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n</head>\n<body>\n<main>\n"...)
	if w.cfg.Hostile != "" && host == 0 && page == 0 {
		out = append(out, "<p><a href=\""+hostilePath+"\">and one more</a></p>\n"...)
	}
	for i := range links {
		to, toPage := w.leadsTo(host, page, i)
		out = append(out, "<article class=\"teaser\" id=\"t"...)
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, "\"><h3><a href=\""...)
		if to != host {
			out = append(out, w.from[to]...)
		}
		out = appendPath(out, toPage)
		out = append(out, "\">"...)
		out = append(out, crawltest.Thing[draw(host, page, i+2*links, len(crawltest.Thing))]...)
		out = append(out, "</a></h3>\n<p>"...)
		out = append(out, w.text[draw(host, page, i+3*links, paragraphN)]...)
		out = append(out, "</p></article>\n"...)
	}
	return append(out, "</main>\n</body>\n</html>\n"...)
}

const (
	hostilePath = "/hostile.html"
	hugePage    = "page of 100 MiB"
	gzipBomb    = "gzip bomb of 128 MiB"
	brotliBomb  = "br bomb of 1 GiB"
	hugeSize    = 100 << 20 // bytes, of the same markup as the other pages
	bombSize    = 128 << 20 // bytes of the gzip bomb, decompressed
)

var hostileBodies = []string{hugePage, gzipBomb, brotliBomb}

func (w *web) hostileResponse() ([]byte, error) {
	switch w.cfg.Hostile {
	case hugePage:
		page := w.render(nil, 0, 0)
		begin, end := bytes.Index(page, []byte("<article")), bytes.LastIndex(page, []byte("</main>"))
		articles, last := page[begin:end], page[end:]
		body := bytes.Join([][]byte{page[:begin], bytes.Repeat(articles, (hugeSize-begin-len(last))/len(articles))}, nil)
		body = append(body, bytes.Repeat([]byte(" "), hugeSize-len(body)-len(last))...)
		return response("text/html", "", append(body, last...)), nil
	case gzipBomb:
		body, err := crawltest.GzipBomb(bombSize)
		return response("text/html", "gzip", body), err
	case brotliBomb:
		return response("text/html", "br", []byte(crawltest.BrotliBomb)), nil
	}
	return nil, nil
}

func response(mediaType, coding string, body []byte) []byte {
	if coding != "" {
		coding = "Content-Encoding: " + coding + "\r\n"
	}
	return append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: %s; charset=utf-8\r\n%sContent-Length: %d\r\n\r\n", mediaType, coding, len(body)), body...)
}

// refereed is the servers' report on a crawl.
type refereed struct {
	Requests    int     `json:"requests"`
	Robots      int     `json:"robots"`     // of these, for robots.txt
	Other       int     `json:"other"`      // of these, for pages that do not exist
	Hostile     int     `json:"hostile"`    // of these, for the hostile page
	Pages       int     `json:"pages"`      // distinct pages requested
	Expected    int     `json:"expected"`   // pages
	Coverage    float64 `json:"coverage"`   // pages ÷ expected
	Duplicates  int     `json:"duplicates"` // requests for a page requested before
	Connections int     `json:"connections_per_host"`
	Gaps        int     `json:"gaps"`           // between requests to one host that requires a delay
	Short       int     `json:"gaps_short"`     // of these, shorter than the delay
	SmallestGap float64 `json:"smallest_gap_s"` // negative where requests overlapped
	TooMany     int     `json:"too_many"`       // requests beyond the width
	Unannounced int     `json:"unannounced"`    // hosts with a request before the response of robots.txt
	OfPermitted float64 `json:"achieved_ratio"` // requests per second, the first of each host excepted, ÷ (hosts ÷ (pace + exchange))
	Steady      float64 `json:"steady_ratio"`   // the same while all hosts were known and none was finished
	MetAfter    float64 `json:"all_hosts_met_s"`
	Known       int     `json:"urls_discovered,omitempty"` // of an endless web
	Unasked     bool    `json:"hostile_not_requested,omitempty"`
}

// violations lists the crawl's violations of politeness and completeness.
func (r *refereed) violations() (found []string) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	add(r.Pages != r.Expected, "%d of %d pages were fetched", r.Pages, r.Expected)
	add(r.Duplicates > 0, "%s for a page requested before", plainly.Count(r.Duplicates, "request"))
	add(r.Unasked, "the hostile page was not requested")
	add(r.Other > 0, "%s for pages that do not exist", plainly.Count(r.Other, "request"))
	add(r.Short > 0, "%d of %s short of the delay, the smallest %.6f s", r.Short, plainly.Count(r.Gaps, "gap"), r.SmallestGap)
	add(r.TooMany > 0, "%s while as many as allowed were in progress at the host", plainly.Count(r.TooMany, "request"))
	add(r.Unannounced > 0, "%s whose robots.txt was not read first", plainly.Count(r.Unannounced, "host"))
	return found
}

// report judges the requests since the last reset.
func (w *web) report() *refereed {
	r := &refereed{Expected: w.cfg.Pages}
	var logs [][]request
	var took []time.Duration
	for i := range w.hosts {
		h := &w.hosts[i]
		h.mu.Lock()
		log := slices.Clone(h.log)
		r.Connections = max(r.Connections, h.opened)
		h.mu.Unlock()
		if len(log) == 0 {
			continue
		}
		slices.SortStableFunc(log, func(a, b request) int { return int(a.start - b.start) })
		logs = append(logs, log)
		for _, x := range log {
			if x.end > 0 {
				took = append(took, x.end-x.start)
			}
		}
		r.count(log)
		r.overlap(log, w.cfg.Width)
		if w.cfg.Pace > 0 {
			r.gaps(log, w.cfg.Pace)
		}
	}
	r.Coverage, r.Unasked = float64(r.Pages)/float64(r.Expected), w.cfg.Hostile != "" && r.Hostile == 0
	if w.cfg.Endless {
		r.Known = w.cfg.Hosts + links*r.Pages
	}
	if w.cfg.Pace > 0 && len(took) > 0 {
		slices.Sort(took)
		r.ratios(logs, w.cfg.Hosts, (w.cfg.Pace + took[(len(took)-1)/2]).Seconds())
	}
	return r
}

func (r *refereed) count(log []request) {
	seen := map[int]bool{}
	for _, x := range log {
		r.Requests++
		switch {
		case x.page == robotsPage:
			r.Robots++
		case x.page == noPage:
			r.Other++
		case x.page == hostilePage:
			r.Hostile++
		case seen[x.page]:
			r.Duplicates++
		default:
			seen[x.page] = true
			r.Pages++
		}
	}
}

// overlap counts requests beyond the width, and whether robots.txt came first.
func (r *refereed) overlap(log []request, width int) {
	var open []request // in progress; end 0 = never completed
	announced, unannounced := false, 0
	for _, x := range log {
		open = slices.DeleteFunc(open, func(o request) bool {
			over := o.end > 0 && o.end <= x.start
			announced = announced || over && o.page == robotsPage
			return over
		})
		open = append(open, x)
		if width > 0 && len(open) > width {
			r.TooMany++
		}
		if !announced && x.page != robotsPage {
			unannounced = 1
		}
	}
	r.Unannounced += unannounced
}

// gaps checks the delays between the requests of a host.
func (r *refereed) gaps(log []request, pace time.Duration) {
	end := log[0].end
	for i, x := range log[1:] {
		d := x.start - end
		if before := log[i]; before.end == 0 { // still in progress
			d = before.start - x.start
		}
		if r.Gaps++; r.Gaps == 1 || d.Seconds() < r.SmallestGap {
			r.SmallestGap = d.Seconds()
		}
		if d < pace {
			r.Short++
		}
		end = max(end, x.end)
	}
}

// steadyTurns is the shortest window of a steady ratio, in turns of a host.
const steadyTurns = 2

// ratios compares the requests with those permitted: one per turn (delay and response) to each host. The steady ratio covers
// the time from the first request to the last host until the last request to the host that finished first, while all hosts are
// known and have pages left. Within the window each host is measured between two of its requests, because the edges of the
// window cut delays in two.
func (r *refereed) ratios(logs [][]request, hosts int, turn float64) {
	first, last := logs[0][0].start, time.Duration(0)
	from, to := first, logs[0][len(logs[0])-1].start
	for _, log := range logs {
		begin, end := log[0].start, log[len(log)-1].start
		first, last, from, to = min(first, begin), max(last, end), max(from, begin), min(to, end)
	}
	r.MetAfter = (from - first).Seconds()
	again, spans := 0, time.Duration(0)
	for _, log := range logs {
		in := slices.DeleteFunc(slices.Clone(log), func(x request) bool { return x.start < from || x.start > to })
		if len(in) < 2 { // waiting all the time
			spans += to - from
			continue
		}
		again, spans = again+len(in)-1, spans+in[len(in)-1].start-in[0].start
	}
	if len(logs) == hosts && (to-from).Seconds() >= steadyTurns*turn {
		r.Steady = float64(again) * turn / spans.Seconds()
	}
	if last > first {
		r.OfPermitted = float64(r.Requests-len(logs)) / (last - first).Seconds() * turn / float64(hosts)
	}
}
