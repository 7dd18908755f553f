package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"curtsy/storage"
	"curtsy/storage/coding"
	"curtsy/storage/mediatype"
)

// AppendHead appends the head of an HTTP message that in begins with to b: all up to the empty line, or, where complete is
// false, the first octets of the message, at most a little more than MaxHTTPHead. An error is one of reading.
func AppendHead(b []byte, in *bufio.Reader) (head []byte, complete bool, err error) {
	for goesOn, from := false, len(b); !complete && len(b)-from < MaxHTTPHead; {
		line, err := in.ReadSlice('\n')
		b = append(b, line...)
		complete = err == nil && !goesOn && len(bytes.TrimRight(line, "\r\n")) == 0
		goesOn = err != nil
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return b, false, err
		}
	}
	return b, complete, nil
}

// EachField calls f with each field of the head of an HTTP message, as far as it is there: its name as written, and its
// value without white space around it. A value that goes on in further lines (RFC 9112 5.2) has a space between them. Lines
// without a colon, and those with white space right behind the first line (RFC 9112 2.2), are passed over. f keeps nothing
// of what it is given.
func EachField(head []byte, f func(name, value []byte)) {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	for len(rest) > 0 {
		var line []byte
		if line, rest, _ = bytes.Cut(rest, []byte("\n")); len(bytes.TrimRight(line, "\r")) == 0 {
			return
		}
		stray := line[0] == ' ' || line[0] == '\t'
		name, value, ok := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		value = value[:len(value):len(value)] // what is appended leaves the head as it is
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			line, rest, _ = bytes.Cut(rest, []byte("\n"))
			value = append(append(value, ' '), bytes.TrimSpace(line)...)
		}
		if ok && !stray {
			f(name, bytes.TrimSpace(value))
		}
	}
}

// StatusAndType reads the status and the media type of an HTTP response's head, for an index: what is not there or
// cannot be read is 0 and "". It keeps nothing of b.
func StatusAndType(b []byte) (status int, media string) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if v, after, ok := bytes.Cut(line, []byte(" ")); ok && bytes.HasPrefix(v, []byte("HTTP/")) {
		if after = bytes.TrimLeft(after, " "); len(after) >= 3 && digits(after[:3]) && (len(after) == 3 || after[3] <= ' ') {
			status = int(after[0]-'0')*100 + int(after[1]-'0')*10 + int(after[2]-'0')
		}
	}
	var types []byte
	EachField(b, func(name, value []byte) {
		switch {
		case !bytes.EqualFold(bytes.TrimRight(name, " \t"), []byte("Content-Type")):
		case types == nil:
			types = value
		default:
			types = slices.Concat(types, []byte(", "), value)
		}
	})
	return status, mediatype.Name(types)
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

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
