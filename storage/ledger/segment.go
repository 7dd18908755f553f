package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier/durable"
)

const (
	// maxSegment is how far a packed segment may unfold. Ours are about as long as Options.SegmentSize; a file handed
	// to us may be a few bytes that unfold without end.
	maxSegment = 1 << 30
	// maxWindow bounds what the decoder holds. Ours need no more.
	maxWindow = 8 << 20
)

// segmentFile reads a segment, plain or packed.
type segmentFile struct {
	io.Reader
	path string
	file *os.File
	zstd *zstd.Decoder // nil for a plain one
}

// openSegment opens a segment of dir. Where both forms are there, packing was broken off: the plain one is whole, and
// goes last.
func openSegment(dir string, number int) (*segmentFile, error) {
	plain := path(dir, number)
	f, err := durable.Open(plain)
	if err == nil {
		return &segmentFile{Reader: f, path: plain, file: f}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return openPacked(dir, number)
}

// openPacked opens a packed segment of dir.
func openPacked(dir string, number int) (*segmentFile, error) {
	packed := path(dir, number) + packedSuffix
	f, err := durable.Open(packed)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segmentFile{&bounded{z, maxSegment}, packed, f, z}, nil
}

func (s *segmentFile) packed() bool { return strings.HasSuffix(s.path, packedSuffix) }

// pass passes over the first bytes.
func (s *segmentFile) pass(n int64) (err error) {
	if s.packed() {
		_, err = io.CopyN(io.Discard, s, n)
	} else if n > 0 {
		_, err = s.file.Seek(n, io.SeekStart)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.path, err)
	}
	return err
}

// close lets go of what was only read: there is nothing that an error of it could tell.
func (s *segmentFile) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
	_ = s.file.Close()
}

// bounded is a reader that fails behind left bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it decompresses to more than %d bytes", int64(maxSegment))
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

var (
	errLong = fmt.Errorf("longer than %d bytes", maxLine)
	errTorn = fmt.Errorf("the line has no end: %w", io.ErrUnexpectedEOF)
)

// row is a line of a segment as it stands, without its newline. It is valid until the next.
type row struct {
	segment int
	path    string
	packed  bool
	n       int // from 1, or from where reading began
	text    []byte
	size    int64 // of the line, its newline included
}

// failed is an error with its place.
func (r *row) failed(err error) error { return fmt.Errorf("%s line %d: %w", r.path, r.n, err) }

// rows are the lines of segments of dir. A line that is too long comes with errLong, and lines follow. The last of a
// segment, if it has no end, comes with errTorn. Any other error ends a packed segment, and of a plain one is the last.
func rows(dir string, numbers []int) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for _, n := range numbers {
			if !rowsOf(dir, n, 0, yield) {
				return
			}
		}
	}
}

// rowsOf yields the lines of one segment, from a byte of it on, and reports whether to go on to the next.
func rowsOf(dir string, number int, from int64, yield func(row, error) bool) bool {
	f, err := openSegment(dir, number)
	if err == nil {
		defer f.close()
		err = f.pass(from)
	}
	if err != nil {
		yield(row{segment: number}, err)
		return false
	}
	in := bufio.NewReaderSize(f, bufferSize)
	var long []byte
	for r := (row{segment: number, path: f.path, packed: f.packed(), n: 1}); ; r.n++ {
		var b []byte
		if b, r.size, err = readLine(in, &long); errors.Is(err, io.EOF) {
			if len(b) == 0 {
				return true
			}
			err = errTorn
		}
		if r.text = bytes.TrimSuffix(b, []byte("\n")); err == nil {
			if !yield(r, nil) {
				return false
			}
			continue
		}
		more := yield(r, r.failed(err))
		switch {
		case !more || errors.Is(err, errTorn):
			return more
		case !errors.Is(err, errLong):
			return r.packed
		}
	}
}

// readLine returns the next line, valid until the next call, and its size. A line that comes with io.EOF has no end. A line
// that is longer than maxLine is passed over and is errLong.
func readLine(r *bufio.Reader, long *[]byte) (line []byte, size int64, err error) {
	b, err := r.ReadSlice('\n')
	size = int64(len(b))
	if !errors.Is(err, bufio.ErrBufferFull) {
		return b, size, err
	}
	*long = append((*long)[:0], b...)
	for errors.Is(err, bufio.ErrBufferFull) {
		b, err = r.ReadSlice('\n')
		if size += int64(len(b)); size <= maxLine {
			*long = append(*long, b...)
		}
	}
	if err == nil && size > maxLine {
		return nil, size, errLong
	}
	return *long, size, err
}

const (
	suffix       = ".jsonl"
	packedSuffix = ".zst" // behind suffix: a complete segment
	newSuffix    = ".new" // behind both: one that is being made, and nothing yet
)

// system is what a Writer does to a file system. A test stands in for it to break off anywhere.
type system struct {
	create  func(path string) (file, error) // make a file, or go on with it
	rename  func(from, to string) error
	remove  func(path string) error
	syncDir func(dir string) error
	keep    func(path string, b []byte) error                        // write a file whole and durable, or not at all
	write   func(path string, content func(w io.Writer) error) error // make a file anew, which a kill may tear
}

func realSystem() system {
	return system{
		create: create, rename: os.Rename, remove: os.Remove, syncDir: durable.Names,
		keep:  func(path string, b []byte) error { return durable.WriteFile(path, b, 0o644) },
		write: anew,
	}
}

// anew makes a file anew.
func anew(path string, content func(w io.Writer) error) error {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}

// file is what a Writer needs of an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

func path(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", number, suffix))
}

// segments returns the numbers of the segments in dir, in their order. Other files are left alone.
func segments(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), packedSuffix)
		digits, ok := strings.CutSuffix(name, suffix)
		n, err := strconv.Atoi(digits)
		// Only the spelling we write ourselves: "+1", "1" and "0000001" are other files.
		if ok && err == nil && n >= 0 && path(dir, n) == filepath.Join(dir, name) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// create makes a segment, or goes on with one.
func create(path string) (file, error) {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// mend cuts the segment of path behind its last whole line and returns its size before and after.
func mend(path string) (size, end int64, err error) {
	f, err := durable.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	if end, err = whole(f); err != nil {
		return 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	if end == info.Size() {
		return end, end, nil
	}
	if err := f.Truncate(end); err != nil {
		return 0, 0, err
	}
	return info.Size(), end, f.Sync()
}

// whole returns the offset behind the last whole line of r. A NUL, which JSON never has, ends what is whole: a loss
// of power can leave a stretch of them where bytes never reached the disk.
func whole(r io.Reader) (end int64, err error) {
	buf := make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := r.Read(buf)
		b := buf[:n]
		nul := bytes.IndexByte(b, 0)
		if nul >= 0 {
			b = b[:nul]
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			end = at + int64(i) + 1
		}
		at += int64(n)
		switch {
		case nul >= 0 || err == io.EOF:
			return end, nil
		case err != nil:
			return 0, err
		}
	}
}
