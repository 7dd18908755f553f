// Package spool stores bytes for a second reading, in memory or, if they are many, in a temporary file, so that bodies,
// records and lists of any size take bounded memory.
//
// Where the system allows, the file is unlinked once open, so that a kill leaves nothing. Nothing in it is durable.
// Errors are those of package os, which name the file.
package spool

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
)

// Memory is the number of bytes that a Spool keeps in memory; a larger one is only in the file, since many may exist at
// once.
const Memory = 256 << 10

// batch is the size of writes to the file.
const batch = 32 << 10

// Spool has one writer and any number of concurrent readers, which see all earlier writes. The zero value is ready.
type Spool struct {
	Dir, Pattern string // as for os.CreateTemp

	mu   sync.Mutex // guards the fields below
	size int64
	mem  []byte // all bytes, if it has no file
	file *os.File
	name string // of the file, if it has to be removed
	late []byte // bytes after those in the file
}

// Grow reserves memory for n bytes.
func (s *Spool) Grow(n int) { s.mem = slices.Grow(s.mem, n) }

// Size returns the number of bytes written.
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

func remove(f *os.File, name string) error {
	err := f.Close()
	if name != "" {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// flush writes late. The caller holds mu.
func (s *Spool) flush() error {
	n, err := s.file.Write(s.late)
	s.late = s.late[:copy(s.late, s.late[n:])]
	return err
}

// ReadAt implements io.ReaderAt.
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

// all returns the complete file, or without one the bytes in memory.
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

// Flush writes pending bytes to the file, so that reading needs no disk space.
func (s *Spool) Flush() error {
	_, _, err := s.all()
	return err
}

// Section returns a reader of the bytes written so far.
func (s *Spool) Section() *io.SectionReader { return io.NewSectionReader(s, 0, s.Size()) }

// WriteTo writes all bytes to w.
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

// Reset empties the Spool for reuse and removes its file. It keeps its memory.
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

// Close is Reset, and releases the memory.
func (s *Spool) Close() error {
	err := s.Reset()
	s.mem = nil
	return err
}
