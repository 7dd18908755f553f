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

// payload is the body without transfer coding, digested as it is read.
type payload struct {
	r    io.Reader
	sum  hash.Hash
	size int64
	err  error // what ended it first, whoever reads on; io.EOF when it is whole
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

// readRest reads the body, unless nobody wants it. keep says that the response ended where its framing says and that
// the connection may carry another exchange.
func (f *Fetcher) readRest(x *Exchange, l *connection, resp *http.Response, r Request) (keep bool, err error) {
	x.PayloadDigest = sha256.Sum256(nil)
	if r.Head {
		x.Truncated = CutOther
		return !resp.Close, nil // RFC 9110 9.3.2: it ends with the head, whatever that says of a body
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

// readBody reads body and payload to their end, or to where a cap or a fault stops it. An error of the
// connection counts before that of the framing, and that before the coding's.
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
		// The coding ended, well or not, before the framing did. Archive and digest are of all of it.
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
	case resp.ContentLength < 0 && !chunked && l.unclosed():
		x.Truncated = CutDisconnect
		return false, &Failure{Incomplete,
			errors.New("the connection ended without a TLS closure alert, and nothing else told the end")}
	case err != nil:
		return true, &Failure{Coding, fmt.Errorf("%s: %w", strings.Join(undo, ", "), err)}
	}
	return true, nil
}

// transfer copies src to sink up to its end, or up to most octets: over says that there were more.
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

// A decoder keeps a window of what it has decoded: of br up to 16 MiB, which four octets can ask for. Exchanges in
// flight are many, and slow ones stay so for minutes; if each held such a window, a few hundred hosts would cost
// gigabytes. So what may take more than smallWindow is decoded once all of it is here, by no more than largeDecoders at
// a time: they wait for no host.
const (
	smallWindow   = 512 << 10
	largeDecoders = 4
)

// plain returns p with its codings undone. The caller calls close when it has been read. The error is a
// *spoolError: that of the body is found by reading on.
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
	// No pool: a decoder in one keeps its window, and the next body that it is for may be slow.
	z := coding.NewReader(io.NewSectionReader(whole, 0, size), undo, nil)
	return z, func() {
		<-f.large
		_ = whole.close() // it was read, or its error was
	}, nil
}

// spoolFirst is how many bytes a body has room for in memory at first.
const spoolFirst = 8 << 10

// spooled keeps what is read of an exchange, to be read again. Its memory is used again by the next: whoever reads a
// body that is closed is told so.
type spooled struct {
	*spool.Spool
	pool   *sync.Pool
	closed bool
}

func (f *Fetcher) newSpooled() *spooled {
	return &spooled{Spool: f.memory.Get().(*spool.Spool), pool: &f.memory}
}

// newSpool makes one for the pool.
func newSpool(dir string) func() any {
	return func() any {
		s := &spool.Spool{Dir: dir, Pattern: "curtsy-body-*"}
		s.Grow(spoolFirst)
		return s
	}
}

// spoolError is a failure of our own disk.
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

// ReadAt is that of io.ReaderAt.
func (b *spooled) ReadAt(p []byte, off int64) (int, error) {
	if b.closed {
		return 0, os.ErrClosed
	}
	return b.Spool.ReadAt(p, off)
}

// close gives the memory back and removes the file. A nil one has nothing to close.
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

// acceptEncoding is what we offer. Other codings are undone as well (package coding). Zstd is not offered unasked:
// archives keep what was sent, and players and libraries of the field (pywb, ReplayWeb.page, warcio) do not read it
// back.
const (
	acceptEncoding = "gzip, br"
	withZstd       = ", zstd"
)
