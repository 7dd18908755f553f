package sorted

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
)

// Sorter sorts strings. Add may be called concurrently.
type Sorter struct {
	dir   string // for the temporary files; empty means the system's
	limit int    // bytes held in memory

	mu     sync.Mutex // for Add
	held   [][]byte   // in chunks
	size   int
	chunks [][]byte
	at     int // chunk being filled
	runs   []run
	err    error

	named []*os.File // files still to be removed
}

// run is a sorted file. Level 0 was held in memory; level n+1 is merged from fan runs of level n, so each string is
// written once for each level.
type run struct {
	file  *os.File
	level int
}

// Prefix begins the names of temporary files. A kill leaves some where open files cannot be removed, as on Windows.
const Prefix = "curtsy-sorted-"

const (
	fan       = 32       // runs of a level
	runBuffer = 32 << 10 // of each run being read
	perHeld   = 32       // memory of a string beside its bytes
	chunkSize = 256 << 10
)

// New returns a Sorter that holds limit bytes in memory and the rest in files in dir; empty means the system's directory.
func New(dir string, limit int) *Sorter { return &Sorter{dir: dir, limit: limit} }

// Add adds a copy of b.
func (s *Sorter) Add(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.size+len(b)+perHeld > s.limit && len(s.held) > 0 {
		if s.err = s.spill(); s.err != nil {
			return s.err
		}
	}
	s.held = append(s.held, s.keep(b))
	s.size += len(b) + perHeld
	return nil
}

// keep copies b into a chunk, memory for many strings that the next run reuses.
func (s *Sorter) keep(b []byte) []byte {
	for s.at < len(s.chunks) && cap(s.chunks[s.at])-len(s.chunks[s.at]) < len(b) {
		s.at++
	}
	if s.at == len(s.chunks) {
		s.chunks = append(s.chunks, make([]byte, 0, max(min(chunkSize, s.limit), len(b))))
	}
	c := &s.chunks[s.at]
	from := len(*c)
	*c = append(*c, b...)
	return (*c)[from:len(*c):len(*c)]
}

