package ledger

import (
	"bytes"
	"errors"
	"fmt"
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
		for b, err := range linesWith(dir, timeField, func(all []int) []int { return all[max(len(all)-lastSegments, 0):] }) {
			var l storage.Line
			if err == nil {
				if !bytes.Contains(b, restField) && !bytes.Contains(b, status2xxField) {
					continue
				}
				var bad error
				if l, bad = storage.ParseLine(b); bad != nil || l.Rest <= 0 && !l.IsPage() {
					continue
				}
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// fileField is in each mark of a file. A decision does not begin so.
var fileField = []byte(`{"mark":"file"`)

// Told returns which files of those names the ledger in dir has marks of. It looks from the last segment back, until it
// has met all.
func Told(dir string, names ...string) (map[string]bool, error) {
	told := map[string]bool{}
	for b, err := range linesWith(dir, fileField, func(all []int) []int { slices.Reverse(all); return all }) {
		if err != nil {
			return told, err
		}
		if m, err := ParseMark(b); err == nil && slices.Contains(names, m.Name) {
			told[m.Name] = true
		}
		if len(told) == len(names) {
			break
		}
	}
	return told, nil
}

// linesWith are the lines that have a field, in those segments of the ledger in dir that which chooses, or in all. A line
// that is not whole is passed over, for Scan to say. An error is the last.
func linesWith(dir string, field []byte, which func(numbers []int) []int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		numbers, err := segments(dir)
		if err != nil {
			yield(nil, fmt.Errorf("ledger: read: %w", err))
			return
		}
		if which != nil {
			numbers = which(numbers)
		}
		for r, err := range rows(dir, numbers) {
			switch {
			case errors.Is(err, errTorn), errors.Is(err, errLong):
			case err != nil:
				yield(nil, fmt.Errorf("ledger: read: %w", err))
				return
			case bytes.Contains(r.text, field) && !yield(r.text, nil):
				return
			}
		}
	}
}
