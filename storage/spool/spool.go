// Package spool stores bytes for a second reading, in memory and then in a temporary file. Bodies that are fetched,
// records that are compressed and lists of any length pass through a Spool, so that what they take of memory does not
// depend on their size.
//
// The file is unlinked as soon as it is open, where the system can do that, so that a kill leaves nothing behind.
// Nothing in it is durable. Errors are those of package os, which name the file.
package spool

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
)

// Memory is how many bytes a Spool keeps in memory.
const Memory = 256 << 10

// batch is how many bytes go to the file at once.
const batch = 32 << 10

// Spool has one writer. It may be read at any time by many; what was written before is there. The zero value makes its
// file in the system's folder for temporary files.
type Spool struct {
	Dir, Pattern string // of the file, as for os.CreateTemp

	mem  []byte
	size int64

	mu   sync.Mutex // guards what follows
	file *os.File
	name string // of the file, when it is still to be removed
	late []byte // bytes that follow those in the file
}

// Grow makes room in memory for n bytes.
func (s *Spool) Grow(n int) { s.mem = slices.Grow(s.mem, n) }

// Size is how many bytes were written.
func (s *Spool) Size() int64 { return s.size }

// Write appends p.
func (s *Spool) Write(p []byte) (int, error) {
	n := min(len(p), Memory-len(s.mem))
	s.mem = append(s.mem, p[:n]...)
	s.size += int64(n)
	if n == len(p) {
		return n, nil
	}
	m, err := s.spill(p[n:])
	s.size += int64(m)
	return n + m, err
}

// spill appends to what goes to the file.
func (s *Spool) spill(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		f, err := os.CreateTemp(s.Dir, s.Pattern)
		if err != nil {
			return 0, err
		}
		s.file = f
		if os.Remove(f.Name()) != nil { // Windows removes no open file
			s.name = f.Name()
		}
	}
	if len(s.late)+len(p) <= batch {
		s.late = append(slices.Grow(s.late, batch-len(s.late)), p...)
		return len(p), nil
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	return s.file.Write(p)
}

// flush writes what is late; called with mu held.
func (s *Spool) flush() error {
	n, err := s.file.Write(s.late)
	s.late = s.late[:copy(s.late, s.late[n:])]
	return err
}

// ReadAt is that of io.ReaderAt.
func (s *Spool) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("spool: read at a negative offset")
	}
	n := 0
	if off < int64(len(s.mem)) {
		n = copy(p, s.mem[off:])
	}
	if n == len(p) {
		return n, nil
	}
	file, err := s.rest()
	if err != nil {
		return n, err
	}
	if file == nil {
		return n, io.EOF
	}
	m, err := file.ReadAt(p[n:], off+int64(n)-int64(len(s.mem)))
	return n + m, err
}

// rest returns the file with all that belongs there; nil when there is none.
func (s *Spool) rest() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.late) > 0 {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	return s.file, nil
}

// Flush brings to the disk what belongs there, so that reading needs no room on it.
func (s *Spool) Flush() error {
	_, err := s.rest()
	return err
}

// Section reads what was written so far, from its beginning.
func (s *Spool) Section() *io.SectionReader { return io.NewSectionReader(s, 0, s.size) }

// WriteTo writes all of it to w.
func (s *Spool) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.mem)
	if err != nil || int64(n) == s.size {
		return int64(n), err
	}
	if _, err := s.rest(); err != nil {
		return int64(n), err
	}
	m, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.size-int64(n)))
	return int64(n) + m, err
}

// Reset empties the Spool, which can be written anew, and removes its file. It keeps its memory.
func (s *Spool) Reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, name := s.file, s.name
	s.mem, s.size, s.file, s.name, s.late = s.mem[:0], 0, nil, "", nil
	if f == nil {
		return nil
	}
	err := f.Close()
	if name != "" {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// Close is Reset for good.
func (s *Spool) Close() error {
	err := s.Reset()
	s.mem = nil
	return err
}
