package evidence

import (
	"bufio"
	"bytes"
	"fmt"
	"hash"
	"io"
	"net/http/httputil"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// Bounds of a kept body, raw and decoded, in bytes: one more than RFC 9309 2.5 requires shows that there was more.
const (
	maxRaw  = 1 << 20
	maxBody = 500<<10 + 1
)

// blockReader reads the blocks of records, one at a time, and digests them on the way.
type blockReader struct {
	in    *bufio.Reader // of src
	src   blockSource
	block sums // of the whole block
	body  sums // of the payload
	raw   sums // of the bytes after the HTTP head, transfer coding included

	head    []byte // as written in the block
	long    []byte // a line that does not fit into in
	chunked bool   // the body is in chunks
	cut     bool   // of a body that is kept: its chunks end early
	chunks  string // the defect of a body's chunks or of the bytes after them; "" if none
}

type blockSource struct {
	r   io.Reader
	to  *sums
	all hash.Hash // nil, or digests all bytes read, whatever digest the record has
	raw *sums     // nil until the head is read
	err error
}

func (s *blockSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	_, _ = s.to.Write(p[:n])
	if s.all != nil {
		s.all.Write(p[:n]) // never fails
	}
	if s.raw != nil {
		_, _ = s.raw.Write(p[:n])
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (r *blockReader) init() { r.in = bufio.NewReaderSize(&r.src, 32<<10) }

// begin makes r read the block of rec. payload requests its payload digest.
func (r *blockReader) begin(rec *warc.Record, payload bool) {
	r.block, r.body = sumsOf(rec.Fields.Get("WARC-Block-Digest")), sums{}
	if payload {
		r.body = sumsOf(rec.Fields.Get("WARC-Payload-Digest"))
	}
	r.raw = sums{}
	r.src = blockSource{r: rec.Block, to: &r.block}
	r.in.Reset(&r.src)
	r.chunked, r.cut, r.chunks, r.head = false, false, "", r.head[:0]
}

var errHead = fmt.Errorf("its head is longer than %d bytes, or ends early", warc.MaxHTTPHead)

// readHead reads the head of the block and returns its first line. With errHead, the head has its whole lines only.
func (r *blockReader) readHead() (first []byte, err error) {
	var complete bool
	if r.head, complete, err = warc.AppendHead(r.head[:0], r.in); err != nil || !complete || len(r.head) > warc.MaxHTTPHead {
		err = errHead
		r.head = r.head[:min(bytes.LastIndexByte(r.head, '\n')+1, warc.MaxHTTPHead)]
	}
	first, _, _ = bytes.Cut(r.head, []byte("\n"))
	return bytes.TrimSuffix(first, []byte("\r")), err
}

// fields gives each field of the head to f, its name in lower case.
func (r *blockReader) fields(f func(name string, value []byte)) {
	warc.EachField(r.head, func(name, value []byte) {
		if len(name) <= 64 {
			f(lowered(name), value)
		}
	})
}

// lowered returns names that the reader looks up, without allocating, and others as "".
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
	"user-agent", "host", "content-length", "content-range", "ratelimit", "content-type", "from", "cookie",
	"authorization", "proxy-authorization", "last-modified", "x-robots-tag", "etag", "vary", "if-none-match",
	"if-modified-since", "range",
}

// payload reads the body. With keep it returns the body without its transfer coding, as far as maxRaw.
func (r *blockReader) payload(keep bool) []byte {
	if keep {
		return r.kept()
	}
	if !r.chunked {
		_, _ = r.in.WriteTo(&r.body) // an error is in src
		return nil
	}
	if r.body.on() { // all buffered bytes belong to this record
		r.raw = sumsOf(r.body.field)
		b, _ := r.in.Peek(r.in.Buffered())
		_, _ = r.raw.Write(b)
		r.src.raw = &r.raw
	}
	_, err := io.Copy(&r.body, httputil.NewChunkedReader(r.in)) // bytes that are not chunks have their own digest, also compared
	r.chunks = behindChunks(r.in, err)
	r.rest()
	return nil
}

func (r *blockReader) kept() []byte {
	raw, err := io.ReadAll(io.LimitReader(r.in, maxRaw))
	if err != nil {
		return nil
	}
	if _, err := r.in.Peek(1); err == nil { // a very long one
		if r.chunked {
			r.body = sums{} // this part of it cannot be digested separately
		}
		_, _ = r.body.Write(raw)
		_, _ = r.in.WriteTo(&r.body) // an error is in src
		if r.chunked {
			raw, _ = io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw))) // it was cut above
		}
		return raw
	}
	body := raw
	if r.chunked {
		r.raw = sumsOf(r.body.field)
		_, _ = r.raw.Write(raw)
		in := bufio.NewReader(bytes.NewReader(raw))
		b, err := io.ReadAll(httputil.NewChunkedReader(in))
		if r.chunks = behindChunks(in, err); err == nil || len(b) > 0 {
			body, r.cut = b, err != nil
		}
	}
	_, _ = r.body.Write(body)
	return body
}

// behindChunks describes the defect of chunks read from in up to the last one or to an error. Trailer fields and an
// empty line, or only that line, follow the last chunk (RFC 9112 7.1).
func behindChunks(in *bufio.Reader, err error) string {
	if err != nil {
		return "its chunks end early, or are invalid: " + finding.Short(err.Error())
	}
	rest, _ := io.ReadAll(io.LimitReader(in, 64<<10))
	const end = "\r\n\r\n"
	if string(rest) == "\r\n" || !bytes.HasPrefix(rest, []byte("\r\n")) && bytes.HasSuffix(rest, []byte(end)) && bytes.Index(rest, []byte(end)) == len(rest)-len(end) {
		return ""
	}
	return fmt.Sprintf("%d bytes after its last chunk are not the end of a body", len(rest))
}

func (r *blockReader) rest() { _, _ = r.in.WriteTo(io.Discard) } // src keeps the error, as the Reader's next call does