func (s *Sorter) spill() error {
	slices.SortFunc(s.held, bytes.Compare)
	f, err := s.write(func(yield func([]byte, error) bool) {
		for _, b := range s.held {
			if !yield(b, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	s.runs = append(s.runs, run{file: f})
	s.chunks = slices.DeleteFunc(s.chunks, func(c []byte) bool { return cap(c) > chunkSize })
	for i := range s.chunks {
		s.chunks[i] = s.chunks[i][:0]
	}
	clear(s.held)
	s.held, s.size, s.at = s.held[:0], 0, 0
	for {
		n := len(s.runs)
		last := s.runs[n-1].level
		if n < fan || s.runs[n-fan].level != last {
			return nil
		}
		one, err := s.write(merged(s.runs[n-fan:]))
		if err != nil {
			return err
		}
		err = s.remove(n - fan)
		s.runs = append(s.runs, run{file: one, level: last + 1})
		if err != nil {
			return err
		}
	}
}

func (s *Sorter) write(all iter.Seq2[[]byte, error]) (*os.File, error) {
	f, err := os.CreateTemp(s.dir, Prefix+"*")
	if err != nil {
		return nil, fmt.Errorf("sorted: %w", err)
	}
	if os.Remove(f.Name()) != nil { // Windows does not remove open files
		s.named = append(s.named, f)
	}
	w := bufio.NewWriterSize(f, runBuffer)
	err = func() error {
		for b, err := range all {
			if err != nil {
				return err
			}
			if _, err := w.Write(binary.AppendUvarint(w.AvailableBuffer(), uint64(len(b)))); err != nil {
				return err
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return w.Flush()
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sorted: %w", err), f.Close(), s.unlink(f))
	}
	return f, nil
}

// All returns the strings in order, each valid until the next. An error is the last.
func (s *Sorter) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if s.err == nil && len(s.runs) > 0 && len(s.held) > 0 {
			s.err = s.spill()
			s.held, s.chunks = nil, nil
		}
		switch {
		case s.err != nil:
			yield(nil, s.err)
			return
		case len(s.runs) > 0:
			merged(s.runs)(yield)
			return
		}
		slices.SortFunc(s.held, bytes.Compare)
		for _, b := range s.held {
			if !yield(b, nil) {
				return
			}
		}
	}
}

type reader struct {
	in   *bufio.Reader
	head []byte // in the buffer of in, or in long
	used int    // bytes of the buffer that next drops
	long []byte
}

// next reads the run's next string, or io.EOF at the end.
func (r *reader) next() error {
	if _, err := r.in.Discard(r.used); err != nil {
		return err
	}
	r.used = 0
	length, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	if n := int(length); n <= runBuffer {
		r.used = n
		if r.head, err = r.in.Peek(n); errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	r.long = slices.Grow(r.long[:0], int(length))[:length]
	r.head = r.long
	_, err = io.ReadFull(r.in, r.long)
	return err
}

func merged(runs []run) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var open readers
		for _, each := range runs {
			if _, err := each.file.Seek(0, io.SeekStart); err != nil {
				yield(nil, fmt.Errorf("sorted: %w", err))
				return
			}
			r := &reader{in: bufio.NewReaderSize(each.file, runBuffer)}
			if err := r.next(); err == nil {
				open = append(open, r)
			} else if !errors.Is(err, io.EOF) {
				yield(nil, fmt.Errorf("sorted: %w", err))
				return
			}
		}
		for i := len(open)/2 - 1; i >= 0; i-- {
			open.sink(i)
		}
		for len(open) > 0 {
			if !yield(open[0].head, nil) {
				return
			}
			if err := open[0].next(); errors.Is(err, io.EOF) {
				open[0] = open[len(open)-1]
				open = open[:len(open)-1]
			} else if err != nil {
				yield(nil, fmt.Errorf("sorted: %w", err))
				return
			}
			open.sink(0)
		}
	}
}

// readers is a heap ordered by the runs' next strings.
type readers []*reader

func (h readers) sink(i int) {
	for {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(h) && bytes.Compare(h[child].head, h[least].head) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// remove removes the runs from index from on.
func (s *Sorter) remove(from int) error {
	var errs []error
	for _, r := range s.runs[from:] {
		errs = append(errs, r.file.Close(), s.unlink(r.file))
	}
	s.runs = s.runs[:from]
	return errors.Join(errs...)
}

func (s *Sorter) unlink(f *os.File) error {
	i := slices.Index(s.named, f)
	if i < 0 {
		return nil
	}
	s.named = slices.Delete(s.named, i, i+1)
	return os.Remove(f.Name())
}

// Close releases memory and files.
func (s *Sorter) Close() error {
	s.held, s.chunks = nil, nil
	return s.remove(0)
}

// Rows sorts values, encoded as JSON, by keys without zero bytes. Values of one key keep their order.
type Rows[T any] struct {
	*Sorter
	n   uint64
	buf []byte
}

// Row is a value with its key.
type Row[T any] struct {
	Key   string
	Value T
}

// keySize is the separator of key and value: a zero byte and the row's number.
const keySize = 1 + 8

// NewRows returns Rows with limit and dir as in New.
func NewRows[T any](dir string, limit int) *Rows[T] { return &Rows[T]{Sorter: New(dir, limit)} }

// Add adds a value. A key with a zero byte is an error.
func (r *Rows[T]) Add(key string, v T) error {
	if strings.IndexByte(key, 0) >= 0 {
		return fmt.Errorf("sorted: key %.200q contains a zero byte", key)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("sorted: %w", err)
	}
	r.buf = append(append(r.buf[:0], key...), 0)
	r.buf = binary.BigEndian.AppendUint64(r.buf, r.n)
	r.n++
	return r.Sorter.Add(append(r.buf, b...))
}

// All returns the values in order. An error is the last.
func (r *Rows[T]) All() iter.Seq2[Row[T], error] {
	return func(yield func(Row[T], error) bool) {
		for b, err := range r.Sorter.All() {
			var row Row[T]
			if err == nil {
				end := bytes.IndexByte(b, 0)
				row.Key = string(b[:end])
				err = json.Unmarshal(b[end+keySize:], &row.Value)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}
