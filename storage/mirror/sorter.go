package mirror

import (
	"errors"
	"sync"

	"curtsy/storage/sorted"
)

// runSize is how much memory the lines of a list take while they are sorted.
const runSize = 8 << 20

// sorter sorts lines in bounded memory. Lines may be added concurrently.
type sorter struct {
	mu  sync.Mutex
	all *sorted.Sorter
}

// newSorter returns a sorter whose files are in dir.
func newSorter(dir string) *sorter { return &sorter{all: sorted.New(dir, runSize)} }

// add adds a line, which has no newline.
func (s *sorter) add(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Add([]byte(line))
}

// each gives the lines to see, in order, and forgets them.
func (s *sorter) each(see func(line string) error) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	for line, err := range s.all.All() {
		if err == nil {
			err = see(string(line))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// close forgets the lines.
func (s *sorter) close() error { return s.all.Close() }
