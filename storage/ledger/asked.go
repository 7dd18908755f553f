package ledger

import (
	"bytes"
	"iter"
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
	for line, err := range exchanges(dir, since) {
		if err != nil {
			return a, err
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
	}
	return a, nil
}

// Requests calls f with the lines of the exchanges in the ledger in dir that were made at since or later. It passes
// over what is no whole line, for Scan to say.
func Requests(dir string, since time.Time, f func(storage.Line)) error {
	for line, err := range exchanges(dir, since) {
		if err != nil {
			return err
		}
		if l, err := storage.ParseLine(line); err == nil && l.Record != "" {
			f(l)
		}
	}
	return nil
}

// exchanges are the lines that name a record and are not of a time before since. An error is the last.
func exchanges(dir string, since time.Time) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range linesWith(dir, recordField, nil) {
			if err == nil && !since.IsZero() {
				if at := timeOf(line); !at.IsZero() && at.Before(since) {
					continue
				}
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// timeOf is the time that a line states first; zero for none.
func timeOf(line []byte) time.Time {
	_, rest, _ := bytes.Cut(line, timeField)
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	t, _ := time.Parse(time.RFC3339Nano, string(text))
	return t
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
