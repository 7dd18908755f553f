package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// MaxComplaints is how many bad lines of a seed file are shown; the others are counted.
const MaxComplaints = 20

// Seeds gives the seeds of the arguments and of a file in batches, each seed once, and reports bad lines.
type Seeds struct {
	*crawldir.Source
	file    *os.File // to be closed; nil for standard input
	name    string   // of the list; empty without one
	verbose bool
	std     cli.Streams

	Bad  int64         // lines that are passed over
	list *os.File      // where bad lines go that are not shown
	out  *bufio.Writer // to it
}

// OpenSeeds opens the seeds of the arguments and of a file, "-" for standard input. A bad argument is an error, a bad
// line of a file is reported and passed over. Seeds there must be.
func OpenSeeds(args []string, file string, verbose bool, std cli.Streams) (*Seeds, error) {
	s := &Seeds{verbose: verbose, std: std}
	var given []frontier.Candidate
	for _, a := range args {
		c, err := crawldir.Seed(a, "")
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		given = append(given, c)
	}
	var list io.Reader
	switch file {
	case "":
	case "-":
		s.name, list = "standard input", std.In
	default:
		f, err := userfile.Open(file)
		if err != nil {
			return nil, cli.Usagef("seeds: %w", err)
		}
		s.name, s.file, list = file, f, f
	}
	if len(args) == 0 && list == nil {
		return nil, cli.Usagef("no seed: give a URL such as https://www.your-domain.org/, or --seeds FILE")
	}
	s.Source = crawldir.New(given, s.name, list, s.complain)
	return s, nil
}

// complain reports a bad line: the first ones, and with verbose all of them, at once.
func (s *Seeds) complain(wrong *crawldir.BadLine) (err error) {
	text := plainly.OneLine(fmt.Sprintf("%s:%d: %s", s.name, wrong.Number, wrong.Why))
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
	if s.Twice() > 0 {
		fmt.Fprintf(s.std.Err, "%s given more than once, counted once\n", plainly.Count(s.Twice(), "seed"))
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

// CollectSeeds returns the seeds of the arguments and of a file all at once.
func CollectSeeds(args []string, file string, std cli.Streams) (seeds []frontier.Candidate, err error) {
	from, err := OpenSeeds(args, file, false, std)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	for {
		batch, err := from.Next()
		if errors.Is(err, io.EOF) {
			return seeds, from.Report("")
		}
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, batch...)
	}
}
