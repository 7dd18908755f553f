package crawldir

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"curtsy/frontier"
)

// batch is how many seeds are in hand at a time.
const batch = 10_000

// Source gives seeds in batches, each seed once. Its method Next is a crawldir.Seeds.
type Source struct {
	given []frontier.Candidate
	lines *lines
	name  string
	bad   func(*BadLine) error

	hash maphash.Seed
	met  map[uint64]struct{} // keys, hashed: two of a million are mistaken for one with a chance of 3 in 100 million

	usable, twice int64
}

// New gives the seeds that were given, then those of a list, which may be nil. bad is told the lines that are passed over,
// and may break off; nil passes over in silence.
func New(given []frontier.Candidate, name string, list io.Reader, bad func(*BadLine) error) *Source {
	s := &Source{given: given, name: name, bad: bad, hash: maphash.MakeSeed(), met: map[uint64]struct{}{}}
	if list != nil {
		s.lines = newLines(list)
	}
	return s
}

// Next returns the next seeds, or io.EOF after the last. A list without any is a crawldir.Misuse.
func (s *Source) Next() ([]frontier.Candidate, error) {
	var next []frontier.Candidate
	for _, c := range s.given {
		next = s.take(next, c)
	}
	s.given = nil
	for s.lines != nil && len(next) < batch {
		c, err := s.lines.next()
		var wrong *BadLine
		switch {
		case err == nil:
			s.usable++
			next = s.take(next, c)
		case errors.As(err, &wrong):
			if s.bad == nil {
				continue
			}
			if err := s.bad(wrong); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF):
			if s.lines = nil; s.usable == 0 {
				return nil, &Misuse{Err: fmt.Errorf("%s has no usable seed", s.name)}
			}
		default:
			return nil, &Misuse{Err: fmt.Errorf("seeds: %w", err)}
		}
	}
	if len(next) == 0 {
		return nil, io.EOF
	}
	return next, nil
}

// take adds a seed unless it was given before.
func (s *Source) take(to []frontier.Candidate, c frontier.Candidate) []frontier.Candidate {
	h := maphash.String(s.hash, c.URL.Key())
	if _, again := s.met[h]; again {
		s.twice++
		return to
	}
	s.met[h] = struct{}{}
	return append(to, c)
}

// Twice is how many seeds so far were given more than once.
func (s *Source) Twice() int64 { return s.twice }
