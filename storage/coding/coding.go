// Package coding decodes content codings (RFC 9110 8.4). Crawler, mirror, audit, WACZ and commands read bodies through
// it, so that what one of them can read, all can, and to the same octets.
//
// # What counts as a coding
//
//   - gzip (x-gzip), deflate, br and zstd are undone, up to four in a row, whether they were offered or not.
//   - Other names of compressors that there are (Of has the list) stay: who reads such a body is told.
//   - Anything else is no coding: "utf-8", "none", "binary", "8bit", "text/html", "aws-chunked". The body is as it was
//     sent, as browsers have it.
//   - So is a body that does not begin as its coding does: gzip and zstd have a sign of their own, and what begins as a
//     page is neither br nor deflate. Many servers and archives name a coding that they did not apply, or undid.
//
// # What a body may be
//
// No octets are an empty body, whatever the coding. gzip may have several members, and octets behind them that begin
// none, as gzip(1) takes it. deflate is the zlib format, or the bare stream that some servers send (RFC 9110 8.4.1.2).
//
// # Bounds
//
// A window of 16 MiB for br, whose large windows are refused, of 8 MiB for zstd (RFC 9659), of 32 KiB for the others;
// 128 MiB between two codings, so that no small body costs hours. How much comes out is the caller's to bound: readers
// give what they have as it comes. Window says how much a body's decoders may keep: who has many bodies at once sums it
// up.
package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// ErrTooLarge says that between two codings there is more than any body has.
var ErrTooLarge = errors.New("coding: too much between two content codings")

// maxBetween is what there may be between two codings.
const maxBetween = 128 << 20

// Pool keeps decoders that are not in use. The zero Pool is ready; it may be used by many at once.
type Pool struct{ gzip, deflate, br, zstd sync.Pool }

// Reader reads a body without its codings.
type Reader struct {
	io.Reader
	pool  *Pool
	undo  []string
	chain []*decoder
}

// NewReader returns a reader of src without codings, as Of returns them. Close it to give its decoders back to the
// pool; without a pool there is no need.
func NewReader(src io.Reader, undo []string, p *Pool) *Reader {
	return newReader(src, undo, p, maxBetween)
}

func newReader(src io.Reader, undo []string, p *Pool, between int64) *Reader {
	r := &Reader{Reader: src, pool: p, undo: undo}
	for i := len(undo) - 1; i >= 0; i-- {
		if i < len(undo)-1 {
			r.Reader = &limited{r: r.Reader, left: between}
		}
		d := p.get(undo[i])
		d.reset(r.Reader)
		r.chain = append(r.chain, d)
		r.Reader = d
	}
	return r
}

// Close gives the decoders back. Nothing must be read after it.
func (r *Reader) Close() {
	for i, d := range r.chain {
		d.reset(nil)
		r.pool.put(r.undo[len(r.undo)-1-i], d)
	}
	r.chain, r.Reader = nil, nothing{}
}

func (p *Pool) of(coding string) *sync.Pool {
	switch coding {
	case "gzip":
		return &p.gzip
	case "deflate":
		return &p.deflate
	case "br":
		return &p.br
	}
	return &p.zstd
}

func (p *Pool) get(coding string) *decoder {
	if p != nil {
		if d, ok := p.of(coding).Get().(*decoder); ok {
			return d
		}
	}
	return newDecoder(coding)
}

func (p *Pool) put(coding string, d *decoder) {
	if p != nil {
		p.of(coding).Put(d)
	}
}

// limited reads up to a number of octets; more are an error.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// nothing is a source without an octet, so that a decoder in a pool keeps no body alive.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// maxCodings is the most content codings that are undone.
const maxCodings = 4

// others are the compressors that are not undone: those of the IANA registry, and others that have been seen.
var others = map[string]bool{
	"compress": true, "x-compress": true, "exi": true, "pack200-gzip": true, "aes128gcm": true, "dcb": true, "dcz": true,
	"sdch": true, "bzip2": true, "x-bzip2": true, "xz": true, "lzma": true,
}

