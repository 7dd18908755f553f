package crawltest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	_ "embed"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

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
