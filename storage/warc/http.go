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

// AppendHead appends the HTTP head that in begins with to b, up to the empty line. If complete is false, it is the first
// bytes of the message, at most a little more than MaxHTTPHead. An error is one of reading.
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

// EachField calls f with each field of the HTTP head: its name as written and its value without white space around it. It
// joins a folded value (RFC 9112 5.2) with spaces and skips lines without a colon and those indented right after the
// first line (RFC 9112 2.2). f must not keep its arguments.
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
		value = value[:len(value):len(value)] // so that append copies
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			line, rest, _ = bytes.Cut(rest, []byte("\n"))
			value = append(append(value, ' '), bytes.TrimSpace(line)...)
		}
		if ok && !stray {
			f(name, bytes.TrimSpace(value))
		}
	}
}

// StatusAndType returns the status and media type of an HTTP response's head, 0 and "" if missing or unreadable.
func StatusAndType(b []byte) (status int, media string) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if v, after, ok := bytes.Cut(line, []byte(" ")); ok && bytes.HasPrefix(v, []byte("HTTP/")) {
		if after = bytes.TrimLeft(after, " "); len(after) >= 3 && len(bytes.Trim(after[:3], "0123456789")) == 0 &&
			(len(after) == 3 || after[3] <= ' ') {
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

// HTTP is the parsed block of a response or revisit record.
type HTTP struct {
	Head   []byte // status line and fields as archived, with the empty line
	Status int    // 0 if the head cannot be read
	Header http.Header
	// Payload reads the body without its transfer coding, but with its content coding, as in WARC-Payload-Digest. It
	// shares its source with Body: read only one of them.
	Payload  io.Reader
	Complete bool // the head has its end
	src      tap  // the bytes after Head
}

// tap copies all reads to w unless that is nil.
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

// MaxHTTPHead is the longest HTTP head that is read, in bytes; the rest counts as body. This crawler accepts only
// storage.MaxHead, others more.
const MaxHTTPHead = 4 * storage.MaxHead

// ErrTooLarge is the error of a body's reader at its limit.
var ErrTooLarge = errors.New("warc: the decoded body is larger than the limit")

// ReadHTTP splits the block of a response or revisit record. It keeps a head that cannot be parsed as it is, with the
// rest as the payload. An error is one of reading block.
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
	// The head is parsed apart from the body, so that the parser cannot read beyond it.
	size := len(h.Head)
	EachField(h.Head, func(name, _ []byte) {
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			size = 4 << 10 // it also reads the chunks, whose lines may be longer than the head
		}
	})
	whole := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(h.Head), &h.src), size)
	r, err := http.ReadResponse(whole, nil) //nolint:bodyclose // no connection
	if err != nil {
		return h, nil //nolint:nilerr // an unparsable head is kept as it is
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

// buffer returns a buffered reader of block: for the first call, the one that the Lenient keeps for it.
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

// current reads a block's buffer until the Lenient moves on, when the buffer is another block's.
type current struct {
	in  *bufio.Reader
	b   *lenientBlock
	end bool
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

// Body reads the payload without its content codings, at most limit bytes before ErrTooLarge. It returns an error for a
// coding that package coding cannot undo.
func (h *HTTP) Body(limit int64) (io.Reader, error) {
	undo, stays := coding.Of(h.Header)
	if stays != "" {
		return nil, fmt.Errorf("warc: decode a body: the content coding %.40q cannot be undone", stays)
	}
	return &limited{coding.NewReader(h.Payload, undo, nil), limit}, nil
}

// limited is io.LimitedReader with ErrTooLarge at the limit.
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
