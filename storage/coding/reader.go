package coding

import (
	"errors"
	"io"
	"sync"
)

// ErrTooLarge says that between two codings there is more than any body has.
var ErrTooLarge = errors.New("coding: too much between two content codings")

// maxBetween is what there may be between two codings.
const maxBetween = 128 << 20

// decoder undoes one coding. It holds no more than the window that its coding allows, whatever comes out of it, and is
// used again for other bodies.
type decoder interface {
	io.Reader
	reset(src io.Reader) // nil lets go of the source
}

// Pool keeps decoders that are not in use. The zero Pool is ready; it may be used by many at once.
type Pool struct{ gzip, deflate, br, zstd sync.Pool }

// Reader reads a body without its codings.
type Reader struct {
	io.Reader
	pool  *Pool
	undo  []string
	chain []decoder
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

func (p *Pool) get(coding string) decoder {
	if p != nil {
		if d, ok := p.of(coding).Get().(decoder); ok {
			return d
		}
	}
	switch coding {
	case "gzip":
		return newGunzip()
	case "deflate":
		return &inflate{}
	case "br":
		return &unbrotli{}
	}
	return &unzstd{}
}

func (p *Pool) put(coding string, d decoder) {
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
