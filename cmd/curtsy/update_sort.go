package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"

	"curtsy/storage/cdxj"
)

// lineSorter sorts lines in files, in bounded memory.
type lineSorter struct {
	dir   string
	lines []string
	size  int
	runs  []string
}

// runSize is how many octets of lines are sorted in memory at once.
const runSize = 16 << 20

func (s *lineSorter) add(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	s.lines = append(s.lines, string(line))
	if s.size += len(line); s.size < runSize {
		return nil
	}
	return s.spill()
}

func (s *lineSorter) spill() error {
	slices.Sort(s.lines)
	f, err := os.CreateTemp(s.dir, "changes-*")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f.Name())
	w := bufio.NewWriter(f)
	for _, l := range s.lines {
		if _, err := w.WriteString(l); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	s.lines, s.size = s.lines[:0], 0
	return errors.Join(w.Flush(), f.Close())
}

// writeTo writes all lines in their order.
func (s *lineSorter) writeTo(w io.Writer) error {
	if err := s.spill(); err != nil {
		return err
	}
	return cdxj.Merge(w, s.runs...)
}

func (s *lineSorter) close() (err error) {
	for _, name := range s.runs {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
