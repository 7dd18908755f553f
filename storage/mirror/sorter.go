package mirror

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"curtsy/frontier/durable"
	"curtsy/storage/cdxj"
)

// runSize is how many octets of lines are sorted in memory.
const runSize = 8 << 20

// sorter sorts lines in bounded memory. Lines may be added concurrently.
type sorter struct {
	stem string // of its files

	mu    sync.Mutex
	lines []string
	size  int
	runs  []string
}

func newSorter(dir, name string) *sorter { return &sorter{stem: filepath.Join(dir, name)} }

// add adds a line, which has no newline.
func (s *sorter) add(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.size = append(s.lines, line), s.size+len(line)+16
	if s.size < runSize {
		return nil
	}
	return s.flush()
}

func (s *sorter) flush() (err error) {
	slices.Sort(s.lines)
	path := fmt.Sprintf("%s-%d", s.stem, len(s.runs))
	f, err := durable.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 64<<10)
	for _, l := range s.lines {
		w.WriteString(l)  //nolint:errcheck // Flush says it
		w.WriteByte('\n') //nolint:errcheck // Flush says it
	}
	s.runs, s.lines, s.size = append(s.runs, path), s.lines[:0], 0
	return w.Flush()
}

// each gives the lines to see, in order, and forgets them.
func (s *sorter) each(see func(line string) error) (err error) {
	if err := s.flush(); err != nil {
		return err
	}
	r, w := io.Pipe()
	merged := make(chan error, 1)
	go func() {
		err := cdxj.Merge(w, s.runs...)
		w.CloseWithError(err)
		merged <- err
	}()
	for in := bufio.NewReaderSize(r, 64<<10); err == nil; {
		var line string
		if line, err = in.ReadString('\n'); err == nil {
			err = see(strings.TrimSuffix(line, "\n"))
		}
	}
	if !errors.Is(err, io.EOF) {
		r.CloseWithError(err) // it is what the merge ends with, too
	}
	if failed := <-merged; failed != nil {
		return failed
	}
	for _, path := range s.runs {
		os.Remove(path)
	}
	s.runs = nil
	return nil
}
