package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// Reader reads the records of a segment one after another, in memory that does not depend on their size. It wants
// one record in each gzip member (WARC 1.1, D.2) and lines that end in CR LF. An error is final.
type Reader struct {
	src source
	in  *bufio.Reader // of src: the members
	gz  gzip.Reader   // of in
	out *bufio.Reader // of gz: the records
	rec *Record       // the current one; nil between two
	err error
}

// NewReader returns a Reader of the segment that r reads from its beginning.
func NewReader(r io.Reader) *Reader {
	rd := &Reader{src: source{r: r}, out: bufio.NewReaderSize(nil, maxHead)}
	rd.in = bufio.NewReaderSize(&rd.src, 64<<10)
	return rd
}

// source counts what is read and remembers why reading failed, as opposed to why what was read is wrong.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (r *Reader) offset() int64 { return r.src.n - int64(r.in.Buffered()) }

// Next returns the next record, passing over what is left of the one before. It returns io.EOF at the end, and an
// error that wraps io.ErrUnexpectedEOF if the segment ends within a record.
func (r *Reader) Next() (*Record, error) {
	if _, err := r.End(); err != nil {
		return nil, err
	}
	at := r.offset()
	if _, err := r.in.Peek(1); err == io.EOF {
		r.err = io.EOF
		return nil, r.err
	}
	if err := r.gz.Reset(r.in); err != nil {
		return nil, r.fail(at, err)
	}
	r.gz.Multistream(false)
	r.out.Reset(&r.gz)
	left := maxHead
	rec, err := parseHead(func() ([]byte, error) { return r.line(&left) })
	if err != nil {
		return nil, r.fail(at, err)
	}
	rec.Offset = at
	rec.Block = &block{r: r, rec: rec, left: rec.Length}
	r.rec = rec
	return rec, nil
}

// End reads the current record to its end, checks that its member is sound and holds nothing else, and returns the
// offset behind it, where the next one begins: End − Record.Offset is the length of the member. Between two records
// it returns the offset alone.
func (r *Reader) End() (int64, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.rec == nil {
		return r.offset(), nil
	}
	rec := r.rec
	if _, err := io.Copy(io.Discard, rec.Block); err != nil {
		return 0, err
	}
	for i := range len(recordEnd) {
		switch c, err := r.out.ReadByte(); {
		case err != nil:
			return 0, r.fail(rec.Offset, err)
		case c != recordEnd[i]:
			return 0, r.fail(rec.Offset, errors.New("no end of record after the block"))
		}
	}
	switch _, err := r.out.ReadByte(); err {
	case io.EOF: // the checksum holds
	case nil:
		return 0, r.fail(rec.Offset, errors.New("more than one record in a gzip member"))
	default:
		return 0, r.fail(rec.Offset, err)
	}
	r.rec = nil
	return r.offset(), nil
}

// line returns the next line of a head of which at most left octets may follow.
func (r *Reader) line(left *int) ([]byte, error) {
	b, err := r.out.ReadSlice('\n')
	if *left -= len(b); *left < 0 || errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("%w: longer than %d bytes", errHead, maxHead)
	}
	if err != nil {
		return nil, err
	}
	line, ok := bytes.CutSuffix(b, []byte("\r\n"))
	if !ok {
		return nil, fmt.Errorf("%w: the line %.60q does not end in CR LF", errHead, b)
	}
	return line, nil
}

// fail ends the reading with what is wrong with the record at an offset. io.EOF is the end of its gzip member, which
// is not the end of the segment.
func (r *Reader) fail(at int64, err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the gzip member ends inside the record")
	}
	r.rec = nil
	r.err = fmt.Errorf("warc: read the record at offset %d: %w", at, err)
	return r.err
}

// block reads a record's block.
type block struct {
	r    *Reader
	rec  *Record
	left int64
}

func (b *block) Read(p []byte) (int, error) {
	if b.r.rec != b.rec {
		return 0, fmt.Errorf("warc: read the block at offset %d: the reader is past it", b.rec.Offset)
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.out.Read(p)
	b.left -= int64(n)
	if n == 0 && err != nil {
		return 0, b.r.fail(b.rec.Offset, err)
	}
	return n, nil
}