// Of reads the Content-Encoding of an answer: the codings to undo, the first applied first. stays is its value if one
// of them cannot be undone, or there are too many: then the body stays as it is.
func Of(h http.Header) (undo []string, stays string) {
	values := h["Content-Encoding"]
	for _, v := range values {
		for c := range strings.SplitSeq(v, ",") {
			c, _, _ = strings.Cut(c, ";")
			switch c = strings.ToLower(strings.Trim(c, " \t")); {
			case c == "gzip", c == "deflate", c == "br", c == "zstd":
				undo = append(undo, c)
			case c == "x-gzip": // RFC 9110 8.4.1.3: equivalent to gzip
				undo = append(undo, "gzip")
			case others[c]:
				return nil, strings.Join(values, ", ")
			}
		}
	}
	if len(undo) > maxCodings {
		return nil, strings.Join(values, ", ")
	}
	return undo, ""
}

// Window is how many octets of what was decoded the decoders of undo may keep, for a body that begins with first. For
// br that is what its first octet declares (RFC 7932 9.1), unless another coding lies over it and hides that.
func Window(undo []string, first byte) (octets int64) {
	for _, coding := range undo {
		switch {
		case coding == "zstd":
			octets += maxZstdWindow
		case coding == "br" && len(undo) == 1:
			octets += 1 << brotliBits(first)
		case coding == "br":
			octets += 1 << 24
		default:
			octets += 32 << 10
		}
	}
	return octets
}

// brotliBits reads the size of the window off the first octet of a brotli stream, as a power of two.
func brotliBits(first byte) int {
	high, low := int(first>>1&7), int(first>>4&7)
	switch {
	case first&1 == 0:
		return 16
	case high > 0:
		return 17 + high
	case low > 1:
		return 8 + low
	}
	return 17 // or, with 1, no brotli
}

// Limited reads a body up to a limit and remembers how that ended: a parser hands on errors of its reader and its own
// failures alike.
type Limited struct {
	Ctx  context.Context //nolint:containedctx // of the call that reads the body; its end ends the reading
	R    io.Reader
	Left int64 // bytes still allowed
	Over bool  // there were more
	Err  error // why reading failed; nil at the end of the body
}

// Read is that of io.Reader. Behind the limit it returns io.EOF.
func (l *Limited) Read(p []byte) (n int, err error) {
	if err := l.Ctx.Err(); err != nil {
		l.Err = err
		return 0, err
	}
	if l.Left == 0 {
		var probe [1]byte
		n, err = io.ReadFull(l.R, probe[:])
		l.Over = l.Over || n > 0
		n = 0
	} else {
		n, err = l.R.Read(p[:min(int64(len(p)), l.Left)])
		l.Left -= int64(n)
	}
	switch {
	case err != nil && err != io.EOF:
		l.Err = err
	case l.Over:
		err = io.EOF
	}
	return n, err
}

// decoder undoes one coding of a body. It holds no more than the window that its coding allows, whatever comes out of it,
// and is used again for other bodies.
type decoder struct {
	src    bufio.Reader
	coding stream
	out    io.Reader // src without the coding, or src itself if it does not begin as the coding does; nil before the first octet
}

// stream is what a coding has of its own. It is used again for other sources.
type stream interface {
	// start returns what src holds in the coding, or nil if src does not begin as the coding does. There is one octet at
	// least.
	start(src *bufio.Reader) (io.Reader, error)
}

func newDecoder(coding string) *decoder {
	switch coding {
	case "gzip":
		return &decoder{coding: &gunzip{}}
	case "deflate":
		return &decoder{coding: &inflate{}}
	case "br":
		return &decoder{coding: &unbrotli{}}
	}
	return &decoder{coding: &unzstd{}}
}

// reset has d decode r; nil lets go of the source.
func (d *decoder) reset(r io.Reader) {
	if r == nil {
		r = nothing{}
	}
	d.src.Reset(r)
	d.out = nil
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.out == nil {
		if _, err := d.src.Peek(1); err != nil {
			return 0, err
		}
		out, err := d.coding.start(&d.src)
		if err != nil {
			return 0, err
		}
		if d.out = out; out == nil {
			d.out = &d.src
		}
	}
	return d.out.Read(p)
}

