package warc

import (
	"fmt"
	"io"
	"os"
)

// spoolMemory is how many octets a spool keeps in memory.
const spoolMemory = 256 << 10

// spool holds finished members until they are appended: up to spoolMemory octets in memory, all before those in a
// temporary file. A spool is reused.
type spool struct {
	dir, pattern string // of the temporary file
	file         *os.File
	mem          []byte // what follows the file's octets
	size         int64
}

func (s *spool) Write(p []byte) (int, error) {
	if len(s.mem)+len(p) > spoolMemory {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	s.mem = append(s.mem, p...)
	s.size += int64(len(p))
	return len(p), nil
}

func (s *spool) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, s.pattern)
		if err != nil {
			return fmt.Errorf("warc: create spool: %w", err)
		}
		s.file = f
	}
	if _, err := s.file.Write(s.mem); err != nil {
		return fmt.Errorf("warc: write spool: %w", err)
	}
	s.mem = s.mem[:0]
	return nil
}

// copyTo writes what the spool holds to w.
func (s *spool) copyTo(w io.Writer) error {
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read spool: %w", err)
		}
		if _, err := io.Copy(w, s.file); err != nil {
			return err
		}
	}
	_, err := w.Write(s.mem)
	return err
}

// reset empties the spool and removes its file.
func (s *spool) reset() error {
	f := s.file
	s.file, s.mem, s.size = nil, s.mem[:0], 0
	if f == nil {
		return nil
	}
	f.Close() // only read from here on, so nothing can be lost
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("warc: remove spool: %w", err)
	}
	return nil
}
