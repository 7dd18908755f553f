// Package spool stores bytes for a second reading, in memory or, if they are many, in a temporary file. Bodies that are fetched,
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

// Memory is how many bytes a Spool keeps in memory. What is larger is in the file, all of it: many may wait for their turn.
const Memory = 256 << 10

// batch is how many bytes go to the file at once.
const batch = 32 << 10

// Spool has one writer. It may be read at any time by many; what was written before is there. The zero value makes its
// file in the system's folder for temporary files.
type Spool struct {
	Dir, Pattern string // of the file, as for os.CreateTemp

	mu   sync.Mutex // guards what follows
	size int64
	mem  []byte // all, while there is no file
	file *os.File
	name string // of the file, when it is still to be removed
	late []byte // bytes that follow those in the file
}

// Grow makes room in memory for n bytes.
func (s *Spool) Grow(n int) { s.mem = slices.Grow(s.mem, n) }

// Size is how many bytes were written.
func (s *Spool) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// Write appends p.
func (s *Spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.write(p)
	s.size += int64(n)
	return n, err
}

func (s *Spool) write(p []byte) (int, error) {
	if s.file == nil {
		if len(s.mem)+len(p) <= Memory {
			s.mem = append(s.mem, p...)
			return len(p), nil
		}
		if err := s.spill(); err != nil {
			return 0, err
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

func (s *Spool) spill() error {
	f, err := os.CreateTemp(s.Dir, s.Pattern)
	if err != nil {
		return err
	}
	name := ""
	if os.Remove(f.Name()) != nil { // Windows removes no open file
		name = f.Name()
	}
	if _, err := f.Write(s.mem); err != nil {
		return errors.Join(err, remove(f, name))
	}
	s.file, s.name, s.mem = f, name, nil
	return nil
}

// remove closes a file, and removes it if it has a name still.
func remove(f *os.File, name string) error {
	err := f.Close()
	if name != "" {
		err = errors.Join(err, os.Remove(name))
	}
	return err
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
	file, mem, err := s.all()
	switch {
	case err != nil:
		return 0, err
	case file != nil:
		return file.ReadAt(p, off)
	case off > int64(len(mem)):
		return 0, io.EOF
	}
	n := copy(p, mem[off:])
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// all returns the file with all that was written, or what is in memory if there is none.
func (s *Spool) all() (*os.File, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.late) > 0 {
		if err := s.flush(); err != nil {
			return nil, nil, err
		}
	}
	return s.file, s.mem, nil
}

// Flush brings to the disk what belongs there, so that reading needs no room on it.
func (s *Spool) Flush() error {
	_, _, err := s.all()
	return err
}

// Section reads what was written so far, from its beginning.
func (s *Spool) Section() *io.SectionReader { return io.NewSectionReader(s, 0, s.Size()) }

// WriteTo writes all of it to w.
func (s *Spool) WriteTo(w io.Writer) (int64, error) {
	file, mem, err := s.all()
	if err != nil {
		return 0, err
	}
	if file == nil {
		n, err := w.Write(mem)
		return int64(n), err
	}
	return io.Copy(w, io.NewSectionReader(file, 0, s.Size()))
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
	return remove(f, name)
}

// Close is Reset for good.
func (s *Spool) Close() error {
	err := s.Reset()
	s.mem = nil
	return err
}
