package ledger

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
)

// Fault is what can be wrong with a ledger. Faults are stable.
type Fault string

// The faults.
const (
	Broken      Fault = "chain broken"              // a line is not the one that was written here
	Unreadable  Fault = "unreadable"                // a line is no decision and no mark, or a file does not decompress
	Torn        Fault = "unfinished line"           // the last line of a segment has no end
	BadSig      Fault = "signature wrong"           // a head's signature is not of its hash by its key
	KeyChanged  Fault = "key changed"               // a head is signed by another key than the one before, or no longer
	Missing     Fault = "segment missing"           // the numbers of the segments have a gap
	AfterHead   Fault = "lines after the last head" // no head covers the lines at the end
	NoEnd       Fault = "no end head"               // a run did not end in good order: a crash, or lines were cut off
	WrongCounts Fault = "head counts wrong"         // a head or a begin counts other lines than there are
	Unchained   Fault = "no chain"                  // a segment of schema 1, where an edit leaves no trace
	Empty       Fault = "empty"                     // there is no segment
	NewSchema   Fault = "schema not known"          // written by a later version
)

// Problem is a fault and its place.
type Problem struct {
	Fault   Fault
	Segment int
	Row     int    // line of the segment, from 1; 0 for all of it
	Text    string // what it is, in words; it may quote the ledger
}

// String is the problem with its place.
func (p Problem) String() string {
	if p.Row == 0 {
		return fmt.Sprintf("%s: segment %d: %s", p.Fault, p.Segment, p.Text)
	}
	return fmt.Sprintf("%s: segment %d line %d: %s", p.Fault, p.Segment, p.Row, p.Text)
}

// checker follows the chain of a ledger, line by line. Its zero place is before the first segment.
type checker struct {
	run          *running
	segment, row int
	from         bool // what was before segment is not known: its begin mark is taken at its word
	lost         bool // the running hash is not known until a mark states it
	gap          bool // it was lost, or a segment was missing, somewhere before: nothing is proven from the beginning on
	chained      bool // a segment with a chain has been seen
	plain        bool // this segment has none

	lines   int64  // decisions, in chained segments
	here    int64  // decisions in this segment
	ended   bool   // there is no run that began and did not end
	now     string // why of the last line, if it is a head
	last    *Mark  // the last head
	after   int64  // decisions behind it
	afterAt [2]int // place of the first of them

	found []Problem // about the line just taken
	bad   *Problem  // the first that says that something was changed
}

func newChecker() *checker { return &checker{run: newRunning(), segment: -1, ended: true} }

func (c *checker) say(f Fault, format string, args ...any) {
	p := Problem{Fault: f, Segment: c.segment, Row: c.row, Text: fmt.Sprintf(format, args...)}
	c.found = append(c.found, p)
	c.gap = c.gap || f == Broken || f == Missing
	if c.bad == nil && f != NoEnd && f != KeyChanged && f != Unchained {
		c.bad = &p
	}
}

// begin takes up the next segment.
func (c *checker) begin(number int) {
	c.found = c.found[:0]
	before := c.segment
	c.segment, c.row, c.here, c.plain, c.now = number, 0, 0, false, ""
	if number != before+1 && !c.from {
		if number == before+2 {
			c.say(Missing, "there is no segment %d", before+1)
		} else {
			c.say(Missing, "there are no segments %d to %d", before+1, number-1)
		}
		c.from = true
	}
}

// line takes the next line of the segment, without its newline, and returns its mark if it is one.
func (c *checker) line(b []byte) *Mark {
	c.found, c.now = c.found[:0], ""
	c.row++
	s, err := unseal(b)
	if c.row == 1 && !isMark(b) && err != nil && !c.chained {
		c.plain = true
		c.say(Unchained, "its lines carry no chain (schema 1): an edit leaves no trace")
	}
	if c.plain {
		c.lines = 0
		if isMark(b) {
			c.say(Unreadable, "a mark in a segment without a chain")
		}
		return nil
	}
	c.chained = true
	if !isMark(b) {
		c.decision(s, err)
		return nil
	}
	var m *Mark
	if err == nil {
		m, err = parseMark(b, s)
	}
	if c.row == 1 && (err != nil || m.Kind != KindBegin) {
		c.lose("the begin mark is missing")
	}
	if err != nil {
		c.lose("a mark cannot be read: %v", err)
		return nil
	}
	c.mark(m, s)
	return m
}

