package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"curtsy/storage"
	"curtsy/storage/coding"
)

// HTTP is the block of a response or revisit record, split.
type HTTP struct {
	Head   []byte // status line and fields as they stand there, with the empty line
	Status int    // 0 if the head cannot be read
	Header http.Header
	// Payload reads the body without its transfer coding, its content coding kept: what WARC-Payload-Digest is of. It
	// shares its source with Body: read one of them.
	Payload io.Reader
	// Complete says whether the head has its end.
	Complete bool
	src      tap // what follows Head
}

// tap gives what is read to w as well, if there is one.
type tap struct {
	r io.Reader
	w io.Writer
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if t.w != nil {
		_, _ = t.w.Write(p[:n]) // a hash never fails
	}
	return n, err
}

// MaxHTTPHead is the most octets of an HTTP head that are read; what is longer counts as its body. A crawl of ours
// takes no head over storage.MaxHead; others do.
const MaxHTTPHead = 4 * storage.MaxHead

// ErrTooLarge is returned by a body's reader that reached its limit.
var ErrTooLarge = errors.New("warc: the decoded body is larger than the limit")

// ReadHTTP splits the block of a response or revisit record. A head that cannot be parsed is kept as it is, and what
// follows it is the payload as it stands; an error is one of reading block.
func ReadHTTP(block io.Reader) (*HTTP, error) {
	in := buffer(block)
	h := &HTTP{src: tap{r: in}, Header: http.Header{}}
	if b, ok := block.(*lenientBlock); ok {
		h.src.r = &current{in: in, b: b}
	}
	h.Payload = &h.src
	var err error
	if h.Head, h.Complete, err = AppendHead(nil, in); err != nil {
		return nil, err
	}
	h.Status, _ = StatusAndType(h.Head)
	if !h.Complete {
		return h, nil
	}
	// The head is parsed apart from the body, so that the parser cannot read past it.
	size := len(h.Head)
	EachField(h.Head, func(name, _ []byte) {
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			size = 4 << 10 // it reads the chunks, too, whose lines may be longer than the head
		}
	})
	whole := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(h.Head), &h.src), size)
	r, err := http.ReadResponse(whole, nil) //nolint:bodyclose // it has nothing to close: there is no connection
	if err != nil {
		return h, nil //nolint:nilerr // what cannot be parsed is kept as it stands
	}
	h.Status, h.Header = r.StatusCode, r.Header
	if len(r.TransferEncoding) > 0 {
		// Some crawlers keep the field and undo the coding.
		if first, err := in.Peek(1); err == nil && bytes.IndexByte([]byte("0123456789abcdefABCDEF"), first[0]) >= 0 {
			h.Payload = r.Body
		}
	}
	return h, nil
}

// buffer returns a buffered reader of a block: the one that its reader keeps for the purpose, if it is the first.
func buffer(block io.Reader) *bufio.Reader {
	b, ok := block.(*lenientBlock)
	if !ok || b.l.rec != b.rec || b.buffered {
		return bufio.NewReaderSize(block, blockBuffer)
	}
	b.buffered = true
	b.l.http.Reset(block)
	return b.l.http
}

const blockBuffer = 4 << 10

// current reads what is buffered of a block as long as its reader is not past it: then the buffer is another block's.
type current struct {
	in  *bufio.Reader
	b   *lenientBlock
	end bool // it was read to its end
}

func (c *current) Read(p []byte) (int, error) {
	switch {
	case c.end:
		return 0, io.EOF
	case c.b.l.rec != c.b.rec:
		return 0, c.b.past()
	}
	n, err := c.in.Read(p)
	c.end = errors.Is(err, io.EOF)
	return n, err
}

// Body reads the payload without its content codings, as package coding undoes them, at most limit octets: then
// ErrTooLarge follows. A coding that cannot be undone is an error.
func (h *HTTP) Body(limit int64) (io.Reader, error) {
	undo, stays := coding.Of(h.Header)
	if stays != "" {
		return nil, fmt.Errorf("warc: decode a body: the content coding %.40q cannot be undone", stays)
	}
	return &limited{coding.NewReader(h.Payload, undo, nil), limit}, nil
}

// limited is like io.LimitedReader, but says that there was more.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
