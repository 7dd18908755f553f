package mirror

import (
	"errors"
	"io"
	"io/fs"

	"curtsy/storage/warc"
)

// damaged is an error of an answer, not of this machine.
type damaged struct{ error }

func (d damaged) Unwrap() error { return d.error }

// damage reports whether an error is one of an answer.
func damage(err error) (state, bool) {
	var d damaged
	switch {
	case !errors.As(err, &d):
		return 0, false
	case errors.Is(err, warc.ErrTooLarge):
		return isTooLarge, true
	}
	return isDamaged, true
}

// source is a record that is read.
type source struct {
	in    *warc.Lenient
	wrong string // what was found to be wrong with it
}

func (s *source) found(f warc.Finding) {
	switch f.Code {
	case warc.DamagedMember, warc.ShortMember, warc.Torn, warc.NoEnd:
		s.wrong = f.Code
	}
}

// whole reads the rest of the record, behind which its checksum stands.
func (s *source) whole() error {
	if _, err := s.in.End(); err != nil {
		return asDamage(err)
	}
	if s.wrong != "" {
		return damaged{errors.New(s.wrong)}
	}
	return nil
}

// body reads an answer's body and sets errors of reading apart: those of the archive's file are this machine's.
type body struct{ r io.Reader }

func (b body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, asDamage(err)
}

// ours reports whether an error is one of a file system, not of what a file holds.
func ours(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

func asDamage(err error) error {
	if ours(err) {
		return err
	}
	return damaged{err}
}
