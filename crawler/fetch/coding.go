package fetch

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// acceptEncoding is what we offer: the codings that contentCoding knows.
const acceptEncoding = "gzip, br, zstd"

// contentCoding returns the coding to undo ("gzip", "br", "zstd" or ""), and the value of Content-Encoding when it is
// one that stays: a coding we did not offer, or several.
func contentCoding(h http.Header) (undo, stays string) {
	value := strings.Join(h.Values("Content-Encoding"), ", ")
	var codings []string
	for c := range strings.SplitSeq(value, ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); c {
		case "", "identity":
		case "x-gzip": // RFC 9110 8.4.1.3: equivalent to gzip
			codings = append(codings, "gzip")
		default:
			codings = append(codings, c)
		}
	}
	if len(codings) == 0 {
		return "", ""
	}
	if c := codings[0]; len(codings) == 1 && (c == "gzip" || c == "br" || c == "zstd") {
		return c, ""
	}
	return "", value
}

// decoder undoes a content coding. It holds no more than the window that its coding allows, whatever comes out of it,
// and is used again for other bodies.
type decoder interface {
	io.Reader
	reset(src io.Reader) // nil lets go of the source
}

// decoders keeps those that are not in use, by coding.
type decoders struct{ gzip, br, zstd sync.Pool }

func newDecoders() *decoders {
	return &decoders{
		gzip: sync.Pool{New: func() any { return newGunzip() }},
		br:   sync.Pool{New: func() any { return &unbrotli{} }},
		zstd: sync.Pool{New: func() any { return &unzstd{} }},
	}
}

// pool returns the pool of a coding that contentCoding says to undo.
func (d *decoders) pool(coding string) *sync.Pool {
	switch coding {
	case "br":
		return &d.br
	case "zstd":
		return &d.zstd
	}
	return &d.gzip
}

// get returns a decoder that reads src.
func (d *decoders) get(coding string, src io.Reader) decoder {
	z := d.pool(coding).Get().(decoder)
	z.reset(src)
	return z
}

// put takes a decoder back.
func (d *decoders) put(coding string, z decoder) {
	z.reset(nil)
	d.pool(coding).Put(z)
}

// unbrotli decodes a brotli stream (RFC 7932). Its window is 16 MiB at most: "large window brotli" is no content coding,
// and the library refuses it. No octets at all are an empty body, as with gzip.
type unbrotli struct {
	src bufio.Reader
	z   brotli.Reader
	on  bool // something has come
}

func (b *unbrotli) reset(r io.Reader) {
	b.on = false
	if r == nil {
		b.src.Reset(nothing{})
		return
	}
	b.src.Reset(r)
	_ = b.z.Reset(&b.src) // it never fails
}

func (b *unbrotli) Read(p []byte) (int, error) {
	if !b.on {
		if _, err := b.src.Peek(1); err != nil {
			return 0, err
		}
		b.on = true
	}
	return b.z.Read(p)
}

// maxZstdWindow is what a decoder must support and a sender may use at most (RFC 9659 3).
const maxZstdWindow = 8 << 20

// unzstd decodes zstd frames (RFC 8878). No octets at all are an empty body, as with gzip.
type unzstd struct {
	src bufio.Reader
	z   *zstd.Decoder
	on  bool
}

func (u *unzstd) reset(r io.Reader) {
	u.on = false
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
	if !u.on {
		if _, err := u.src.Peek(1); err != nil {
			return 0, err
		}
		if err := u.begin(); err != nil {
			return 0, err
		}
		u.on = true
	}
	return u.z.Read(p)
}

// begin sets the decoder on the source. One goroutine decodes, the caller's: with more of them a decoder would have
// goroutines of its own, which nobody waits for.
func (u *unzstd) begin() (err error) {
	if u.z != nil {
		return u.z.Reset(&u.src)
	}
	u.z, err = zstd.NewReader(&u.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	return err
}

// nothing is a source without an octet, so that a decoder in a pool keeps no body alive.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// gunzip decodes one or more gzip members (RFC 1952 2.2). No octets at all are an empty body: servers send the field
// with them. Octets after a whole member that begin no other are the end; the caller reads them off.
type gunzip struct {
	src     *bufio.Reader
	z       gzip.Reader
	members int
	within  bool // a member
}

func newGunzip() *gunzip { return &gunzip{src: bufio.NewReaderSize(nil, readBuffer)} }

func (g *gunzip) reset(r io.Reader) {
	if r == nil {
		r = nothing{}
	}
	g.src.Reset(r)
	g.members, g.within = 0, false
}

func (g *gunzip) Read(p []byte) (int, error) {
	for {
		if !g.within {
			_, none := g.src.Peek(1)
			err := g.z.Reset(g.src)
			if none == nil && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // within the head of a member: an end, but not of an empty body
			}
			if err != nil && g.members > 0 {
				return 0, io.EOF
			}
			if err != nil {
				return 0, err
			}
			g.z.Multistream(false)
			g.within = true
			g.members++
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
