package trial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// server plays the far ends of the pipes that a crawl dials.
type server struct {
	w    *web
	true func() time.Time // the right time, whatever the crawl's clock is
	log  func(h *trialHost, line logged)

	wg      sync.WaitGroup
	mu      sync.Mutex
	asked   map[string]int
	killed  bool
	served  int
	answers map[string]int // requests, by host
}

var errRefused = errors.New("connection refused")

func (s *server) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	h := s.w.named(name)
	if h == nil || throw(s.w.seed, "dns", name).in(40) {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []netip.Addr{s.w.addr(h.n)}, nil
}

func (s *server) dial(_ context.Context, _, address string) (net.Conn, error) {
	if throw(s.w.seed, "dial", address).in(40) {
		return nil, &net.OpError{Op: "dial", Err: errRefused}
	}
	near, far := net.Pipe()
	s.wg.Go(func() {
		defer far.Close()
		in := bufio.NewReader(far)
		for s.exchange(far, in) {
		}
	})
	return near, nil
}

func (s *server) exchange(conn net.Conn, in *bufio.Reader) bool {
	method, target, fields, ok := readRequest(in)
	if !ok {
		return false
	}
	h := s.w.named(fields["host"])
	if h == nil {
		return false
	}
	now := s.true()
	s.mu.Lock()
	gone := s.killed
	s.served++
	key := h.name + target
	n := s.asked[key]
	s.asked[key]++
	s.answers[h.name]++
	s.mu.Unlock()
	a := h.content(target, now, n)
	switch {
	case s.w.fixed != nil:
		a = s.w.fixed(h, target, n)
	case target == "/robots.txt":
		a = h.robots(now, n)
	case target == "/sitemap.xml":
		a = h.sitemap(throw(s.w.seed, "sitemap", h.name))
	case strings.HasPrefix(target, "/rules/"):
		a = h.moved(target)
	}
	if a.tag != "" && fields["if-none-match"] == a.tag {
		a.status, a.body = 304, nil
	}
	time.Sleep(a.latency)
	octets, keep := a.octets()
	if status := a.loggedStatus(); status != 0 && !gone {
		s.log(h, h.line(now, s.true(), method, target, status, len(octets), fields["user-agent"]))
	}
	for len(octets) > 0 {
		n := len(octets)
		if a.drip {
			n = min(n, 1+len(octets)/3)
			time.Sleep(50 * time.Millisecond)
		}
		if _, err := io.WriteString(conn, octets[:n]); err != nil {
			return false
		}
		octets = octets[n:]
	}
	return keep
}

func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func readRequest(in *bufio.Reader) (method, target string, fields map[string]string, ok bool) {
	first, err := in.ReadString('\n')
	if err != nil {
		return "", "", nil, false
	}
	part := strings.Split(strings.TrimRight(first, "\r\n"), " ")
	if len(part) != 3 {
		return "", "", nil, false
	}
	fields = map[string]string{}
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); err != nil || line == "" {
			return part[0], part[1], fields, err == nil
		}
		name, value, _ := strings.Cut(line, ":")
		fields[strings.ToLower(name)] = strings.TrimSpace(value)
	}
}

func (a *answer) octets() (string, bool) {
	if a.hangUp {
		return "", false
	}
	if a.garbage != "" {
		return a.garbage, false
	}
	version := "HTTP/1.1"
	if a.old {
		version = "HTTP/1.0"
	}
	var b strings.Builder
	b.WriteString(version + " " + fmt.Sprintf("%03d", a.status) + " X\r\n" + a.head.String())
	if a.media != "" {
		b.WriteString("Content-Type: " + a.media + "\r\n")
	}
	if a.tag != "" {
		b.WriteString("ETag: " + a.tag + "\r\n")
	}
	body, cut := string(a.body), a.cut
	keep := !a.open && cut == 0
	empty := a.status == 204 || a.status == 304 || a.status < 200
	switch {
	case empty:
		body = ""
	case a.chunked && !a.old:
		b.WriteString("Transfer-Encoding: chunked\r\n")
		half := len(body) / 2
		chunk := func(s string) string {
			if s == "" {
				return ""
			}
			return strconv.FormatInt(int64(len(s)), 16) + ";x=1\r\n" + s + "\r\n"
		}
		body = chunk(body[:half]) + chunk(body[half:]) + "0\r\nX-Trailer: 1\r\n\r\n"
	case a.open:
	default:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	if !keep {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	head := b.String()
	if a.bare {
		head = strings.ReplaceAll(head, "\r\n", "\n")
	}
	return a.interim + head + body[:max(len(body)-cut, 0)], keep
}
