package sorted

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// Sorter holds what is to be put in order.
type Sorter struct {
	dir   string // for the temporary files; empty means the system's
	limit int    // octets held in memory

	held [][]byte
	size int
	runs []*os.File
	err  error

	named []*os.File // files that have a name still
}

// maxRuns is how many runs are merged at once; more become one first. Each costs a buffer of runBuffer octets.
const (
	maxRuns   = 64
	runBuffer = 32 << 10
	perHeld   = 32 // what a string costs beside its octets
)

// New returns a Sorter that holds so many octets in memory, and the rest in files in dir; empty means the system's folder
// for such files.
func New(dir string, limit int) *Sorter { return &Sorter{dir: dir, limit: limit} }

// Add takes a string; it keeps a copy.
func (s *Sorter) Add(b []byte) error {
	if s.err != nil {
		return s.err
	}
	if s.size+len(b)+perHeld > s.limit && len(s.held) > 0 {
		if s.err = s.spill(); s.err != nil {
			return s.err
		}
	}
	s.held = append(s.held, slices.Clone(b))
	s.size += len(b) + perHeld
	return nil
}

// spill writes what is held to a run of its own.
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
	s.runs = append(s.runs, f)
	s.held, s.size = s.held[:0], 0
	if len(s.runs) < maxRuns {
		return nil
	}
	one, err := s.write(s.merged(s.runs))
	if err != nil {
		return err
	}
	err = s.remove()
	s.runs = append(s.runs, one)
	return err
}

func (s *Sorter) write(all iter.Seq2[[]byte, error]) (*os.File, error) {
	f, err := os.CreateTemp(s.dir, "curtsy-sorted-*")
	if err != nil {
		return nil, fmt.Errorf("sorted: %w", err)
	}
	if os.Remove(f.Name()) != nil { // Windows removes no open file; elsewhere a kill leaves nothing behind
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

// All returns all strings in order, each valid until the next. An error is the last.
func (s *Sorter) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if s.err != nil {
			yield(nil, s.err)
			return
		}
		if len(s.runs) > 0 {
			if len(s.held) > 0 {
				s.err = s.spill()
			}
			if s.err != nil {
				yield(nil, s.err)
				return
			}
			s.merged(s.runs)(yield)
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

// run is a sorted file while it is read.
type run struct {
	in   *bufio.Reader
	head []byte
}

// next reads the run's next string. At the end it is io.EOF.
func (r *run) next() error {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	r.head = slices.Grow(r.head[:0], int(n))[:n]
	_, err = io.ReadFull(r.in, r.head)
	return err
}

// merged returns the strings of all files in order. With so few of them a look at every head is quick enough.
func (s *Sorter) merged(files []*os.File) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var open []*run
		for _, f := range files {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				yield(nil, fmt.Errorf("sorted: %w", err))
				return
			}
			r := &run{in: bufio.NewReaderSize(f, runBuffer)}
			if err := r.next(); err == nil {
				open = append(open, r)
			} else if !errors.Is(err, io.EOF) {
				yield(nil, fmt.Errorf("sorted: %w", err))
				return
			}
		}
		for len(open) > 0 {
			least := 0
			for i, r := range open {
				if bytes.Compare(r.head, open[least].head) < 0 {
					least = i
				}
			}
			if !yield(open[least].head, nil) {
				return
			}
			if err := open[least].next(); errors.Is(err, io.EOF) {
				open = slices.Delete(open, least, least+1)
			} else if err != nil {
				yield(nil, fmt.Errorf("sorted: %w", err))
				return
			}
		}
	}
}

// remove takes the runs off the disk.
func (s *Sorter) remove() error {
	var errs []error
	for _, f := range s.runs {
		errs = append(errs, f.Close(), s.unlink(f))
	}
	s.runs = nil
	return errors.Join(errs...)
}

// unlink removes a file that still has its name.
func (s *Sorter) unlink(f *os.File) error {
	i := slices.Index(s.named, f)
	if i < 0 {
		return nil
	}
	s.named = slices.Delete(s.named, i, i+1)
	return os.Remove(f.Name())
}

// Close frees memory and disk.
func (s *Sorter) Close() error {
	s.held = nil
	return s.remove()
}
