// Package coding decodes content codings (RFC 9110 8.4), in the same way for crawler, mirror, audit, WACZ and commands.
//
// It undoes up to four codings in a row of gzip (x-gzip), deflate, br and zstd, requested or not. Of reports other
// compressors. Any other value ("utf-8", "none", "aws-chunked") is not a coding, as in browsers. Nor is one that does
// not match the body's first bytes: many servers and archives name a coding that they did not apply, or undid.
//
// An empty body is valid in any coding. gzip may have several members and, as in gzip(1), garbage after them. deflate is
// the zlib format or the raw stream that some servers send (RFC 9110 8.4.1.2).
//
// A window takes up to 16 MiB for br, 8 MiB for zstd (RFC 9659) and 32 KiB for the others (see Window). At most 128 MiB
// pass between two codings, so that no small body costs hours. The caller bounds the output.
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

// ErrTooLarge is the error of more than 128 MiB between two codings.
var ErrTooLarge = errors.New("coding: too much between two content codings")

const maxBetween = 128 << 20

// Pool keeps unused decoders. The zero value is ready, and safe for concurrent use.
type Pool struct{ gzip, deflate, br, zstd sync.Pool }

// Reader reads a body without its codings.
type Reader struct {
	io.Reader
	pool  *Pool
	undo  []string
	chain []*decoder
}

// NewReader returns a reader of src without the codings that Of returned. Close returns its decoders to the pool; without
// a pool it is not needed.
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

// Close returns the decoders. Do not read afterwards.
func (r *Reader) Close() {
	for i, d := range r.chain {
		d.reset(nil)
		r.pool.put(r.undo[len(r.undo)-1-i], d)
	}
	r.chain, r.Reader = nil, http.NoBody
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

const maxCodings = 4

// others are compressors that are not undone: those of the IANA registry, and others seen on servers.
var others = map[string]bool{
	"compress": true, "x-compress": true, "exi": true, "pack200-gzip": true, "aes128gcm": true, "dcb": true, "dcz": true,
	"sdch": true, "bzip2": true, "x-bzip2": true, "xz": true, "lzma": true,
}

// Of parses the Content-Encoding: the codings to undo, the first applied first. If one of them cannot be undone, or there
// are too many, stays is the value and the body stays as it is.
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

// Window returns the bytes of history that the decoders of undo may keep for a body that begins with first. For br the
// first byte declares it (RFC 7932 9.1), unless another coding hides that.
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

// brotliBits returns the binary logarithm of the window that the first byte of a brotli stream declares.
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

// Limited reads a body up to a limit and keeps the reader's error, which a parser does not separate from its own.
type Limited struct {
	Ctx  context.Context //nolint:containedctx // of the call that reads the body
	R    io.Reader
	Left int64 // bytes still allowed
	Over bool  // there were more
	Err  error // of the reader; nil at the end of the body
}

// Read implements io.Reader. After the limit it returns io.EOF.
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

// decoder undoes one coding in no more memory than its window. It is reused for other bodies.
type decoder struct {
	src    bufio.Reader
	coding stream
	out    io.Reader // the decoded src, or src if it does not begin as the coding does; nil before the first byte
}

type stream interface {
	// start returns a decoder of src, which is not empty, or nil if src does not begin as the coding does.
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

// reset makes d decode r; nil releases the source.
func (d *decoder) reset(r io.Reader) {
	if r == nil {
		r = http.NoBody // so that a pooled decoder releases its body
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

// isPage reports whether src begins as an uncoded HTML or XML document.
func isPage(src *bufio.Reader) bool {
	head, _ := src.Peek(512)
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '<' {
		return false
	}
	t := http.DetectContentType(head)
	return strings.HasPrefix(t, "text/html") || strings.HasPrefix(t, "text/xml")
}

// unbrotli decodes a brotli stream (RFC 7932) with a window of at most 16 MiB: the library refuses "large window
// brotli", which is not a content coding.
type unbrotli struct{ z brotli.Reader }

func (b *unbrotli) start(src *bufio.Reader) (io.Reader, error) {
	if isPage(src) {
		return nil, nil
	}
	return &b.z, b.z.Reset(src)
}

// maxZstdWindow is the window that a decoder must support and a sender may use (RFC 9659 3).
const maxZstdWindow = 8 << 20

// unzstd decodes zstd frames (RFC 8878) in the caller's goroutine: others would outlive it.
type unzstd struct{ z *zstd.Decoder }

func (u *unzstd) start(src *bufio.Reader) (_ io.Reader, err error) {
	// RFC 8878 3.1.1, 3.1.2: a frame or a skippable one
	head, _ := src.Peek(4)
	skippable := len(head) == 4 && head[0]&0xF0 == 0x50 && string(head[1:]) == "\x2a\x4d\x18"
	if !skippable && !bytes.HasPrefix([]byte("\x28\xb5\x2f\xfd"), head) {
		return nil, nil
	}
	if u.z != nil {
		return u.z, u.z.Reset(src)
	}
	u.z, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow))
	return u.z, err
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

// next begins a member. After a whole one, anything else is the end.
func (g *gunzip) next() error {
	if _, err := g.src.Peek(1); err != nil {
		return err
	}
	err := g.z.Reset(g.src)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // within the head of a member
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
	case string(head) == gzipSign, isPage(src): // "gzip, deflate", for example, for gzip; neither begins a stream
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
