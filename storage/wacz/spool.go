package wacz

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool gathers what is not small in a temporary file.
type spool struct {
	file *os.File
	buf  *bufio.Writer
	size int64
	name string // while it has one: where it can, a file has none from the start, so that a kill leaves nothing
}

func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, "wacz.*.spool")
	if err != nil {
		return nil, fmt.Errorf("wacz: gather: %w", err)
	}
	s := &spool{file: f, buf: bufio.NewWriter(f)}
	if os.Remove(f.Name()) != nil { // Windows removes no open file
		s.name = f.Name()
	}
	return s, nil
}

func (s *spool) Write(p []byte) (int, error) {
	n, err := s.buf.Write(p)
	s.size += int64(n)
	return n, err
}

// reader returns what was written, from its beginning.
func (s *spool) reader() (io.Reader, error) {
	if err := s.buf.Flush(); err != nil {
		return nil, fmt.Errorf("wacz: gather: %w", err)
	}
	return io.NewSectionReader(s.file, 0, s.size), nil
}

// close removes the file. A nil spool is none.
func (s *spool) close() error {
	if s == nil {
		return nil
	}
	err := s.file.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	return err
}
