package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"curtsy/storage"
)

// Read returns the lines of the ledger in dir, in their order, in memory that does not depend on their number. A
// line that cannot be read is an error that names its place, and the lines behind it follow; an error of the file
// system is the last. A line that is still being written, at the end of the last segment, is passed over.
func Read(dir string) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		numbers, err := segments(dir)
		if err != nil {
			yield(storage.Line{}, fmt.Errorf("ledger: read: %w", err))
			return
		}
		for i, n := range numbers {
			if !readSegment(path(dir, n), i == len(numbers)-1, yield) {
				return
			}
		}
	}
}

// readSegment yields the lines of one segment and reports whether to go on to the next.
func readSegment(path string, last bool, yield func(storage.Line, error) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		yield(storage.Line{}, fmt.Errorf("ledger: read: %w", err))
		return false
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, bufferSize)
	var long []byte
	for n := 1; ; n++ {
		b, err := readLine(r, &long)
		switch {
		case errors.Is(err, io.EOF) && (last || len(b) == 0):
			return true
		case errors.Is(err, io.EOF):
			return yield(storage.Line{}, fmt.Errorf("ledger: read %s line %d: %w", path, n, io.ErrUnexpectedEOF))
		case err != nil && !errors.Is(err, errLong):
			yield(storage.Line{}, fmt.Errorf("ledger: read %s line %d: %w", path, n, err))
			return false
		}
		var l storage.Line
		if err == nil {
			l, err = parse(b)
		}
		if err != nil {
			l, err = storage.Line{}, fmt.Errorf("ledger: read %s line %d: %w", path, n, err)
		}
		if !yield(l, err) {
			return false
		}
	}
}

var errLong = fmt.Errorf("longer than %d octets", maxLine)

// readLine returns the next line, valid until the next call. What it returns with io.EOF has no end. A line that is
// longer than maxLine is passed over and is errLong.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	b, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return b, err
	}
	*long = append((*long)[:0], b...)
	size := len(b)
	for errors.Is(err, bufio.ErrBufferFull) {
		b, err = r.ReadSlice('\n')
		if size += len(b); size <= maxLine {
			*long = append(*long, b...)
		}
	}
	if err == nil && size > maxLine {
		return nil, errLong
	}
	return *long, err
}

// line is the schema as it is read.
type line struct {
	Time         time.Time   `json:"time"`
	URL          string      `json:"url"`
	Seed         string      `json:"seed"`
	Tag          string      `json:"tag"`
	Decision     string      `json:"decision"`
	Reason       string      `json:"reason"`
	RobotsLine   int         `json:"line"`
	RobotsRule   string      `json:"rule"`
	RobotsSHA256 string      `json:"robots_sha256"`
	Standard     string      `json:"standard"`
	Pace         json.Number `json:"pace_ms"`
	PaceBy       string      `json:"pace_by"`
	Gap          json.Number `json:"gap_ms"`
	Attempt      int         `json:"attempt"`
	Outcome      string      `json:"outcome"`
	Status       int         `json:"status"`
	Record       string      `json:"record"`
	List         string      `json:"list_sha256"`
	Directives   string      `json:"directives"`
	Asked        []string    `json:"asked"`
	Prefs        []string    `json:"prefs"`
}

// parse reads one line.
func parse(b []byte) (storage.Line, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return storage.Line{}, err
	}
	pace, err := duration(l.Pace)
	if err != nil {
		return storage.Line{}, fmt.Errorf("pace_ms: %w", err)
	}
	gap, err := duration(l.Gap)
	if err != nil {
		return storage.Line{}, fmt.Errorf("gap_ms: %w", err)
	}
	return storage.Line{
		Time: l.Time, URL: l.URL, Seed: l.Seed, Tag: l.Tag, Decision: l.Decision, Reason: l.Reason,
		RobotsLine: l.RobotsLine, RobotsRule: l.RobotsRule, RobotsSHA256: l.RobotsSHA256, Standard: l.Standard,
		Pace: pace, PaceBy: l.PaceBy, Gap: gap,
		Attempt: l.Attempt, Outcome: l.Outcome, Status: l.Status, Record: l.Record,
		List: l.List, Directives: l.Directives, Asked: strings.Join(l.Asked, "\n"), Prefs: strings.Join(l.Prefs, "\n"),
	}, nil
}

// duration reads milliseconds exactly; a float64 would lose the microseconds of long ones.
func duration(n json.Number) (time.Duration, error) {
	if n == "" {
		return 0, nil
	}
	return time.ParseDuration(n.String() + "ms")
}
