package cdxj

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"curtsy/frontier/durable"
)

// runSize is how many octets of lines are sorted in memory at once.
const runSize = 8 << 20

// sorter sorts lines as octets, in memory that does not depend on their number: it writes sorted runs to temporary
// files in dir and merges them. It must be closed.
type sorter struct {
	dir  string
	size int // of a run
	text []byte
	ends []int    // of the lines in text
	runs []string // paths
}

func newSorter(dir string, size int) *sorter { return &sorter{dir: dir, size: size} }

// add adds a line, which ends in a newline.
func (s *sorter) add(line []byte) error {
	if len(s.text)+len(line) > s.size && len(s.text) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.text = append(s.text, line...)
	s.ends = append(s.ends, len(s.text))
	return nil
}

// sorted returns the lines in memory in their order.
func (s *sorter) sorted() [][]byte {
	all := make([][]byte, 0, len(s.ends))
	from := 0
	for _, end := range s.ends {
		all = append(all, s.text[from:end])
		from = end
	}
	slices.SortFunc(all, bytes.Compare)
	return all
}

func (s *sorter) spill() (err error) {
	f, err := os.CreateTemp(s.dir, tempPattern)
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f.Name())
	w := bufio.NewWriterSize(f, 64<<10)
	for _, line := range s.sorted() {
		if _, err := w.Write(line); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	s.text, s.ends = s.text[:0], s.ends[:0]
	return errors.Join(w.Flush(), f.Close())
}

// writeTo writes all lines in their order.
func (s *sorter) writeTo(ctx context.Context, w io.Writer) error {
	if len(s.runs) == 0 {
		for _, line := range s.sorted() {
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if err := s.spill(); err != nil {
		return err
	}
	return merge(ctx, w, s.dir, s.runs)
}

func (s *sorter) close() error {
	var errs []error
	for _, run := range s.runs {
		errs = append(errs, os.Remove(run))
	}
	return errors.Join(errs...)
}

// sortFile writes the lines of the file from to the file to, sorted. A last line without its newline is what a kill
// tore, and is left out.
func sortFile(ctx context.Context, from, to, dir string) (err error) {
	f, err := durable.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	s := newSorter(dir, runSize)
	defer func() { err = errors.Join(err, s.close()) }()
	for in := newLines(f); ; {
		line, _, whole, err := in.next()
		if errors.Is(err, io.EOF) || err == nil && !whole {
			break
		}
		if err == nil {
			err = s.add(line)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	return writeWhole(to, func(w *bufio.Writer) error { return s.writeTo(ctx, w) })
}
