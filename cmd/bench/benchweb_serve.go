package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// tries is how often a port is looked for that is free on every address.
const tries = 20

func (b *ServedWeb) listen() error {
	var err error
	for range tries {
		if b.listeners, err = listenAll(b.cfg.Hosts); err == nil {
			return nil
		}
	}
	return fmt.Errorf("benchweb: %w; on macOS each address of loopback beside 127.0.0.1 must be made first: sudo ifconfig lo0 alias 127.0.1.1", err)
}

// listenAll listens on one port of as many addresses as there are hosts.
func listenAll(hosts int) (_ []net.Listener, err error) {
	var all []net.Listener
	defer func() {
		if err != nil {
			for _, l := range all {
				_ = l.Close()
			}
		}
	}()
	port := "0"
	for i := range hosts {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", net.JoinHostPort(addressOf(i, hosts), port))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
		if _, port, err = net.SplitHostPort(l.Addr().String()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func addressOf(i, hosts int) string {
	if hosts == 1 {
		return "127.0.0.1"
	}
	return net.IPv4(127, 0, byte(1+i/250), byte(1+i%250)).String()
}

// accept serves the connections of a host.
func (b *ServedWeb) accept(host int, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed; a lack of descriptors shows in the crawl
		}
		b.mu.Lock()
		if b.ctx.Err() != nil {
			b.mu.Unlock()
			_ = c.Close()
			return
		}
		b.conns[c] = true
		b.running.Go(func() { b.serve(host, c) })
		b.mu.Unlock()
	}
}

// serve answers what comes over a connection, request by request.
func (b *ServedWeb) serve(host int, c net.Conn) {
	h := &b.hosts[host]
	h.mu.Lock()
	h.opened++
	h.open++
	h.most = max(h.most, h.open)
	h.mu.Unlock()
	defer func() {
		_ = c.Close()
		h.mu.Lock()
		h.open--
		h.mu.Unlock()
		b.mu.Lock()
		delete(b.conns, c)
		b.mu.Unlock()
	}()
	in := bufio.NewReaderSize(c, 8<<10)
	var out []byte
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		start := time.Since(b.zero)
		target, keep, ok := readRequest(in)
		if !ok {
			return
		}
		var page int
		sick := b.ill != nil && host == 0 && string(target) == hostilePath
		if page = illPage; !sick {
			out, page = b.answer(out[:0], host, target)
		}
		// Noted before the answer, so that nobody who has the answer can find it missing; its end just before the
		// bytes go, so that no gap is measured shorter than it was kept.
		at := h.note(request{page: page, start: start})
		if !b.wait() {
			return
		}
		if sick { // under way until all of it is sent, or the crawler has had enough
			err := b.ill(c)
			h.ended(at, time.Since(b.zero))
			if err != nil || !keep {
				return
			}
			continue
		}
		h.ended(at, time.Since(b.zero))
		if _, err := c.Write(out); err != nil || !keep {
			return
		}
	}
}

// wait is the latency of an answer. It is false when the web closes.
func (b *ServedWeb) wait() bool {
	if b.cfg.Latency <= 0 {
		return true
	}
	t := time.NewTimer(b.cfg.Latency)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-b.ctx.Done():
		return false
	}
}

func (h *hostLog) note(r request) (at int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, r)
	return len(h.log) - 1
}

func (h *hostLog) ended(at int, end time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at < len(h.log) { // else the log was reset
		h.log[at].end = end
	}
}

// requests are those of a host in the order of their starts.
func (h *hostLog) requests() []request {
	h.mu.Lock()
	all := slices.Clone(h.log)
	h.mu.Unlock()
	slices.SortStableFunc(all, func(a, b request) int { return int(a.start - b.start) })
	return all
}
