package crawltest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// host is an authority of the web.
type host struct {
	web  *Web
	name string // the authority
	addr string // "198.18.0.1:80"
	port string // on 127.0.0.1; empty over pipes

	mu    sync.Mutex
	site  *served
	asked map[string]int // GET requests so far, of the pages that fail at first, by key
	named int            // look-ups so far, where Addrs answer them
}

// served is a site as it is served. It does not change: Web.Change puts another one in its place.
type served struct {
	Site
	host  string
	pages map[string]*leaf // by key
}

// RobotsPath is where a site has its rules for robots.
const RobotsPath = "/robots.txt"

// set makes s what the host serves.
func (h *host) set(s Site) {
	v := &served{Site: s, host: h.name, pages: make(map[string]*leaf, len(s.Pages)+1)}
	for target, p := range s.Pages {
		k := Key(target)
		v.pages[k] = leafOf(place{h.name, k}, p)
	}
	if s.Robots.given() || v.pages[RobotsPath] == nil && s.Handler == nil {
		v.pages[RobotsPath] = leafOf(place{h.name, RobotsPath}, s.Robots.page())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.site = v
}

// now returns the site as it is served now.
func (h *host) now() *served {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.site
}

// address answers a look-up of the host's name that the web would answer with own.
func (h *host) address(own netip.Addr) netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	addrs := h.site.Addrs
	if len(addrs) == 0 {
		return own
	}
	addr := addrs[min(h.named, len(addrs)-1)]
	if h.named++; !addr.IsValid() {
		return own
	}
	return addr
}

// lookups returns how many look-ups address has answered.
func (h *host) lookups() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.named
}

// page returns what is at a key; nil when only the handler may know.
func (s *served) page(k string) *leaf {
	if l := s.pages[k]; l != nil {
		return l
	}
	at := place{s.host, k}
	if t := s.trapped(k); t != nil {
		return leafOf(at, t.Page(k))
	}
	if s.Handler != nil {
		return nil
	}
	return leafOf(at,
		Page{Type: "text/html", Status: http.StatusNotFound, Title: "Not found", Text: "There is no such page."})
}

// trapped returns the trap that a key is in; nil for none, and for a page that there is.
func (s *served) trapped(k string) *Trap {
	if s.pages[k] != nil {
		return nil
	}
	for i, t := range s.Traps {
		if strings.HasPrefix(k, t.Prefix) {
			return &s.Traps[i]
		}
	}
	return nil
}

// fails counts a GET request for l and reports whether it is to fail.
func (h *host) fails(k string, l *leaf, method string) bool {
	if l.FailFirst == 0 || method != http.MethodGet {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[k]++
	return h.asked[k] <= l.FailFirst
}

// ServeHTTP answers one request, under the referee's eyes.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.web.conns.Add(1) // net/http lets go of a Raw's connection: the web still waits until the answer is in the log
	defer h.web.conns.Done()
	k := Key(targetOf(r))
	x := h.web.referee.begin(h, k, r)
	note := &noting{ResponseWriter: w, x: x, referee: h.web.referee}
	whole := false
	defer func() { h.web.referee.end(x, whole) }()

	site := h.now()
	l := site.page(k)
	switch {
	case h.web.named(r.Host) != h && !h.bare(r.Host):
		http.Error(note, "this server does not answer for "+strconv.Quote(r.Host), http.StatusMisdirectedRequest)
	case l == nil:
		pause(r.Context(), site.Latency)
		site.Handler.ServeHTTP(note, r)
		note.finish()
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		note.Header().Set("Allow", "GET, HEAD")
		http.Error(note, "only GET and HEAD", http.StatusMethodNotAllowed)
	default:
		failed := h.fails(k, l, r.Method)
		h.web.referee.mu.Lock()
		x.failed = failed
		h.web.referee.mu.Unlock()
		pause(r.Context(), site.Latency+l.Delay)
		if l.Raw != nil && !failed && r.Method == http.MethodGet {
			whole = h.raw(w, r, x, l)
			return
		}
		h.send(note, r, l, failed)
	}
	whole = true
}

// bare reports whether a Host field names loopback without a port, as some clients wrongly write it (RFC 9110 7.2): on
// the site's own port there is no doubt who is meant.
func (h *host) bare(name string) bool {
	return h.port != "" && (name == "127.0.0.1" || name == "localhost")
}

// targetOf returns the bytes of path and query on the request line.
func targetOf(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI() // absolute form, as to a proxy
}

