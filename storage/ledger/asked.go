package ledger

import (
	"bytes"
	"fmt"
	"time"

	"curtsy/storage"
)

// The fields of a line that Asked reads. In a text of the web their quotes would be escaped.
var (
	timeField   = []byte(`"time":"`)
	recordField = []byte(`,"record":"`)
	statusField = []byte(`,"status":`)
	mediaField  = []byte(`,"type":"`)
	octetsField = []byte(`,"octets":`)
	robotsWord  = []byte(`,"decision":"robots"`)
)

// Asked sums up the exchanges of the ledger in dir that have lines of since or later, all those whose lines name a record. It parses no line as JSON and
// so reads a gigabyte in seconds; what is no whole line is passed over, for Scan to say.
func Asked(dir string, since time.Time) (a storage.Asked, err error) {
	a.Kinds = map[string]int64{}
	numbers, err := segments(dir)
	if err != nil {
		return a, fmt.Errorf("ledger: read: %w", err)
	}
	for _, n := range numbers {
		err := eachWith(dir, n, recordField, func(line []byte) bool {
			if before(line, since) {
				return true
			}
			a.Exchanges++
			a.Octets += numberOf(line, octetsField)
			if status := numberOf(line, statusField); status > 0 {
				a.Answers++
				_, rest, _ := bytes.Cut(line, mediaField)
				mediaType, _, _ := bytes.Cut(rest, []byte{'"'})
				for _, kind := range storage.KindsOfAnswer(int(status), string(mediaType)) {
					a.Kinds[kind]++
				}
			}
			if bytes.Contains(line, robotsWord) {
				a.Robots++
			}
			return true
		})
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// before reports whether a line is of a time before t.
func before(line []byte, t time.Time) bool {
	if t.IsZero() {
		return false
	}
	_, rest, _ := bytes.Cut(line, timeField)
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return err == nil && at.Before(t)
}

// numberOf is the number that a line has in a field; 0 for none.
func numberOf(line, field []byte) (n int64) {
	_, digits, _ := bytes.Cut(line, field)
	for _, d := range digits {
		if d < '0' || d > '9' {
			break
		}
		n = n*10 + int64(d-'0')
	}
	return n
}

// Requests calls f with the lines of the exchanges in the ledger in dir that were made at since or later. It passes
// over what is no whole line, for Scan to say.
func Requests(dir string, since time.Time, f func(storage.Line)) error {
	numbers, err := segments(dir)
	if err != nil {
		return fmt.Errorf("ledger: read: %w", err)
	}
	for _, n := range numbers {
		err := eachWith(dir, n, recordField, func(line []byte) bool {
			if before(line, since) {
				return true
			}
			if l, err := storage.ParseLine(line); err == nil && l.Record != "" {
				f(l)
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}