// isPage reports whether octets begin as a page or a document in XML does, in no coding.
func isPage(src *bufio.Reader) bool {
	head, _ := src.Peek(512)
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '<' {
		return false
	}
	t := http.DetectContentType(head)
	return strings.HasPrefix(t, "text/html") || strings.HasPrefix(t, "text/xml")
}

// unbrotli decodes a brotli stream (RFC 7932). Its window is 16 MiB at most: "large window brotli" is no content
// coding, and the library refuses it.
type unbrotli struct{ z brotli.Reader }

func (b *unbrotli) start(src *bufio.Reader) (io.Reader, error) {
	if isPage(src) {
		return nil, nil
	}
	return &b.z, b.z.Reset(src)
}

// maxZstdWindow is what a decoder must support and a sender may use at most (RFC 9659 3).
const maxZstdWindow = 8 << 20

// unzstd decodes zstd frames (RFC 8878). One goroutine decodes, the caller's: with more of them a decoder would have
// goroutines of its own, which nobody waits for.
type unzstd struct{ z *zstd.Decoder }

func (u *unzstd) start(src *bufio.Reader) (_ io.Reader, err error) {
	if head, _ := src.Peek(4); !zstdBegins(head) {
		return nil, nil
	}
	if u.z != nil {
		return u.z, u.z.Reset(src)
	}
	u.z, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow))
	return u.z, err
}

// zstdBegins reports whether octets begin a frame (RFC 8878 3.1.1, 3.1.2), as far as they go.
func zstdBegins(head []byte) bool {
	const frame = "\x28\xb5\x2f\xfd"
	return bytes.HasPrefix([]byte(frame), head) || len(head) == 4 && head[0]&0xF0 == 0x50 &&
		string(head[1:]) == "\x2a\x4d\x18"
}

// gunzip decodes one or more gzip members (RFC 1952 2.2).
type gunzip struct {
	src     *bufio.Reader
	z       gzip.Reader
	members int
	within  bool // a member
}

// gzipSign begins each member (RFC 1952 2.3.1).
const gzipSign = "\x1f\x8b"

func (g *gunzip) start(src *bufio.Reader) (io.Reader, error) {
	head, _ := src.Peek(len(gzipSign))
	if !bytes.HasPrefix([]byte(gzipSign), head) {
		return nil, nil
	}
	g.src, g.members, g.within = src, 0, false
	return g, nil
}

func (g *gunzip) Read(p []byte) (int, error) {
	for {
		if !g.within {
			if err := g.next(); err != nil {
				return 0, err
			}
		}
		n, err := g.z.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		g.within = false
		if n > 0 {
			return n, nil
		}
	}
}

// next begins a member. Behind a whole one, what begins no other is the end; the caller reads it off.
func (g *gunzip) next() error {
	if _, err := g.src.Peek(1); err != nil {
		return err
	}
	err := g.z.Reset(g.src)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // within the head of a member: an end, but not of an empty body
	}
	switch {
	case g.members > 0 && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF)):
		return io.EOF
	case err != nil:
		return err
	}
	g.z.Multistream(false)
	g.within = true
	g.members++
	return nil
}

// inflate decodes the zlib format, and the bare deflate stream (RFC 1950, RFC 1951).
type inflate struct{ zlib, raw io.ReadCloser }

func (i *inflate) start(src *bufio.Reader) (_ io.Reader, err error) {
	head, _ := src.Peek(2)
	switch {
	case string(head) == gzipSign, isPage(src): // "gzip, deflate", say, for what is gzip alone; neither begins a stream
		return nil, nil
	case len(head) == 2 && head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
		if i.zlib == nil {
			i.zlib, err = zlib.NewReader(src)
		} else {
			err = i.zlib.(zlib.Resetter).Reset(src, nil)
		}
		return i.zlib, err
	case i.raw == nil:
		i.raw = flate.NewReader(src)
		return i.raw, nil
	}
	return i.raw, i.raw.(flate.Resetter).Reset(src, nil)
}
