package warc

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Places reads records of archive files wherever they stand, one at a time. It keeps the file that it read last, and
// the memory that reading takes, for the next record: each goroutine that reads many has one. The zero value is ready.
type Places struct {
	path string
	file *os.File
	b    *buffers
	l    *Lenient // what was returned last
}

// Stretch says which part of a file is read.
type Stretch struct {
	Offset int64 // where a gzip member, or a record of a plain file, begins
	Length int64 // how much is wanted, as far as that is known: it is read at once. Zero means that it is not known
	// Only says that no more than Length octets are read: then reading fails with ErrStretch. The contents of a member are
	// decompressed by the 32 KiB, so that this is the way to see the head of a record and pay for no more.
	Only bool
}

// ErrStretch is why nothing is read behind a Stretch that is all there is to read.
var ErrStretch = errors.New("warc: no more of the file was to be read")

// Lenient is like LenientAt. The record before it cannot be read any more.
func (p *Places) Lenient(path string, s Stretch, found func(Finding)) (*Lenient, error) {
	p.end()
	if s.Offset < 0 {
		return nil, fmt.Errorf("warc: %s has no record at offset %d", path, s.Offset)
	}
	if p.file == nil || p.path != path {
		f, err := OpenListed(path, os.Open)
		if err != nil {
			return nil, fmt.Errorf("warc: %w", err)
		}
		if p.file != nil {
			p.file.Close() // only read
		}
		p.path, p.file = path, f
	}
	return p.begin(&stretch{p.file, s}, s.Offset, found), nil
}

// begin returns a reader of what in reads, which is at an offset of the file.
func (p *Places) begin(in io.Reader, offset int64, found func(Finding)) *Lenient {
	if p.b == nil {
		p.b = buffered.Get().(*buffers) //nolint:forcetypeassert // there is nothing else in it
	}
	p.l = p.b.lenient(in, offset, found)
	return p.l
}

// Close closes the file.
func (p *Places) Close() error {
	p.end()
	if p.b != nil {
		p.b.release()
		p.b = nil
	}
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

func (p *Places) end() {
	if p.l != nil {
		p.l.end()
		p.l = nil
	}
}

// stretch reads a file from a place on.
type stretch struct {
	file *os.File
	Stretch
}

func (s *stretch) Read(p []byte) (int, error) {
	switch {
	case s.Length > 0:
		p = p[:min(int64(len(p)), s.Length)]
	case s.Only:
		return 0, ErrStretch
	}
	n, err := s.file.ReadAt(p, s.Offset)
	s.Offset, s.Length = s.Offset+int64(n), s.Length-int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // there is less than was asked for
	}
	return n, err
}
