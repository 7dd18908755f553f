package config

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// MaxComplaints is how many bad lines of a seed file are shown; the others are counted.
const MaxComplaints = 20

// Bounds of a list of seeds.
const (
	batch   = 10_000   // seeds in hand at a time
	maxLine = 64 << 10 // bytes of a line
	maxTag  = 1 << 10  // bytes of a tag: every URL that descends from the seed carries it
)

// Seeds gives the seeds of the arguments and of a file in batches, each seed once, and reports bad lines.
type Seeds struct {
	given   []frontier.Candidate
	file    *os.File      // to be closed; nil for standard input
	name    string        // of the list; empty without one
	lines   *bufio.Reader // of it; nil behind its end
	verbose bool
	std     cli.Streams

	hash  maphash.Seed
	met   map[uint64]struct{} // keys, hashed: two of a million are mistaken for one with a chance of 3 in 100 million
	Twice int64               // seeds that were given more than once

	line, usable int64         // of the list, so far
	Bad          int64         // lines that are passed over
	list         *os.File      // where bad lines go that are not shown
	out          *bufio.Writer // to it
}

// OpenSeeds opens the seeds of the arguments and of a file, "-" for standard input. A bad argument is an error, a bad
// line of a file is reported and passed over. Seeds there must be.
func OpenSeeds(args []string, file string, verbose bool, std cli.Streams) (*Seeds, error) {
	s := &Seeds{verbose: verbose, std: std, hash: maphash.MakeSeed(), met: map[uint64]struct{}{}}
	for _, a := range args {
		c, err := crawldir.Seed(a, "")
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		s.given = append(s.given, c)
	}
	switch file {
	case "":
	case "-":
		s.name, s.lines = "standard input", bufio.NewReaderSize(std.In, maxLine)
	default:
		f, err := userfile.Open(file)
		if err != nil {
			return nil, cli.Usagef("seeds: %w", err)
		}
		s.name, s.file, s.lines = file, f, bufio.NewReaderSize(f, maxLine)
	}
	if len(args) == 0 && s.lines == nil {
		return nil, cli.Usagef("no seed: give a URL such as https://www.your-domain.org/, or --seeds FILE")
	}
	return s, nil
}

// Next is a crawldir.Seeds. A list without any seed is refused.
func (s *Seeds) Next() ([]frontier.Candidate, error) {
	var next []frontier.Candidate
	take := func(c frontier.Candidate) {
		h := maphash.String(s.hash, c.URL.Key())
		if _, again := s.met[h]; again {
			s.Twice++
			return
		}
		s.met[h] = struct{}{}
		next = append(next, c)
	}
	for _, c := range s.given {
		take(c)
	}
	s.given = nil
	for s.lines != nil && len(next) < batch {
		c, why, err := s.read()
		switch {
		case errors.Is(err, io.EOF):
			if s.lines = nil; s.usable == 0 {
				return nil, cli.Usagef("%s has no usable seed", s.name)
			}
		case err != nil:
			return nil, cli.Usagef("seeds: %w", err)
		case why != "":
			if err := s.complain(why); err != nil {
				return nil, err
			}
		default:
			s.usable++
			take(c)
		}
	}
	if len(next) == 0 {
		return nil, io.EOF
	}
	return next, nil
}

// read returns the next seed of the list, or why its line is passed over; io.EOF after the last line.
func (s *Seeds) read() (c frontier.Candidate, why string, err error) {
	for {
		b, more, err := s.lines.ReadLine()
		if err != nil {
			return c, "", err
		}
		s.line++
		if more {
			for more && err == nil {
				_, more, err = s.lines.ReadLine()
			}
			return c, fmt.Sprintf("line longer than %d bytes, ignored", maxLine), nil
		}
		line := string(b)
		if s.line == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		raw, tag, _ := strings.Cut(line, "\t")
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		if tag = strings.TrimSpace(tag); len(tag) > maxTag {
			return c, fmt.Sprintf("tag longer than %d bytes; line ignored", maxTag), nil
		}
		if c, err = crawldir.Seed(raw, tag); err != nil {
			return c, err.Error() + "; line ignored", nil
		}
		return c, "", nil
	}
}

// complain reports why a line is passed over: of the first ones, and with verbose of all, at once.
func (s *Seeds) complain(why string) (err error) {
	text := plainly.OneLine(fmt.Sprintf("%s:%d: %s", s.name, s.line, why))
	if s.Bad++; s.verbose || s.Bad <= MaxComplaints {
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

// Report says what was passed over, and leaves the whole list in the crawl directory when it was not shown.
func (s *Seeds) Report(dir string) error {
	if s.Twice > 0 {
		fmt.Fprintf(s.std.Err, "%s given more than once, counted once\n", plainly.Count(s.Twice, "seed"))
	}
	switch {
	case s.Bad <= MaxComplaints:
		return nil
	case s.verbose || dir == "":
		fmt.Fprintf(s.std.Err, "%s: %s ignored in total\n", plainly.Lines(s.name), plainly.Count(s.Bad, "line"))
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.list.Seek(0, io.SeekStart); err != nil {
		return err
	}
	path := filepath.Join(dir, crawldir.BadSeedsName)
	err := durable.File(path, func(w io.Writer) error { _, err := io.Copy(w, s.list); return err })
	if err != nil {
		return fmt.Errorf("seeds: %w", err)
	}
	fmt.Fprintf(s.std.Err, "%s: %s ignored in total; %s lists them\n", plainly.Lines(s.name), plainly.Count(s.Bad, "line"), plainly.Lines(path))
	return nil
}

// Close releases the list.
func (s *Seeds) Close() error {
	if s.file != nil {
		s.file.Close()
	}
	if s.list == nil {
		return nil
	}
	s.list.Close()
	return os.Remove(s.list.Name())
}