// pause lets d pass. If the connection or the web ends meanwhile, the answer is broken off.
func pause(ctx context.Context, d time.Duration) {
	if d > 0 && !Wait(ctx, d) {
		panic(http.ErrAbortHandler)
	}
}

// send answers with a page.
func (h *host) send(w http.ResponseWriter, r *http.Request, l *leaf, failed bool) {
	status, body := l.Status, l.body
	head := w.Header()
	if l.RetryAfter != "" && (failed || l.FailFirst == 0) {
		head.Set("Retry-After", l.RetryAfter)
	}
	if failed {
		if status = l.FailStatus; status == 0 {
			status = http.StatusServiceUnavailable
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	location := l.Redirect
	if local := h.web.local; local != nil && authorityOf(r.Host) != h.name {
		location = strings.TrimSuffix(local.Replace(location+`"`), `"`) // the quote ends a name without a path
		if strings.HasPrefix(l.Type, "text/") {
			body = []byte(local.Replace(string(body)))
		}
	}
	head.Set("Content-Type", l.Type)
	if location != "" {
		head.Set("Location", location)
	}
	digest := sha256.Sum256(body)
	if status == http.StatusOK {
		head.Set("ETag", fmt.Sprintf(`"%x"`, digest[:8]))
	}
	if l.Gzip {
		head.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			head.Set("Content-Encoding", "gzip")
			body = zip(body)
		}
	}
	if l.Brotli {
		head.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "br") {
			head.Set("Content-Encoding", "br")
			body = stored(body)
		}
	}
	for name, value := range l.Header {
		head.Set(name, value)
	}
	if known := r.Header.Get("If-None-Match"); known != "" && status == http.StatusOK && known == head.Get("ETag") {
		for _, name := range []string{"Content-Type", "Content-Encoding"} {
			head.Del(name)
		}
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		head.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet && len(body) > 0 {
		w.Write(body) // an error means that nobody is listening any more
	}
}

// zip codes a body with gzip.
func zip(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// stored codes with Brotli up to 65,536 bytes without making them fewer (RFC 7932 9.2: an uncompressed meta-block, then
// an empty last one).
func stored(body []byte) []byte {
	head := uint32(len(body)-1)<<4 | 1<<20 // WBITS 16, not last, MNIBBLES 4, MLEN-1, ISUNCOMPRESSED
	out := append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, body...)
	return append(out, 3)
}

// Raw answers a request with bytes of its own making, over the connection itself: this is how a site answers what no
// server of HTTP should. It reports whether it kept what it promised: that the
// client left before the end is not its fault.
//
// The head of the request has been read. Further bytes of the client are dropped, and when it leaves, the context is
// over and writing fails: a Raw then returns. So it does when the web is closed. The connection is closed after it.
type Raw func(ctx context.Context, conn net.Conn, r *http.Request) (sound bool)

// rawConn is the connection that a Raw writes to. It reads the head of the answer off what is written, for the log.
type rawConn struct {
	net.Conn
	x       *Exchange
	referee *Referee
	head    []byte // of the answer, until it is complete
	headed  bool
}

// maxHead is how much of a raw answer is searched for its head.
const maxHead = 16 << 10

func (c *rawConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	body := p[:n]
	if !c.headed {
		had := len(c.head)
		c.head = append(c.head, body[:min(n, maxHead-had)]...)
		end := bytes.Index(c.head, []byte("\r\n\r\n")) + 4
		switch {
		case end >= 4:
			c.headed, body = true, body[min(max(end-had, 0), n):]
			c.note(c.head[:end])
		case len(c.head) == maxHead:
			c.headed, body = true, nil
			line, _, _ := bytes.Cut(c.head, []byte("\r\n"))
			c.note(append(line, "\r\n\r\n"...)) // the rest is too long to be kept
		default:
			body = nil
		}
	}
	c.referee.took(c.x, n, body)
	return n, err
}

// note enters the head of the answer, if it is one.
func (c *rawConn) note(head []byte) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil) //nolint:bodyclose // there is no body
	if err == nil {
		c.referee.answered(c.x, resp.StatusCode, resp.Header)
	}
}

// reset ends the connection with a reset, where it is one of TCP.
func reset(conn net.Conn) {
	for {
		switch c := conn.(type) {
		case *rawConn:
			conn = c.Conn
			continue
		case *wire:
			conn = c.Conn
			continue
		case *net.TCPConn:
			_ = c.SetLinger(0) // an error means that the connection is gone
		}
		_ = conn.Close() // nothing is left to be said
		return
	}
}

