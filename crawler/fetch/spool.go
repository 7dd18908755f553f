package fetch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// spoolMemory is how many octets a spool keeps in memory; spoolFirst how many it has room for at first.
const (
	spoolMemory = 256 << 10
	spoolFirst  = 8 << 10
)

// spool keeps octets to be read again: the first spoolMemory of them in memory, the rest in a temporary file. It has
// one user at a time.
type spool struct {
	pool *sync.Pool
	dir  string

	mem    *[]byte // never nil until closed
	file   *os.File
	name   string // of the file, when it is still to be removed
	size   int64
	closed bool
}

func (f *Fetcher) newSpool() *spool {
	return &spool{pool: &f.memory, dir: f.c.SpoolDir, mem: f.memory.Get().(*[]byte)}
}

// spoolError is a failure of our own disk.
type spoolError struct{ err error }

func (e *spoolError) Error() string { return e.err.Error() }
func (e *spoolError) Unwrap() error { return e.err }

// Write appends p. Its error is a *spoolError.
func (s *spool) Write(p []byte) (int, error) {
	n := min(len(p), spoolMemory-len(*s.mem))
	*s.mem = append(*s.mem, p[:n]...)
	s.size += int64(n)
	if n == len(p) {
		return n, nil
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return n, err
		}
	}
	m, err := s.file.Write(p[n:])
	s.size += int64(m)
	if err != nil {
		return n + m, &spoolError{fmt.Errorf("spool a body in %s: %w", s.dir, err)}
	}
	return n + m, nil
}

// spill opens the file. It is unlinked at once where the system can do that to an open file, so that nothing stays
// behind when the process is killed.
func (s *spool) spill() error {
	file, err := os.CreateTemp(s.dir, "curtsy-body-*")
	if err != nil {
		return &spoolError{fmt.Errorf("spool a body: %w", err)}
	}
	s.file = file
	if os.Remove(file.Name()) != nil {
		s.name = file.Name()
	}
	return nil
}

// ReadAt is that of io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if s.closed {
		return 0, os.ErrClosed
	}
	n := 0
	if off < int64(len(*s.mem)) {
		n = copy(p, (*s.mem)[off:])
	}
	if n == len(p) {
		return n, nil
	}
	if s.file == nil {
		return n, io.EOF
	}
	m, err := s.file.ReadAt(p[n:], off+int64(n)-int64(len(*s.mem)))
	return n + m, err
}

// close gives the memory back and removes the file. A nil spool has nothing to close.
func (s *spool) close() error {
	if s == nil || s.closed {
		return nil
	}
	s.closed = true
	*s.mem = (*s.mem)[:0]
	s.pool.Put(s.mem)
	s.mem = nil
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	if err != nil {
		return fmt.Errorf("fetch: remove a spooled body: %w", err)
	}
	return nil
}
