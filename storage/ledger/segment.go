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
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

const (
	// maxSegment bounds a decompressed segment. Real ones are about Options.SegmentSize; a received file may be a bomb.
	maxSegment = 1 << 30
	maxWindow  = 8 << 20 // of the decoder
)

type segmentFile struct {
	io.Reader
	path string
	file *os.File
	zstd *zstd.Decoder // nil for a plain one
}

// openSegment opens a segment of dir. If interrupted packing left both forms, the plain one is whole.
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

func (s *segmentFile) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
	_ = s.file.Close()
}

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

// row is a line of a segment without its newline. It is valid until the next.
type row struct {
	segment int
	path    string
	packed  bool
	n       int // from 1, or from where reading began
	text    []byte
	size    int64 // of the line, its newline included
}

func (r *row) failed(err error) error { return fmt.Errorf("%s line %d: %w", r.path, r.n, err) }

// rows yields the lines of segments of dir. One that is too long has errLong, and lines follow. An unfinished last line of a
// segment has errTorn. Any other error ends a packed segment, and of a plain one is the last.
func rows(dir string, numbers []int) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for _, n := range numbers {
			if !rowsOf(dir, n, 0, yield) {
				return
			}
		}
	}
}

// rowsOf yields the lines of a segment from a byte on, and reports whether to go on to the next.
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

// readLine returns the next line, valid until the next call, and its size. With io.EOF it has no end. A line longer than
// maxLine is skipped and errLong.
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
	packedSuffix = ".zst" // after suffix: a complete segment
	newSuffix    = ".new" // after both: one that is being made, and nothing yet
)

// system is the part of a file system that a Writer changes. A test replaces it to fail anywhere.
type system struct {
	create  func(path string) (file, error) // open a file to append
	rename  func(from, to string) error
	remove  func(path string) error
	syncDir func(dir string) error
	keep    func(path string, b []byte) error                        // write a file whole and durable, or not at all
	write   func(path string, content func(w io.Writer) error) error // rewrite a file, which a kill may tear
}

func realSystem() system {
	return system{
		create: create, rename: os.Rename, remove: os.Remove, syncDir: durable.Names,
		keep: func(path string, b []byte) error { return durable.WriteFile(path, b, 0o644) },
		write: func(path string, content func(w io.Writer) error) error {
			f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
			if err != nil {
				return err
			}
			return errors.Join(content(f), f.Close())
		},
	}
}

type file interface {
	io.WriteCloser
	Sync() error
}

func path(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", number, suffix))
}

// segments returns the numbers of the segments in dir, ascending. It ignores other files.
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
		// Other spellings are other files: "+1", "1" and "0000001".
		if ok && err == nil && n >= 0 && path(dir, n) == filepath.Join(dir, name) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

func create(path string) (file, error) {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// cutTail cuts a segment after its last whole line and returns its size before and after.
func cutTail(path string) (size, end int64, err error) {
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

// whole returns the offset after the last whole line of r. A NUL, which JSON never has, ends that: a power loss can leave a
// stretch of them.
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

type packer struct {
	numbers []int         // segments to be packed; guarded by the Writer's mu
	done    chan struct{} // closed when the goroutine has ended; nil without one; guarded by the Writer's mu
	err     error         // of the goroutine; read when done is closed
}

func (w *Writer) pack(number int) {
	p := &w.packer
	p.numbers = append(p.numbers, number)
	if p.done == nil {
		p.done = make(chan struct{})
		go w.packAll(p.done) // Close waits for it
	}
}

func (w *Writer) packAll(done chan struct{}) {
	defer close(done)
	for {
		w.mu.Lock()
		if len(w.packer.numbers) == 0 || w.packer.err != nil {
			w.packer.done = nil
			w.mu.Unlock()
			return
		}
		number := w.packer.numbers[0]
		w.packer.numbers = w.packer.numbers[1:]
		w.mu.Unlock()
		if err := packSegment(w.sys, w.dir, number); err != nil {
			w.mu.Lock()
			w.packer.err = fmt.Errorf("ledger: pack %s (it stays as it is, and the next open packs it): %w",
				path(w.dir, number), err)
			w.mu.Unlock()
		}
	}
}

// packSegment replaces a plain segment by a packed one. The new file gets its name once it is durable, and only then the
// plain one is removed.
func packSegment(sys system, dir string, number int) error {
	plain := path(dir, number)
	packed := plain + packedSuffix
	fresh := packed + newSuffix
	if err := sys.remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := compress(sys, plain, fresh); err != nil {
		return errors.Join(err, sys.remove(fresh))
	}
	if err := sys.rename(fresh, packed); err != nil {
		return errors.Join(err, sys.remove(fresh))
	}
	if err := sys.syncDir(dir); err != nil {
		return err
	}
	if err := sys.remove(plain); err != nil {
		return err
	}
	return sys.syncDir(dir)
}

func compress(sys system, from, to string) (err error) {
	in, err := durable.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := sys.create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := writePacked(out, func(z io.Writer) error {
		_, err := io.Copy(z, in)
		return err
	}); err != nil {
		return err
	}
	return out.Sync()
}

func writePacked(to io.Writer, write func(io.Writer) error) error {
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/4))
	if err != nil {
		return err
	}
	return errors.Join(write(z), z.Close())
}

