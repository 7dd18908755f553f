package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"curtsy/cmd/curtsy/cli"
)

// webConfig describes a web. The same one makes the same pages.
type webConfig struct {
	Hosts   int           // one is 127.0.0.1; more are 127.0.1.1 and up, with one port
	Pages   int           // in all, spread over the hosts; of an endless web, those that a crawl is expected to fetch
	Endless bool          // each page links to as many new ones as it has links
	Pace    time.Duration // Crawl-delay in robots.txt, to which the servers hold requests; 0 = none
	Latency time.Duration // of each response
	Width   int           // requests that may be in progress at a host; 0 = unlimited
	Hostile string        // body of one more page, linked from the root of the first host; empty for none
}

// web serves pages of some 20 KiB from prepared pieces, so that serving one costs next to nothing beside fetching it. Its
// judge reads no header field but Connection.
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

// hostLog is what the servers note about a host.
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

// serveWeb is the process of a web: see remoteWeb.
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

// listen listens at one port of as many addresses as there are hosts.
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

// serve responds to the requests on a connection.
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
		// Noted before the response, so that no client that has the response can find it missing. The end is noted just
		// before the bytes are sent, so that no gap is measured shorter than it was; a hostile body ends once it is sent.
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

// readRequest reads the head of a GET request without a body; anything else is not ok. net/http would take more processor
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

// reset forgets what was noted and closes the connections of the last crawler.
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

// close ends all connections and waits for the goroutines that serve them.
func (w *web) close() (err error) {
	w.stop()
	for _, l := range w.listeners {
		err = errors.Join(err, l.Close())
	}
	w.reset()
	w.running.Wait()
	return err
}
