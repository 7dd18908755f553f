package warc

import (
	"errors"
	"fmt"
	"io"
)

// Reader reads the records of a segment of this crawler. It is a Lenient reader to which every finding is an error, except
// for those about the version or the angle brackets of a URL, and it wants one record in each gzip member (WARC 1.1, D.2).
// An error is final.
type Reader struct {
	l   *Lenient
	err error
}

// NewReader returns a Reader of the segment that r reads from its beginning.
func NewReader(r io.Reader) *Reader {
	rd := new(Reader)
	rd.l = NewLenient(r, rd.refuse)
	return rd
}

// refuse ends the reading at a finding.
func (r *Reader) refuse(f Finding) {
	why := errors.New(f.Text)
	switch f.Code {
	case OldVersion, OddVersion, AngleBrackets:
		return
	case Torn:
		why = fmt.Errorf("%s: %w", f.Text, io.ErrUnexpectedEOF)
	}
	if r.err == nil {
		r.err = fmt.Errorf("warc: read the record at offset %d: %w", f.Offset, why)
		r.l.err = r.err
	}
}

// Next returns the next record, passing over what is left of the one before. It returns io.EOF at the end, and an
// error that wraps io.ErrUnexpectedEOF if the segment ends within a record.
func (r *Reader) Next() (*Record, error) {
	if _, err := r.End(); err != nil {
		return nil, err
	}
	rec, err := r.l.Next()
	if r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return nil, r.err
	}
	return rec, nil
}

// End reads the current record to its end, checks that its member is sound and holds nothing else, and returns the
// offset behind it, where the next one begins: End − Record.Offset is the length of the member. Between two records
// it returns the offset alone.
func (r *Reader) End() (int64, error) {
	if r.err != nil {
		return 0, r.err
	}
	end, err := r.l.End()
	if err == nil && r.l.cur != nil {
		r.refuse(Finding{r.l.at, SeveralRecords, "more than one record in a gzip member"})
	}
	if r.err == nil {
		r.err = err
	}
	return end, r.err
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