// Forget replaces the decisions with those indexes, in ascending order, by stubs in the ledger in dir, which has no writer. A
// mark of a redaction must name them (Writer.Redact). Each segment changes as a whole; a second call changes nothing.
func Forget(dir string, entries []int64) error {
	if !slices.IsSorted(entries) {
		return errors.New("ledger: forget: the entries are not in order")
	}
	numbers, err := segments(dir)
	if err != nil {
		return fmt.Errorf("ledger: forget: %w", err)
	}
	for _, n := range numbers {
		if err := forgetIn(dir, n, entries); err != nil {
			return fmt.Errorf("ledger: forget: %w", err)
		}
	}
	return nil
}

func forgetIn(dir string, number int, entries []int64) error {
	plain := path(dir, number)
	packed := plain + packedSuffix
	hit := func(index int64) bool { _, is := slices.BinarySearch(entries, index); return is }
	found := false
	for t, err := range texts(dir, []int{number}) {
		switch {
		case err != nil:
			return err
		case hit(t.Index) && IsMark(t.Line):
			return t.at.failed(fmt.Errorf("entry %d is a mark, and those are not forgotten", t.Index))
		case hit(t.Index):
			found = found || isWhole(t.Line)
		}
	}
	if found {
		if err := writeStubs(dir, number, hit); err != nil {
			return err
		}
	}
	// Interrupted packing also left the lines.
	gone := []string{packed + newSuffix}
	if _, err := os.Lstat(plain); err == nil {
		gone = append(gone, packed)
	}
	for _, name := range gone {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return durable.Names(dir)
}

func writeStubs(dir string, number int, hit func(index int64) bool) error {
	write := func(w io.Writer) error {
		hasher := tree.NewHasher()
		for t, err := range texts(dir, []int{number}) {
			line := t.Line
			if hit(t.Index) {
				line = Stub(HashOf(hasher, line))
			}
			if err == nil {
				_, err = w.Write(append(line[:len(line):len(line)], '\n'))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	name := path(dir, number)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return durable.File(name+packedSuffix, func(to io.Writer) error { return writePacked(to, write) })
	}
	return durable.File(name, write)
}

// ForgetHosts removes names of hosts from the map of the ledger in dir, which has no writer. Keys, counts, digests and
// root stay.
func ForgetHosts(dir string, hosts []string) error {
	gone := map[string]bool{"": false}
	for _, h := range hosts {
		gone[h] = true
	}
	file := filepath.Join(dir, HostsName)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) || len(hosts) == 0 {
		return nil
	}
	err := durable.File(file, func(w io.Writer) error {
		_, _, err := writeHosts(w, func(yield func(hostmap.Entry, error) bool) {
			for e, err := range Hosts(dir) {
				if gone[e.Host] {
					e.Host = ""
				}
				if !yield(e, err) {
					return
				}
			}
		})
		return err
	})
	if err == nil {
		if err = os.Remove(file + newSuffix); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("ledger: forget hosts: %w", err)
	}
	return nil
}