// raw takes the connection from net/http and lets the page answer. It returns what Raw returns.
func (h *host) raw(w http.ResponseWriter, r *http.Request, x *Exchange, l *leaf) (sound bool) {
	under := r.Context()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	shrink(conn)
	h.web.referee.wrote(conn.(*wire), time.Now()) // for an answer of nothing: its end is not after the client's
	ctx, gone := context.WithCancel(under)
	left := make(chan struct{})
	go func() { // ends when the connection does
		defer close(left)
		defer gone()
		_, _ = io.Copy(io.Discard, conn) // its end is the news, whatever it is
	}()
	stop := context.AfterFunc(under, func() { _ = conn.Close() })
	defer func() {
		stop()
		gone()
		_ = conn.Close()
		<-left
	}()
	return l.Raw(ctx, &rawConn{Conn: conn, x: x, referee: h.web.referee}, r)
}

// shrink makes the system hold little of what a client has not read: what is written is then nearly what was taken.
func shrink(conn net.Conn) {
	if c, ok := conn.(*wire); ok {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(16 << 10) // a wish: a larger buffer makes the log less exact, not wrong
		}
	}
}

// Wait lets d pass and reports whether the client is still there. A negative d has no end.
func Wait(ctx context.Context, d time.Duration) bool {
	if d < 0 {
		<-ctx.Done()
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Say returns a Raw that writes bytes, which are a sound answer or not.
func Say(octets string, sound bool) Raw {
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		_, _ = io.WriteString(conn, octets) // a client that disconnected needs no more
		return sound
	}
}

// Head is the head of an answer with HTML; fields are lines without their ends.
func Head(fields ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n" +
		strings.Join(append(fields, "", ""), "\r\n")
}

// Cut returns a Raw that writes bytes and resets the connection.
func Cut(octets string) Raw {
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		_, _ = io.WriteString(conn, octets) // whoever left before has what he needs
		reset(conn)
		return false
	}
}

// Drip returns a Raw that begins an answer and goes on with a piece of it now and then, for so long; for ever if that
// is negative.
func Drip(long time.Duration, head, piece string, every time.Duration) Raw {
	return func(ctx context.Context, conn net.Conn, _ *http.Request) bool {
		piece, err := []byte(piece), error(nil)
		begun := time.Now()
		for _, err = conn.Write([]byte(head)); err == nil && (long < 0 || time.Since(begun) < long); _,
			err = conn.Write(piece) {
			if !Wait(ctx, every) {
				return false // nobody knows whether it would have come to its end
			}
		}
		return err == nil
	}
}

// A bomb is a body that is small when sent and huge once decoded: nothing but spaces.

// BrotliBomb is what the br coding makes of BrotliBombSize spaces.
//
//go:embed bomb.br
var BrotliBomb string

// BrotliBombSize is how many bytes BrotliBomb comes to.
const BrotliBombSize = 1 << 30

// BombBlock is what the sizes of the other bombs are multiples of.
const BombBlock = 1 << 20

// GzipBomb is a member (RFC 1952) that comes to size bytes: one block of DEFLATE, which refers to nothing outside it, again
// and again.
func GzipBomb(size int) ([]byte, error) {
	var block bytes.Buffer
	z, err := flate.NewWriter(&block, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	spaces := bytes.Repeat([]byte(" "), BombBlock)
	_, _ = z.Write(spaces) // a bytes.Buffer takes everything
	_ = z.Flush()
	one := bytes.Clone(block.Bytes())
	block.Reset()
	_ = z.Close()
	// RFC 1952 2.3: magic, deflate, no flags, no time, slowest, unknown system.
	out, sum := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"), uint32(0)
	for range size / BombBlock {
		out = append(out, one...)
		sum = crc32.Update(sum, crc32.IEEETable, spaces)
	}
	out = append(out, block.Bytes()...)
	out = binary.LittleEndian.AppendUint32(out, sum)
	return binary.LittleEndian.AppendUint32(out, uint32(size)), nil
}

// Windows of a zstd frame (RFC 8878 3.1.1.1.2): exponent in five bits, mantissa in three.
const (
	UsualWindow = 13 << 3 // 8 MiB, the most that a client on the web need have (RFC 9659)
	HugeWindow  = 31<<3 | 7
)

// ZstdBomb returns a frame that decodes to size bytes. Each of its blocks is a run of one byte (RFC 8878 3.1.1).
func ZstdBomb(size int, window byte) string {
	const run = 128 << 10 // the most of a block
	const kind = 1        // a run
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window}
	blocks := size / run
	for i := range blocks {
		head := uint32(run<<3 | kind<<1)
		if i == blocks-1 {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), ' ')
	}
	return string(b)
}
