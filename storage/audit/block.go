package audit

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"strings"

	"curtsy/storage/warc"
)

// The longest that is read of a head, of a body that is kept, and of such a body after decoding, in octets. The last
// is one more than RFC 9309 2.5 makes a crawler read, so that more can be told from just as much.
const (
	maxHead = 256 << 10
	maxRaw  = 1 << 20
	maxBody = 500<<10 + 1
)

// reader reads the blocks of records, one at a time, and digests them on the way.
type reader struct {
	in    *bufio.Reader // of src
	src   blockSource
	block sums // of the whole block
	body  sums // of the payload
	raw   sums // of the octets behind the HTTP head, transfer coding included

	left    int  // of maxHead
	chunked bool // the body is in chunks
}

// blockSource reads a block and digests it.
type blockSource struct {
	r   io.Reader
	to  *sums
	raw *sums // nil until the head is read
	err error
}

func (s *blockSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.to.write(p[:n])
	if s.raw != nil {
		s.raw.write(p[:n])
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (r *reader) init() { r.in = bufio.NewReaderSize(&r.src, 32<<10) }

// begin makes r read the block of rec. payload says that its payload digest will be asked for.
func (r *reader) begin(rec *warc.Record, payload bool) {
	r.block.want(rec.Fields.Get("WARC-Block-Digest"))
	p := ""
	if payload {
		p = rec.Fields.Get("WARC-Payload-Digest")
	}
	r.body.want(p)
	r.raw.want("")
	r.src = blockSource{r: rec.Block, to: &r.block}
	r.in.Reset(&r.src)
	r.left, r.chunked = maxHead, false
}

var errHead = errors.New("its head is longer than 256 KiB, or ends early")

// line returns a line of the head without its end.
func (r *reader) line() ([]byte, error) {
	b, err := r.in.ReadSlice('\n')
	if r.left -= len(b); r.left < 0 || err != nil {
		return nil, errHead
	}
	return bytes.TrimRight(b, "\r\n"), nil
}

// fields reads the fields of a head and gives each to f, its name in lower case.
func (r *reader) fields(f func(name string, value []byte)) error {
	for {
		b, err := r.line()
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return nil
		}
		name, value, ok := bytes.Cut(b, []byte(":"))
		if !ok || len(name) > 64 {
			continue
		}
		f(lowered(name), bytes.TrimSpace(value))
	}
}

// lowered returns the names that are asked for without allocating, and others as "".
func lowered(name []byte) string {
	for _, known := range wanted {
		if len(known) == len(name) && strings.EqualFold(known, string(name)) {
			return known
		}
	}
	return ""
}

var wanted = [...]string{
	"location", "retry-after", "transfer-encoding", "content-encoding", "cache-control", "expires", "date", "age",
	"user-agent", "host", "content-length", "ratelimit",
}

// payload reads the body. With keep it returns the body without its transfer coding, as far as maxRaw.
func (r *reader) payload(keep bool) []byte {
	if keep {
		return r.kept()
	}
	if !r.chunked {
		_, _ = r.in.WriteTo(&r.body) // an error is in src
		return nil
	}
	if r.body.on() { // whatever is buffered belongs to this record
		r.raw.like(&r.body)
		b, _ := r.in.Peek(r.in.Buffered())
		r.raw.write(b)
		r.src.raw = &r.raw
	}
	_, _ = io.Copy(&r.body, httputil.NewChunkedReader(r.in)) // what is no chunk has a digest of its own, which is compared too
	r.rest()
	return nil
}

func (r *reader) kept() []byte {
	raw, err := io.ReadAll(io.LimitReader(r.in, maxRaw))
	if err != nil {
		return nil
	}
	if _, err := r.in.Peek(1); err == nil { // a very long one
		if r.chunked {
			r.body.h = nil // this part of it cannot be digested alone
		}
		r.body.write(raw)
		_, _ = r.in.WriteTo(&r.body) // an error is in src
		return raw
	}
	body := raw
	if r.chunked {
		r.raw.like(&r.body)
		r.raw.write(raw)
		if b, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw))); err == nil || len(b) > 0 {
			body = b
		}
	}
	r.body.write(body)
	return body
}

// rest reads the block to its end.
func (r *reader) rest() { _, _ = r.in.WriteTo(io.Discard) } // an error is in src, and the Reader's next one too
