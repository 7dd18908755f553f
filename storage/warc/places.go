package warc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
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

// ReadAt opens the archive file at path and returns the record at an offset, as an Entry or a Reader names it: that of
// its gzip member, or in a plain file its own. Where path does not exist, it reads path + ".open", the name of a segment
// that is being written, so that a line of the index leads to its record at any time. The block can be read until the
// Closer is closed.
func ReadAt(path string, offset int64) (*Record, io.Closer, error) {
	l, f, err := LenientAt(path, offset, nil)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(path, openSuffix) {
		// LenientAt falls back to the final name, should the segment be completed in between.
		if open, file, openErr := LenientAt(path+openSuffix, offset, nil); !errors.Is(openErr, fs.ErrNotExist) {
			l, f, err = open, file, openErr
		}
	}
	if err != nil {
		return nil, nil, err
	}
	rec, err := l.Next()
	switch {
	case errors.Is(err, io.EOF) || err == nil && (rec.Offset != offset || rec.Within != 0):
		err = fmt.Errorf("warc: %s has no record at offset %d", path, offset)
	case err != nil:
		err = fmt.Errorf("warc: %s: %w", path, err)
	default:
		return rec, f, nil
	}
	f.Close() // only read
	return nil, nil, err
}

// LenientAt opens the archive file at path for reading from an offset on, where a gzip member or a record of a plain
// file begins. The offsets of records and findings are those in the file. Nothing can be read behind the Closer's
// Close.
func LenientAt(path string, offset int64, found func(Finding)) (*Lenient, io.Closer, error) {
	f, err := OpenListed(path, os.Open)
	if err != nil {
		return nil, nil, fmt.Errorf("warc: %w", err)
	}
	if offset < 0 {
		err = fmt.Errorf("warc: %s has no record at offset %d", path, offset)
	} else if offset > 0 {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		f.Close() // only read
		return nil, nil, err
	}
	p := &Places{path: path, file: f}
	return p.begin(f, offset, found), p, nil
}

// buffers are the memory that a Lenient works with, many times that of most records.
type buffers struct {
	in, out, http *bufio.Reader
	gz            *gzip.Reader
}

func newBuffers() *buffers {
	return &buffers{bufio.NewReaderSize(nil, maxHead), bufio.NewReaderSize(nil, maxHead),
		bufio.NewReaderSize(nil, blockBuffer), new(gzip.Reader)}
}

func (b *buffers) lenient(r io.Reader, base int64, found func(Finding)) *Lenient {
	if found == nil {
		found = func(Finding) {}
	}
	l := &Lenient{found: found, base: base, src: source{r: r}, in: b.in, out: b.out, http: b.http, gz: b.gz}
	l.in.Reset(&l.src)
	return l
}

// buffered are the buffers of readers that were closed, for the next: a reader of one record has them for that alone.
var buffered = sync.Pool{New: func() any { return newBuffers() }}

// release gives buffers back that no reader has any more.
func (b *buffers) release() {
	b.in.Reset(nil) // it would hold on to the file
	b.out.Reset(nil)
	b.http.Reset(nil)
	buffered.Put(b)
}

// end takes its buffers from a reader.
func (l *Lenient) end() {
	l.in, l.out, l.gz, l.cur, l.rec = nil, nil, nil, nil, nil
	l.err = errArchiveClosed
}

var errArchiveClosed = fmt.Errorf("warc: the archive file is closed: %w", os.ErrClosed)
