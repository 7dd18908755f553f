package ledger

import (
	"bytes"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/plainly"
)

// checker follows a ledger line by line, and holds it against its checkpoints.
type checker struct {
	dir          string
	segment, row int
	index        int64 // of the next line
	hasher       *tree.Hasher
	tree         *tree.Growing

	off    bool // lines are not those of the tiles: the first was named
	gap    bool // from somewhere before on the lines are not those of the tree
	lost   bool // the tree is not known any more
	unread bool // the line just taken cannot be read

	lines int64 // decisions
	runs  runs
	notes notes
	hosts hostCheck
	stubs stubs

	origin string
	begun  bool // a segment has begun
	last   *Mark
	after  int64 // entries behind the last checkpoint
	at     Problem

	found []Problem // about the line just taken
}

// runs follows the runs of a ledger and their keys.
type runs struct {
	open bool           // a run began and did not stop
	any  bool           // there was one
	key  checkpoint.Key // in force; none for an unsigned run
}

func (c *checker) say(f Fault, format string, args ...any) {
	index := c.index - 1
	if c.row == 0 {
		index = -1
	}
	c.found = append(c.found, Problem{Fault: f, Segment: c.segment, Row: c.row, Index: index, Text: fmt.Sprintf(format, args...)})
}

// begin takes up the next segment.
func (c *checker) begin(number int) {
	before := c.segment
	c.segment, c.row = number, 0
	if number == before+1 {
		return
	}
	if number == before+2 {
		c.say(Missing, "no segment %d", before+1)
	} else {
		c.say(Missing, "no segments %d to %d", before+1, number-1)
	}
	c.lose()
}

// lose says that lines are missing up to the next mark of a segment, which says how many.
func (c *checker) lose() { c.gap, c.off = true, true }

// line takes the next line of the segment, without its newline, and fills in e.
func (c *checker) line(b []byte, e *Entry) error {
	c.row++
	c.unread = false
	var m *Mark
	var err error
	if IsMark(b) {
		if m, err = ParseMark(b); err != nil {
			m = nil
		}
	}
	if c.row == 1 {
		c.resume(m)
	}
	c.index++
	h, isStub, serr := ParseStub(b)
	if !isStub {
		h = c.hasher.Entry(b)
	}
	c.grow(h)
	e.Segment, e.Row, e.Index, e.Mark, e.Forgotten, e.Hash = c.segment, c.row, c.index-1, m, isStub, h
	switch {
	case serr != nil:
		c.lines++
		err = serr
	case isStub:
		c.stubs.add(c.index - 1)
		c.hosts.unknown++
		c.lines++
	case IsMark(b):
	default:
		c.lines++
		e.Line, err = decision(b)
	}
	if !c.hosts.gap {
		c.hosts.tail.add(h, hostOf(e.Line.URL), !isStub && !IsMark(b) && serr == nil)
	}
	if err != nil {
		e.Mark = nil
		c.unread = true
		c.say(Unreadable, "%v", err)
	}
	if m != nil {
		c.mark(m)
	}
	if err := c.hosts.line(c, m); err != nil {
		return err
	}
	c.checkpoint(m)
	return nil
}

var saltKey = []byte(`,"salt":"`)

// decision reads the line of one.
func decision(b []byte) (storage.Line, error) {
	l, err := storage.ParseLine(b)
	switch {
	case err != nil:
		return storage.Line{}, err
	case l.Decision == "":
		return storage.Line{}, errNoDecision
	case !bytes.Contains(b, saltKey): // its entry hash would be the same
		return storage.Line{}, fmt.Errorf("it has no salt: the withheld part was removed")
	}
	return l, nil
}

// grow takes an entry hash into the tree. Where a checkpoint says by its tiles that another one stood there, the tree
// goes on with that.
func (c *checker) grow(h tlog.Hash) {
	leaf, known := c.notes.leaf(c.index - 1)
	if !known && c.notes.torn != nil {
		c.say(BadTiles, "%v", c.notes.torn)
		c.notes.torn = nil
	}
	if known {
		if leaf == h {
			c.off = false
		} else {
			if !c.off {
				c.say(Changed, "it is not the line of the checkpoint of %d entries: it was edited, or lines before it were added, "+
					"removed or moved", c.notes.last)
			}
			c.gap, c.off = true, true
		}
		h = leaf
	} else if c.off {
		c.lost = true
	}
	c.tree.Append(h)
}

