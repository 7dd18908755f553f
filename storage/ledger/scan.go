package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"curtsy/storage"
)

// Entry is one thing that Scan meets: a problem, a mark, or a decision.
type Entry struct {
	Segment int
	Row     int // line of the segment, from 1

	Problem *Problem
	Mark    *Mark
	Line    storage.Line // when there is neither

	// Chain is the running hash up to here and with this line. It is zero in a segment of schema 1, and behind a break or
	// a missing segment to the end: what equals a head that was lodged elsewhere so proves all lines with a chain before
	// it.
	Chain Hash
}

// Scan goes through the ledger in dir, in memory that does not depend on its size. It yields every decision and every
// mark, and each problem before the line that shows it. Behind a break of the chain no line can be checked up to the
// next mark, which states the whole running hash: of such a stretch only the first place is named. An error is one of
// the file system, and the last.
func Scan(dir string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := scan(dir, yield); err != nil {
			yield(Entry{}, fmt.Errorf("ledger: scan: %w", err))
		}
	}
}

// scanner is a Scan under way.
type scanner struct {
	dir   string
	check *checker
	yield func(Entry, error) bool

	unread int // lines of this segment that could not be read
}

// maxUnread is after how many lines that cannot be read a segment is given up.
const maxUnread = 1000

// scan returns nil when the consumer has had enough.
func scan(dir string, yield func(Entry, error) bool) error {
	numbers, err := segments(dir)
	if err != nil {
		return err
	}
	s := &scanner{dir: dir, check: newChecker(), yield: yield}
	if len(numbers) == 0 {
		yield(Entry{Problem: &Problem{Fault: Empty, Text: "there is no segment"}}, nil)
		return nil
	}
	for _, n := range numbers {
		if more, err := s.segment(n); !more || err != nil {
			return err
		}
	}
	s.check.end()
	s.problems()
	return nil
}

// problems yields what was found and reports whether to go on.
func (s *scanner) problems() bool {
	for _, p := range s.check.found {
		if !s.yield(Entry{Segment: p.Segment, Row: p.Row, Problem: &p}, nil) {
			return false
		}
	}
	return true
}

func (s *scanner) segment(number int) (more bool, err error) {
	s.check.begin(number)
	s.unread = 0
	if !s.problems() {
		return false, nil
	}
	f, err := openSegment(s.dir, number)
	if err != nil {
		return false, err
	}
	defer f.close()
	r := bufio.NewReaderSize(f, bufferSize)
	var long []byte
	for {
		b, err := readLine(r, &long)
		if err != nil && !errors.Is(err, errLong) {
			return s.stop(f, b, err)
		}
		if !s.line(bytes.TrimSuffix(b, []byte("\n"))) {
			return false, nil
		}
		if s.unread >= maxUnread {
			s.check.lost, s.check.gap = true, true
			s.check.found = s.check.found[:0]
			s.check.say(Unreadable, "%d lines cannot be read: the rest of the segment is passed over", s.unread)
			return s.problems(), nil
		}
	}
}

// stop ends a segment at what came instead of a line.
func (s *scanner) stop(f *segmentFile, rest []byte, err error) (bool, error) {
	c := s.check
	c.found = c.found[:0]
	c.row++
	switch {
	case errors.Is(err, io.EOF) && len(rest) == 0:
		c.row--
		return true, nil
	case errors.Is(err, io.EOF):
		c.say(Torn, "%d octets have no end", len(rest))
	case f.packed():
		c.lost, c.gap = true, true
		c.say(Unreadable, "%v; what follows in this segment is lost", err)
	default:
		return false, err
	}
	return s.problems(), nil
}

// line takes a line and reports whether to go on.
func (s *scanner) line(b []byte) bool {
	c := s.check
	e := Entry{Mark: c.line(b)}
	var err error
	if !isMark(b) {
		e.Line, err = storage.ParseLine(b)
		if err == nil && e.Line.Decision == "" {
			err = errNoDecision
		}
		if err != nil {
			c.say(Unreadable, "%v", err)
		}
	}
	if !s.problems() {
		return false
	}
	if err != nil || isMark(b) && e.Mark == nil { // it was named
		s.unread++
		return true
	}
	e.Segment, e.Row = c.segment, c.row
	if !c.gap && !c.plain {
		e.Chain = c.run.h
	}
	return s.yield(e, nil)
}

var errNoDecision = errors.New("it has no decision")
