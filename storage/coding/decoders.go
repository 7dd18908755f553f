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