// resume goes on with the mark of a segment, which says how many lines are missing, if any are.
func (c *checker) resume(m *Mark) {
	switch {
	case m == nil || m.Kind != KindBegin:
		c.index++ // for the place
		c.say(Disagree, "the segment does not begin with its mark")
		c.index--
	case m.Schema <= Schema && m.First != c.index:
		c.index++
		if !c.gap {
			c.say(Disagree, "the segment starts with entry %d, but %d entries precede it: lines were added or removed", m.First, c.index-1)
		}
		c.index--
		c.skip(m.First)
		c.lines = m.Lines
	}
}

// skip goes on at another index, with what the tiles have of the lines before it.
func (c *checker) skip(to int64) {
	c.gap, c.hosts.gap = true, true
	c.lost = true
	if c.notes.leaves != nil && to <= c.notes.last {
		if t, err := tree.Resume(c.notes.leaves, to); err == nil {
			c.tree, c.lost = t, false
		}
	}
	c.index = to
}

// mark takes a mark.
func (c *checker) mark(m *Mark) {
	c.last = m
	switch m.Kind {
	case KindBegin:
		c.beginMark(m)
	case KindRun:
		c.run(m)
	case KindKey:
		if r := m.Rotation; c.runs.any && r.New != c.runs.key && r.Old != c.runs.key {
			c.say(KeyChanged, "a rotation from %s, and the key was %s", r.Old.Name(), nameOf(c.runs.key))
		}
		c.runs.key = m.Rotation.New
	case KindRedaction:
		c.stubs.tell(m.Redaction.Entries)
	case KindStop:
		if !c.runs.open && !c.gap {
			c.say(Disagree, "its run already has a stop, or is not a run")
		}
		if c.runs.open = false; m.Lines != c.lines {
			c.say(Disagree, "it counts %d decisions, and there are %d", m.Lines, c.lines)
		}
	}
}

func (c *checker) beginMark(m *Mark) {
	switch {
	case m.Schema > Schema:
		c.say(NewSchema, "it is of schema %d, and schema %d is known", m.Schema, Schema)
		return
	case c.row != 1:
		c.say(Disagree, "a begin mark within a segment")
	case m.Segment != c.segment:
		c.say(Disagree, "it was segment %d", m.Segment)
	}
	if m.Lines != c.lines {
		c.say(Disagree, "it counts %d decisions before it, and there are %d", m.Lines, c.lines)
		c.lines = m.Lines
	}
	if c.begun && m.Origin != c.origin {
		c.say(WrongOrigin, "it is of the log %.80q, and the segments before are of %.80q", m.Origin, c.origin)
	}
	if !c.begun {
		c.begun, c.origin, c.hosts.origin = true, m.Origin, m.Origin
	}
}

func (c *checker) run(m *Mark) {
	key, _ := checkpoint.ParseKey(m.Key) // an empty one is none
	switch {
	case c.runs.open && m.Killed:
		c.say(NoStop, "the previous run did not end cleanly")
	case c.runs.open:
		c.say(NoStop, "the run before this one has no stop, and this one does not record that it was killed")
	case m.Killed && c.runs.any && !c.gap:
		c.say(Disagree, "it records that the run before was killed, but that run has a stop")
	}
	if c.runs.any && key != c.runs.key {
		c.say(KeyChanged, "from %s to %s, without a rotation", nameOf(c.runs.key), nameOf(key))
	}
	c.runs.open, c.runs.any, c.runs.key = true, true, key
}

// nameOf is the name of a key, "none" for none.
func nameOf(k checkpoint.Key) string {
	if k.IsZero() {
		return "none"
	}
	return k.Name()
}

// end says what the end of the ledger lacks.
func (c *checker) end() error {
	c.index++ // the place is behind the last line
	defer func() { c.index-- }()
	if err := c.hosts.end(c); err != nil {
		return err
	}
	if c.after > 0 {
		p := c.at
		p.Fault, p.Text = Uncommitted, fmt.Sprintf("no checkpoint covers the last %s, from here on", plainly.Count(c.after, "line"))
		c.found = append(c.found, p)
	}
	c.notes.end(c)
	c.stubs.end(c)
	if c.runs.open || !c.runs.any {
		c.say(NoStop, "the last run did not end cleanly: it still runs, it was killed, or lines were removed")
	}
	return nil
}
