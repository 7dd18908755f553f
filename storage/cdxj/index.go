package cdxj

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"curtsy/frontier/durable/meter"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

// Index writes the lines of WARC files of any crawler to w, sorted, in memory that does not depend on their number. It
// tells found what is wrong in a file; what cannot be read has no line.
func Index(ctx context.Context, w io.Writer, found func(path string, f warc.Finding), paths ...string) (err error) {
	s := sorted.New("", runSize)
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, path := range paths {
		if err := addLines(ctx, s, path, func(f warc.Finding) { found(path, f) }); err != nil {
			return fmt.Errorf("cdxj: index %s: %w", path, err)
		}
	}
	b := bufio.NewWriterSize(w, 64<<10)
	if err := writeSorted(ctx, b, s); err != nil {
		return fmt.Errorf("cdxj: sort the lines: %w", err)
	}
	return b.Flush()
}

// NoIndex is the code of a finding about a record that has no line: others are those of a warc.Lenient.
const NoIndex = "no-index"

func addLines(ctx context.Context, s *sorted.Sorter, path string, found func(warc.Finding)) error {
	n, err := capturesIn(ctx, path, found, s.Add)
	if err == nil && n == 0 {
		return errors.New("no WARC record in it")
	}
	return err
}

// Captures gives the line of each capture of a WARC file of any crawler to see, in the order of the file and as an index has
// it: a URL that is not UTF-8 is replaced in part. What cannot be read has no line.
func Captures(ctx context.Context, path string, see func(l *Line) error) error {
	_, err := capturesIn(ctx, path, func(warc.Finding) {}, func(line []byte) error {
		l, err := ParseLine(line)
		if err != nil {
			return nil //nolint:nilerr // its date has a year of five digits
		}
		return see(&l)
	})
	return err
}

// capturesIn gives each capture that can have a line to see, with that line. It returns the number of records.
func capturesIn(ctx context.Context, path string, found func(warc.Finding), see func(line []byte) error) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var line []byte
	return scan(ctx, meter.Reader(ctx, f), filepath.Base(path), found, func(c *capture) error {
		if c.Length <= 0 { // several records in a member: no offset names one of them
			found(warc.Finding{Offset: c.Offset, Code: NoIndex, Text: "it shares its gzip member with others, so that an index cannot name it"})
			return nil
		}
		if line = c.append(line[:0]); len(line) > maxLine {
			found(warc.Finding{Offset: c.Offset, Code: NoIndex, Text: fmt.Sprintf("its line would be longer than %d bytes", maxLine)})
			return nil
		}
		return see(line)
	})
}
