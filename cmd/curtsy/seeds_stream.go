package main

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/durable"
)

// seedBatch is how many seeds are in hand at a time: a list may have millions.
const seedBatch = 10_000

// badSeedsName is the file in the crawl directory that lists the bad lines of a seed list that are too many to show.
const badSeedsName = "bad-seeds.txt"

// seedSource gives the seeds of the arguments and of a file in batches, each seed once.
type seedSource struct {
	args    []frontier.Candidate
	file    *os.File // to be closed; nil for standard input
	lines   *seedLines
	name    string // of the list; empty without one
	verbose bool
	std     stdio

	hash maphash.Seed
	met  map[uint64]struct{} // keys, hashed: two of a million are mistaken for one with a chance of 3 in 100 million

	usable int64 // of the list
	bad    int64 // its lines that are passed over
	twice  int64
	list   *os.File      // where bad lines go that are not shown
	out    *bufio.Writer // to it
}

// openSeeds opens the seeds of the arguments and of a file, "-" for standard input. A bad argument is an error, a bad
// line of a file is reported and passed over. Seeds there must be.
func openSeeds(args []string, file string, verbose bool, std stdio) (*seedSource, error) {
	s := &seedSource{verbose: verbose, std: std, hash: maphash.MakeSeed(), met: map[uint64]struct{}{}}
	for _, a := range args {
		c, err := crawldir.Seed(a, "")
		if err != nil {
			return nil, usagef("%w", err)
		}
		s.args = append(s.args, c)
	}
	switch file {
	case "":
	case "-":
		s.name, s.lines = "standard input", newSeedLines(std.In)
	default:
		f, err := userfile.Open(file)
		if err != nil {
			return nil, usagef("seeds: %w", err)
		}
		s.name, s.file, s.lines = file, f, newSeedLines(f)
	}
	if len(args) == 0 && s.lines == nil {
		return nil, usagef("no seed: give a URL, as in curtsy crawl https://example.com/, or --seeds FILE")
	}
	return s, nil
}

// next returns the next seeds, or io.EOF after the last.
func (s *seedSource) next() ([]frontier.Candidate, error) {
	var batch []frontier.Candidate
	for _, c := range s.args {
		batch = s.take(batch, c)
	}
	s.args = nil
	for s.lines != nil && len(batch) < seedBatch {
		c, err := s.lines.next()
		var wrong *badLine
		switch {
		case err == nil:
			s.usable++
			batch = s.take(batch, c)
		case errors.As(err, &wrong):
			if err := s.complain(wrong); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF):
			if s.lines = nil; s.usable == 0 {
				return nil, usagef("%s has no usable seed", s.name)
			}
		default:
			return nil, usagef("seeds: %w", err)
		}
	}
	if len(batch) == 0 {
		return nil, io.EOF
	}
	return batch, nil
}

// take adds a seed unless it was given before.
func (s *seedSource) take(batch []frontier.Candidate, c frontier.Candidate) []frontier.Candidate {
	h := maphash.String(s.hash, c.URL.Key())
	if _, again := s.met[h]; again {
		s.twice++
		return batch
	}
	s.met[h] = struct{}{}
	return append(batch, c)
}

// complain reports a bad line: the first ones, and with verbose all of them, at once.
func (s *seedSource) complain(wrong *badLine) (err error) {
	text := oneLine(fmt.Sprintf("%s:%d: %s", s.name, wrong.n, wrong.why))
	if s.bad++; s.verbose || s.bad <= maxComplaints {
		fmt.Fprintln(s.std.Err, text)
	}
	if s.verbose {
		return nil
	}
	if s.list == nil {
		if s.list, err = os.CreateTemp("", "curtsy-bad-seeds-"); err != nil {
			return err
		}
		s.out = bufio.NewWriter(s.list)
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}

// report says what was passed over, and leaves the whole list in the crawl directory when it was not shown.
func (s *seedSource) report(dir string) error {
	if s.twice > 0 {
		fmt.Fprintf(s.std.Err, "%s given more than once, counted once\n", several(s.twice, "seed"))
	}
	switch {
	case s.bad <= maxComplaints:
		return nil
	case s.verbose || dir == "":
		fmt.Fprintf(s.std.Err, "%s: %s passed over in all\n", plain(s.name), several(s.bad, "line"))
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.list.Seek(0, io.SeekStart); err != nil {
		return err
	}
	path := inDir(dir, badSeedsName)
	err := durable.File(path, func(w io.Writer) error { _, err := io.Copy(w, s.list); return err })
	if err != nil {
		return fmt.Errorf("seeds: %w", err)
	}
	fmt.Fprintf(s.std.Err, "%s: %s passed over in all; %s lists them\n", plain(s.name), several(s.bad, "line"), plain(path))
	return nil
}

// close releases the list.
func (s *seedSource) close() error {
	if s.file != nil {
		s.file.Close()
	}
	if s.list == nil {
		return nil
	}
	s.list.Close()
	return os.Remove(s.list.Name())
}