// lose gives up the running hash. Only the first fault of a stretch is said: no line behind it can be checked.
func (c *checker) lose(format string, args ...any) {
	if !c.lost {
		c.say(Broken, format, args...)
	}
	c.lost = true
}

func (c *checker) decision(s sealed, err error) {
	if c.row == 1 {
		c.lose("the begin mark is missing")
	}
	switch {
	case err != nil:
		c.lose("%v", err)
	case len(s.stated) != shortHex/2:
		c.lose("a decision states %d digits of the running hash, not %d", 2*len(s.stated), shortHex)
	}
	if c.run.step(s.body); !bytes.Equal(s.stated, c.run.h[:min(len(s.stated), len(c.run.h))]) {
		c.lose("it was edited, or lines before it were added, removed or moved: it states %s, and %s is right",
			hex.EncodeToString(s.stated), hex.EncodeToString(c.run.h[:shortHex/2]))
	}
	c.lines, c.here = c.lines+1, c.here+1
	if c.after++; c.after == 1 {
		c.afterAt = [2]int{c.segment, c.row}
	}
	c.ended = false
}

func (c *checker) mark(m *Mark, s sealed) {
	if m.Kind == KindBegin {
		c.beginMark(m)
	}
	c.run.step(s.body)
	if m.Chain != c.run.h && !c.lost {
		c.say(Broken, "the mark was edited, or lines before it were added, removed or moved: it states %s, and %s is right",
			m.Chain, c.run.h)
	}
	// From here on there is a hash to go on from, whatever was before.
	c.run.h, c.lost = m.Chain, false
	switch m.Kind {
	case KindRun:
		if !c.ended {
			c.say(NoEnd, "the run before this one did not end in good order")
		}
		c.ended = false
	case KindHead:
		c.head(m)
	}
}

func (c *checker) beginMark(m *Mark) {
	switch {
	case m.Schema > Schema:
		c.say(NewSchema, "it is of schema %d, and schemas up to %d are known", m.Schema, Schema)
	case c.row != 1:
		c.say(Broken, "a begin mark within a segment")
	case m.Segment != c.segment:
		c.say(Broken, "it was segment %d", m.Segment)
	case c.from:
	case m.Before != c.run.h && !c.lost:
		c.say(Broken, "it goes on from %s, and the segment before ends in %s: lines were removed between them", m.Before,
			c.run.h)
	}
	if m.Lines != c.lines && !c.from {
		c.say(WrongCounts, "it counts %d decisions before it, and there are %d", m.Lines, c.lines)
	}
	c.run.h, c.lost, c.from, c.lines = m.Before, false, false, m.Lines
}

func (c *checker) head(m *Mark) {
	if m.Segment != c.segment {
		c.say(WrongCounts, "the head is of segment %d", m.Segment)
	}
	if m.Lines != c.lines {
		c.say(WrongCounts, "the head counts %d decisions, and there are %d", m.Lines, c.lines)
		c.lines = m.Lines
	}
	if m.Key != nil && !m.Signed() {
		c.say(BadSig, "the head's signature is not of its hash by its key")
	}
	if c.last != nil && !bytes.Equal(c.last.Key, m.Key) {
		c.say(KeyChanged, "from %s to %s", Fingerprint(c.last.Key), Fingerprint(m.Key))
	}
	c.ended, c.now = c.ended || m.Why == WhyEnd, m.Why
	c.last, c.after = m, 0
}

// end says what the end of the ledger lacks.
func (c *checker) end() {
	c.found = c.found[:0]
	if c.plain {
		return
	}
	if c.after > 0 {
		c.found = append(c.found, Problem{AfterHead, c.afterAt[0], c.afterAt[1],
			fmt.Sprintf("from here on %d decisions stand under no head", c.after)})
	}
	if c.now != WhyEnd {
		c.say(NoEnd, "the last run did not end in good order: it still runs, it was killed, or lines were cut off")
	}
}

// Fingerprint names a public key for people: its first 16 hex digits; "none" for no key.
func Fingerprint(key ed25519.PublicKey) string {
	if len(key) == 0 {
		return "none"
	}
	return hex.EncodeToString(key[:min(8, len(key))])
}
