package coding

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// begin is how the source of a decoder begins.
type begin uint8

const (
	unread begin = iota
	asCoded
	asPlain // it is not in the coding that it was said to be in
)

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
type unbrotli struct {
	src   bufio.Reader
	z     brotli.Reader
	begin begin
}

func (b *unbrotli) reset(r io.Reader) {
	b.begin = unread
	if r == nil {
		b.src.Reset(nothing{})
		return
	}
	b.src.Reset(r)
	_ = b.z.Reset(&b.src) // it never fails
}

func (b *unbrotli) Read(p []byte) (int, error) {
	if b.begin == unread {
		if _, err := b.src.Peek(1); err != nil {
			return 0, err
		}
		if b.begin = asCoded; isPage(&b.src) {
			b.begin = asPlain
		}
	}
	if b.begin == asPlain {
		return b.src.Read(p)
	}
	return b.z.Read(p)
}

// maxZstdWindow is what a decoder must support and a sender may use at most (RFC 9659 3).
const maxZstdWindow = 8 << 20

// unzstd decodes zstd frames (RFC 8878).
type unzstd struct {
	src   bufio.Reader
	z     *zstd.Decoder
	begin begin
}

func (u *unzstd) reset(r io.Reader) {
	u.begin = unread
	if r == nil {
		u.src.Reset(nothing{})
		if u.z != nil {
			_ = u.z.Reset(nil) // lets go of the source
		}
		return
	}
	u.src.Reset(r)
}

func (u *unzstd) Read(p []byte) (int, error) {
	if u.begin == unread {
		if _, err := u.src.Peek(1); err != nil {
			return 0, err
		}
		u.begin = asPlain
		if head, _ := u.src.Peek(4); zstdBegins(head) {
			if err := u.start(); err != nil {
				return 0, err
			}
			u.begin = asCoded
		}
	}
	if u.begin == asPlain {
		return u.src.Read(p)
	}
	return u.z.Read(p)
}

// zstdBegins reports whether octets begin a frame (RFC 8878 3.1.1, 3.1.2), as far as they go.
func zstdBegins(head []byte) bool {
	const frame = "\x28\xb5\x2f\xfd"
	return bytes.HasPrefix([]byte(frame), head) || len(head) == 4 && head[0]&0xF0 == 0x50 &&
		string(head[1:]) == "\x2a\x4d\x18"
}

// start sets the decoder on the source. One goroutine decodes, the caller's: with more of them a decoder would have
// goroutines of its own, which nobody waits for.
func (u *unzstd) start() (err error) {
	if u.z != nil {
		return u.z.Reset(&u.src)
	}
	u.z, err = zstd.NewReader(&u.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow))
	return err
}

// readBuffer is how much of a compressed source is read at once.
const readBuffer = 4 << 10

// gunzip decodes one or more gzip members (RFC 1952 2.2).
type gunzip struct {
	src     *bufio.Reader
	z       gzip.Reader
	members int
	within  bool // a member
	begin   begin
}

func newGunzip() *gunzip { return &gunzip{src: bufio.NewReaderSize(nil, readBuffer)} }

func (g *gunzip) reset(r io.Reader) {
	if r == nil {
		r = nothing{}
	}
	g.src.Reset(r)
	g.members, g.within, g.begin = 0, false, unread
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.begin == unread {
		if _, err := g.src.Peek(1); err != nil {
			return 0, err
		}
		head, _ := g.src.Peek(len(gzipSign))
		if g.begin = asCoded; !bytes.HasPrefix([]byte(gzipSign), head) {
			g.begin = asPlain
		}
	}
	if g.begin == asPlain {
		return g.src.Read(p)
	}
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

// gzipSign begins each member (RFC 1952 2.3.1).
const gzipSign = "\x1f\x8b"

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
type inflate struct {
	src   bufio.Reader
	z     io.ReadCloser // of the two below
	zlib  io.ReadCloser
	raw   io.ReadCloser
	begin begin
}

func (i *inflate) reset(r io.Reader) {
	i.begin, i.z = unread, nil
	if r == nil {
		r = nothing{}
	}
	i.src.Reset(r)
}

func (i *inflate) Read(p []byte) (int, error) {
	if i.begin == unread {
		if err := i.start(); err != nil {
			return 0, err
		}
	}
	if i.begin == asPlain {
		return i.src.Read(p)
	}
	return i.z.Read(p)
}

func (i *inflate) start() (err error) {
	if _, err = i.src.Peek(1); err != nil {
		return err
	}
	head, _ := i.src.Peek(2)
	switch {
	case string(head) == gzipSign, isPage(&i.src): // "gzip, deflate", say, for what is gzip alone; neither begins a stream
		i.begin = asPlain
		return nil
	case len(head) == 2 && head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
		if i.zlib == nil {
			i.zlib, err = zlib.NewReader(&i.src)
		} else {
			err = i.zlib.(zlib.Resetter).Reset(&i.src, nil)
		}
		i.z = i.zlib
	case i.raw == nil:
		i.raw = flate.NewReader(&i.src)
		i.z = i.raw
	default:
		err = i.raw.(flate.Resetter).Reset(&i.src, nil)
		i.z = i.raw
	}
	i.begin = asCoded
	return err
}
