package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"curtsy/storage"
)

// lastSegments is how many segments Last looks into: one may have begun just before a kill.
const lastSegments = 2

// restField is in each line that says a rest. In a text of the web its quotes would be escaped.
var restField = []byte(`,"rest_ms":`)

// status2xxField is in each line of an answer of status 2xx.
var status2xxField = []byte(`,"status":2`)

// Last returns those of the last decisions of the ledger in dir that say a rest of the host (storage.Line.Rest) or are of a
// page (storage.Line.IsPage), in their order: all of the last two segments, which are bounded. A line that cannot be read is
// passed over, for Scan to say; an error of the file system is the last.
func Last(dir string) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		numbers, err := segments(dir)
		if err != nil {
			yield(storage.Line{}, fmt.Errorf("ledger: read: %w", err))
			return
		}
		for _, n := range numbers[max(len(numbers)-lastSegments, 0):] {
			if !lastIn(dir, n, yield) {
				return
			}
		}
	}
}

// lastIn yields the lines of one segment and reports whether to go on to the next.
func lastIn(dir string, number int, yield func(storage.Line, error) bool) bool {
	more := true
	err := eachWith(dir, number, timeField, func(b []byte) bool {
		if !bytes.Contains(b, restField) && !bytes.Contains(b, status2xxField) {
			return true
		}
		l, err := storage.ParseLine(b)
		more = err != nil || l.Rest <= 0 && !l.IsPage() || yield(l, nil)
		return more
	})
	if err != nil {
		yield(storage.Line{}, err)
	}
	return more && err == nil
}

// fileField is in each mark of a file. A decision does not begin so.
var fileField = []byte(`{"mark":"file"`)

// Told returns which files of those names the ledger in dir has marks of. It looks from the last segment back, until it
// has met all.
func Told(dir string, names ...string) (map[string]bool, error) {
	numbers, err := segments(dir)
	if err != nil {
		return nil, fmt.Errorf("ledger: read: %w", err)
	}
	told := map[string]bool{}
	for _, n := range slices.Backward(numbers) {
		err := eachWith(dir, n, fileField, func(b []byte) bool {
			if m, err := parseMark(bytes.TrimSuffix(b, []byte("\n"))); err == nil && slices.Contains(names, m.Name) {
				told[m.Name] = true
			}
			return len(told) < len(names)
		})
		if err != nil || len(told) == len(names) {
			return told, err
		}
	}
	return told, nil
}

// eachWith gives each line of a segment that has a field to f, until that returns false. A line that is not whole is
// passed over.
func eachWith(dir string, number int, field []byte, f func(line []byte) bool) error {
	s, err := openSegment(dir, number)
	if err != nil {
		return fmt.Errorf("ledger: read: %w", err)
	}
	defer s.close()
	r := bufio.NewReaderSize(s, bufferSize)
	var long []byte
	for {
		b, err := readLine(r, &long)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
		case err != nil:
			return fmt.Errorf("ledger: read %s: %w", s.path, err)
		case bytes.Contains(b, field) && !f(b):
			return nil
		}
	}
}
