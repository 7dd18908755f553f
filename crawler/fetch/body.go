package fetch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"sync"

	"curtsy/storage/coding"
	"curtsy/storage/spool"
)

// payload digests the body, without transfer coding, as it is read.
type payload struct {
	r    io.Reader
	sum  hash.Hash
	size int64
	err  error // the first error; io.EOF when it is whole
}

func (p *payload) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	if err != nil && p.err == nil {
		p.err = err
	}
	return n, err
}

// readRest reads the body if it is wanted. keep reports that the response ended where its framing says and that the
// connection may be reused.
func (f *Fetcher) readRest(x *Exchange, l *connection, resp *http.Response, r Request) (keep bool, err error) {
	x.PayloadDigest = sha256.Sum256(nil)
	if r.Head {
		x.Truncated = CutOther
		return !resp.Close, nil // RFC 9110 9.3.2: it ends with the head, whatever the head declares
	}
	if r.Want != nil {
		if x.Unwanted = r.Want(resp.StatusCode, resp.Header); x.Unwanted != "" {
			x.Truncated = CutOther
		}
	}
	if x.Unwanted == "" && !r.Partial && resp.ContentLength > r.MaxBody {
		x.Unwanted, x.Truncated = TooLarge, CutLength
	}
	if x.Unwanted != "" {
		return false, nil
	}
	if s := resp.StatusCode; s == http.StatusNoContent || s == http.StatusNotModified {
		return !resp.Close, nil // RFC 9112 6.3: these end with the head
	}
	l.left = 2*r.MaxBody + headLimit
	complete, err := f.readBody(x, l, resp, r.MaxBody)
	return complete && !resp.Close, err
}

// readBody reads body and payload up to their end, a limit or a fault. An error of the connection takes precedence over
// one of the framing, and that over one of the coding.
func (f *Fetcher) readBody(x *Exchange, l *connection, resp *http.Response, most int64) (complete bool, err error) {
	begin := l.consumed()
	chunked := len(resp.TransferEncoding) > 0
	p := &payload{r: resp.Body, sum: sha256.New()}
	src, sink := io.Reader(p), io.Discard
	var undo []string
	if undo, x.Undecoded = coding.Of(resp.Header); len(undo) > 0 {
		z, release, err := f.plain(p, undo)
		if err != nil {
			return false, err
		}
		defer release()
		src = z
	}
	if len(undo) > 0 || chunked {
		x.body = f.newSpooled()
		sink = x.body
	}
	size, over, err := f.transfer(sink, src, most)
	over = over || errors.Is(err, coding.ErrTooLarge)
	if !over && p.err == nil {
		// The coding ended before the framing did. Archive and digest cover the whole payload.
		if _, _, derr := f.transfer(io.Discard, p, math.MaxInt64); err == nil {
			err = derr
		}
	}
	x.PayloadSize = p.size
	p.sum.Sum(x.PayloadDigest[:0])
	if x.body != nil {
		x.Body = io.NewSectionReader(x.body, 0, size)
	} else {
		x.Body = io.NewSectionReader(x.raw, begin, size)
	}
	var own *spoolError
	switch {
	case errors.As(err, &own):
		return false, own
	case over || errors.Is(l.err, errBudget):
		x.Truncated = CutLength
		return false, nil
	case !errors.Is(p.err, io.EOF):
		x.Truncated, err = l.fault(p.err, Incomplete)
		return false, err
	case resp.ContentLength < 0 && !chunked && l.socket != nil && l.socket.eof: // RFC 9112 9.8: anyone on the path can do that
		x.Truncated = CutDisconnect
		return false, &Failure{Incomplete,
			errors.New("the connection ended without a TLS closure alert, and nothing else told the end")}
	case err != nil:
		return true, &Failure{Coding, fmt.Errorf("%s: %w", strings.Join(undo, ", "), err)}
	}
	return true, nil
}

// transfer copies up to most bytes; over reports that there were more.
func (f *Fetcher) transfer(sink io.Writer, src io.Reader, most int64) (size int64, over bool, err error) {
	b := f.copies.Get().(*[]byte)
	defer f.copies.Put(b)
	for {
		n, err := src.Read(*b)
		kept := min(int64(n), most-size)
		if _, werr := sink.Write((*b)[:kept]); werr != nil {
			return size, false, werr
		}
		size += kept
		switch {
		case kept < int64(n):
			return size, true, nil
		case err == io.EOF:
			return size, false, nil
		case err != nil:
			return size, false, err
		}
	}
}

// Four bytes of br can ask for a window of 16 MiB. If each slow exchange held one, a few hundred hosts would cost
// gigabytes. A body that may need more than smallWindow is therefore decoded after it has arrived, by at most
// largeDecoders at a time.
const (
	smallWindow   = 512 << 10
	largeDecoders = 4
)

// plain returns p decoded. The caller calls release after reading. The error is a *spoolError; one of the body shows when
// it is read.
func (f *Fetcher) plain(p *payload, undo []string) (r io.Reader, release func(), err error) {
	var first [1]byte
	n, err := io.ReadFull(p, first[:])
	src := io.MultiReader(bytes.NewReader(first[:n]), p)
	if err != nil || coding.Window(undo, first[0]) <= smallWindow {
		z := coding.NewReader(src, undo, &f.decoders)
		return z, z.Close, nil
	}
	whole := f.newSpooled()
	size, _, err := f.transfer(whole, src, math.MaxInt64)
	var own *spoolError
	if errors.As(err, &own) {
		return nil, nil, errors.Join(own, whole.close())
	}
	f.large <- struct{}{}
	// A pooled decoder would keep its window, and its next body may be slow.
	z := coding.NewReader(io.NewSectionReader(whole, 0, size), undo, nil)
	return z, func() {
		<-f.large
		_ = whole.close() // it has been read
	}, nil
}

const spoolFirst = 8 << 10 // initial bytes of a body's memory

// spooled keeps the bytes of an exchange. Its memory is pooled: reading it after close is an error.
type spooled struct {
	*spool.Spool
	pool   *sync.Pool
	closed bool
}

func (f *Fetcher) newSpooled() *spooled {
	return &spooled{Spool: f.memory.Get().(*spool.Spool), pool: &f.memory}
}

// spoolError is a failure of the local disk.
type spoolError struct{ err error }

func (e *spoolError) Error() string { return e.err.Error() }
func (e *spoolError) Unwrap() error { return e.err }

// Write appends p. Its error is a *spoolError.
func (b *spooled) Write(p []byte) (int, error) {
	n, err := b.Spool.Write(p)
	if err != nil {
		return n, &spoolError{fmt.Errorf("spool a body in %s: %w", b.Dir, err)}
	}
	return n, nil
}

func (b *spooled) ReadAt(p []byte, off int64) (int, error) {
	if b.closed {
		return 0, os.ErrClosed
	}
	return b.Spool.ReadAt(p, off)
}

// close releases memory and file; b may be nil.
func (b *spooled) close() error {
	if b == nil || b.closed {
		return nil
	}
	b.closed = true
	s := b.Spool
	b.Spool = nil
	err := s.Reset()
	b.pool.Put(s)
	if err != nil {
		return fmt.Errorf("fetch: remove a spooled body: %w", err)
	}
	return nil
}

// Zstd is not offered by default: archives keep bodies as sent, and pywb, ReplayWeb.page and warcio do not decode it.
const (
	acceptEncoding = "gzip, br"
	withZstd       = ", zstd"
)
