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

type host struct {
	web  *Web
	name string // the authority
	addr string // "198.18.0.1:80"
	port string // on 127.0.0.1; empty over pipes

	mu    sync.Mutex
	site  *served
	asked map[string]int // GET requests so far by key, for pages with FailFirst
	named int            // lookups so far, for sites with Addrs
}

// served is an immutable Site; Web.Change replaces it.
type served struct {
	Site
	host  string
	pages map[string]*leaf // by key
}

const RobotsPath = "/robots.txt"

func (h *host) set(s Site) {
	v := &served{Site: s, host: h.name, pages: make(map[string]*leaf, len(s.Pages)+1)}
	for target, p := range s.Pages {
		k := Key(target)
		v.pages[k] = leafOf(place{h.name, k}, p)
	}
	r := s.Robots
	given := r.Body != "" || r.Status != 0 || r.Redirect != "" || r.FailFirst > 0 || r.Raw != nil
	if given || v.pages[RobotsPath] == nil && s.Handler == nil {
		v.pages[RobotsPath] = leafOf(place{h.name, RobotsPath}, r.page())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.site = v
}

func (h *host) now() *served {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.site
}

// address returns the next of the site's Addrs; own without any.
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

func (h *host) lookups() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.named
}

// page returns the page at a key; nil if the handler answers it.
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

// trapped returns the trap that a key is in; nil without one, and for one of the site's Pages.
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

func (h *host) fails(k string, l *leaf, method string) bool {
	if l.FailFirst == 0 || method != http.MethodGet {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[k]++
	return h.asked[k] <= l.FailFirst
}

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
	// Some clients wrongly leave the port out of Host (RFC 9110 7.2); on the site's own port it is still unambiguous.
	bare := h.port != "" && (r.Host == "127.0.0.1" || r.Host == "localhost")
	switch {
	case h.web.named(r.Host) != h && !bare:
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

// targetOf returns the bytes of path and query on the request line.
func targetOf(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI() // absolute form, as to a proxy
}

// pause waits for d and aborts the response if the connection or the web ends meanwhile.
func pause(ctx context.Context, d time.Duration) {
	if d > 0 && !Wait(ctx, d) {
		panic(http.ErrAbortHandler)
	}
}

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
	if l.Gzip || l.Brotli {
		coding, coded := "gzip", zip
		if l.Brotli {
			coding, coded = "br", stored
		}
		head.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), coding) {
			head.Set("Content-Encoding", coding)
			body = coded(body)
		}
	}
	for name, value := range l.Header {
		head.Set(name, value)
	}
	if known := r.Header.Get("If-None-Match"); known != "" && status == http.StatusOK && known == head.Get("ETag") {
		head.Del("Content-Type")
		head.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		head.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet && len(body) > 0 {
		w.Write(body) // an error means that the client disconnected
	}
}

func zip(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// stored encodes up to 65,536 bytes as an uncompressed Brotli meta-block and an empty last one (RFC 7932 9.2).
func stored(body []byte) []byte {
	head := uint32(len(body)-1)<<4 | 1<<20 // WBITS 16, not last, MNIBBLES 4, MLEN-1, ISUNCOMPRESSED
	out := append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, body...)
	return append(out, 3)
}

// Raw writes arbitrary bytes to the connection and reports whether they are a complete response, even if the client
// leaves early. The request's head has been read; the client's further bytes are dropped. When the client leaves or the
// web is closed, ctx ends and writing fails. The connection is closed afterwards.
type Raw func(ctx context.Context, conn net.Conn, r *http.Request) (sound bool)

// rawConn parses the response head that a Raw writes, for the log.
type rawConn struct {
	net.Conn
	x       *Exchange
	referee *Referee
	head    []byte // of the answer, until it is complete
	headed  bool
}

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

func (c *rawConn) note(head []byte) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil) //nolint:bodyclose // the head only
	if err == nil {
		c.referee.answered(c.x, resp.StatusCode, resp.Header)
	}
}

// reset closes conn, with a reset if it is TCP.
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
		_ = conn.Close() // no bytes follow
		return
	}
}

func (h *host) raw(w http.ResponseWriter, r *http.Request, x *Exchange, l *leaf) (sound bool) {
	under := r.Context()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	if tcp, ok := conn.(*wire).Conn.(*net.TCPConn); ok { // without it the log counts unread bytes as taken
		_ = tcp.SetWriteBuffer(16 << 10) // a larger buffer makes the log less exact, not wrong
	}
	h.web.referee.wrote(conn.(*wire), time.Now()) // for an empty response: its end is not after the client's
	ctx, gone := context.WithCancel(under)
	left := make(chan struct{})
	go func() { // ends when the connection does
		defer close(left)
		defer gone()
		_, _ = io.Copy(io.Discard, conn) // any error ends it
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

// Wait waits for d, for ever if it is negative, and reports whether the client is still there.
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

// Say returns a Raw that writes octets and returns sound.
func Say(octets string, sound bool) Raw {
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		_, _ = io.WriteString(conn, octets) // the client may have disconnected
		return sound
	}
}

// Head returns the head of an HTML response with further field lines.
func Head(fields ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n" +
		strings.Join(append(fields, "", ""), "\r\n")
}

func Cut(octets string) Raw {
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		_, _ = io.WriteString(conn, octets) // the client may have disconnected
		reset(conn)
		return false
	}
}

// Drip returns a Raw that writes head and then a piece at every interval, for so long; for ever if that is negative.
func Drip(long time.Duration, head, piece string, every time.Duration) Raw {
	return func(ctx context.Context, conn net.Conn, _ *http.Request) bool {
		piece, err := []byte(piece), error(nil)
		begun := time.Now()
		for _, err = conn.Write([]byte(head)); err == nil && (long < 0 || time.Since(begun) < long); _,
			err = conn.Write(piece) {
			if !Wait(ctx, every) {
				return false
			}
		}
		return err == nil
	}
}

// BrotliBomb is the br coding of BrotliBombSize spaces.
//
//go:embed bomb.br
var BrotliBomb string

const BrotliBombSize = 1 << 30

// BombBlock divides the size of a GzipBomb.
const BombBlock = 1 << 20

// GzipBomb returns a gzip member (RFC 1952) of size spaces: one self-contained DEFLATE block, repeated.
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
	UsualWindow = 13 << 3 // 8 MiB, the most that a web client must support (RFC 9659)
	HugeWindow  = 31<<3 | 7
)

// ZstdBomb returns a frame that decodes to size bytes, in blocks that repeat one byte (RFC 8878 3.1.1).
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
