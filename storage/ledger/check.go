package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/plainly"
)

// Entry is one item of Scan: a problem, a mark, a redacted line, or a decision.
type Entry struct {
	Segment int
	Row     int   // line of the segment, from 1
	Index   int64 // of the entry; lines before it

	Problem   *Problem
	Mark      *Mark
	Forgotten bool         // the line is a stub
	Line      storage.Line // when it is nothing else

	Hash tlog.Hash // of the entry, unless it is a problem
	Text []byte    // the line without its newline, valid until the next entry

	check *checker
}

// Root is the root hash of the tree that ends with e, while e is the one that Scan gives; false where that is not known
// for certain: from the first line on that is missing, that was changed, or that cannot be read.
func (e *Entry) Root() (tlog.Hash, bool) {
	if e.check == nil || e.check.gap || e.check.tree.Size() != e.Index+1 {
		return tlog.Hash{}, false
	}
	return e.check.tree.Root(), true
}

// Scan reads the ledger in dir in memory independent of its length. It yields each decision, mark and stub, and each problem
// before the line that shows it; of changed lines in a row the first. doc.go lists the checks. An error is of the file
// system, and the last.
func Scan(dir string) iter.Seq2[Entry, error] { return scanning(dir, true) }

// Skim is Scan without the completeness map: it checks no hosts, and so needs no memory for them.
func Skim(dir string) iter.Seq2[Entry, error] { return scanning(dir, false) }

func scanning(dir string, hosts bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := scan(dir, hosts, yield); err != nil {
			yield(Entry{}, fmt.Errorf("ledger: scan: %w", err))
		}
	}
}

type scanner struct {
	dir   string
	check *checker
	yield func(Entry, error) bool

	unread int // lines of this segment that could not be read
}

const maxUnread = 1000 // unreadable lines after which the rest of a segment is skipped

// scan returns nil when the consumer has had enough.
func scan(dir string, hosts bool, yield func(Entry, error) bool) (err error) {
	numbers, err := segments(dir)
	if err != nil {
		return err
	}
	s := &scanner{dir: dir, yield: yield}
	if len(numbers) == 0 {
		yield(Entry{Problem: &Problem{Fault: Empty, Index: -1, Text: "no segment"}}, nil)
		return nil
	}
	s.check = &checker{dir: dir, segment: -1, hasher: tree.NewHasher(), tree: new(tree.Growing)}
	s.check.hosts.credit, s.check.hosts.gap = freeHosts, !hosts
	if err := s.check.notes.open(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.check.hosts.close()) }()
	for _, n := range numbers {
		if more, err := s.segment(n); !more || err != nil {
			return err
		}
	}
	if err := s.check.end(); err != nil {
		return err
	}
	s.problems()
	return nil
}

// problems yields the problems found and reports whether to continue.
func (s *scanner) problems() bool {
	found := s.check.found
	s.check.found = s.check.found[:0]
	for _, p := range found {
		if !s.yield(Entry{Segment: p.Segment, Row: p.Row, Index: p.Index, Problem: &p}, nil) {
			return false
		}
	}
	return true
}

func (s *scanner) segment(number int) (more bool, err error) {
	c := s.check
	c.begin(number)
	s.unread = 0
	if s.copied(number); !s.problems() {
		return false, nil
	}
	for r, err := range rows(s.dir, []int{number}) {
		switch {
		case err == nil || errors.Is(err, errLong):
			if more, err := s.line(r.text); !more || err != nil {
				return false, err
			}
			if s.unread < maxUnread {
				continue
			}
			c.lose()
			c.report(Unreadable, "%d lines cannot be read: the rest of the segment is passed over", s.unread)
		case errors.Is(err, errTorn):
			c.row++
			c.report(Torn, "%d bytes have no end", len(r.text))
		case r.packed:
			c.row++
			c.lose()
			c.report(Unreadable, "%v; what follows in this segment is lost", errors.Unwrap(err))
		default:
			return false, err
		}
		return s.problems(), nil
	}
	if c.row == 0 {
		name := path(s.dir, number)
		if _, err := os.Lstat(name); isMissing(err) { // a segment is packed when its lines are written
			c.report(Unreadable, "%s has no line", filepath.Base(name)+packedSuffix)
		} else {
			c.report(NoLines, "%s is empty", filepath.Base(name))
		}
	}
	return s.problems(), nil
}

// copied reports a packed segment that differs from the plain one beside it: interrupted packing leaves both, and equal.
func (s *scanner) copied(number int) {
	packed, err := openPacked(s.dir, number)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	same := false
	if err == nil {
		defer packed.close()
		if plain, perr := durable.Open(path(s.dir, number)); perr == nil {
			defer plain.Close()
			same = isEqual(packed, plain)
		} else {
			same = errors.Is(perr, fs.ErrNotExist) // packing went on, and took it away
		}
	}
	if !same {
		s.check.report(Copies, "%s also exists, and does not decompress to the lines of the plain one", filepath.Base(path(s.dir, number)+packedSuffix))
	}
}

func isEqual(a, b io.Reader) bool {
	x, y := make([]byte, bufferSize), make([]byte, bufferSize)
	for {
		n, err := io.ReadFull(a, x)
		m, err2 := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if err != nil || err2 != nil {
			ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			return ended(err) && ended(err2)
		}
	}
}

func (s *scanner) line(b []byte) (more bool, err error) {
	c := s.check
	e := Entry{check: c, Text: b}
	if err := c.line(b, &e); err != nil {
		return false, err
	}
	if !s.problems() {
		return false, nil
	}
	if c.unread {
		s.unread++
		return true, nil
	}
	return s.yield(e, nil), nil
}

// checker follows a ledger line by line and compares it with its checkpoints.
type checker struct {
	dir          string
	segment, row int
	index        int64 // of the next line
	hasher       *tree.Hasher
	tree         *tree.Growing

	off    bool // lines are not those of the tiles: the first was named
	gap    bool // from somewhere before on the lines are not those of the tree
	lost   bool // the tree is unknown from here on
	unread bool // the line just taken cannot be read

	lines int64 // decisions
	runs  runs
	notes notes
	hosts hostCheck
	stubs stubs

	origin string
	begun  bool // a segment has begun
	last   *Mark
	after  int64 // entries after the last checkpoint
	at     Problem

	found []Problem // about the line just taken
}

// runs follows the runs of a ledger and their keys.
type runs struct {
	open bool           // a run began and did not stop
	any  bool           // there was one
	key  checkpoint.Key // in force; none for an unsigned run
}

func (c *checker) report(f Fault, format string, args ...any) {
	index := c.index - 1
	if c.row == 0 {
		index = -1
	}
	c.found = append(c.found, Problem{Fault: f, Segment: c.segment, Row: c.row, Index: index, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) begin(number int) {
	before := c.segment
	c.segment, c.row = number, 0
	if number == before+1 {
		return
	}
	if number == before+2 {
		c.report(Missing, "no segment %d", before+1)
	} else {
		c.report(Missing, "no segments %d to %d", before+1, number-1)
	}
	c.lose()
}

// lose notes that lines are missing, up to the next begin mark, which has their number.
func (c *checker) lose() { c.gap, c.off = true, true }

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
		c.stubs.set(c.index-1, true)
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
		c.report(Unreadable, "%v", err)
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

func decision(b []byte) (storage.Line, error) {
	l, err := storage.ParseLine(b)
	switch {
	case err != nil:
		return storage.Line{}, err
	case l.Decision == "":
		return storage.Line{}, errors.New("it has no decision")
	case !bytes.Contains(b, saltKey): // its entry hash would be the same
		return storage.Line{}, fmt.Errorf("it has no salt: the withheld part was removed")
	}
	return l, nil
}

// grow adds an entry hash to the tree: that of the checkpoint's tiles, if they have another one.
func (c *checker) grow(h tlog.Hash) {
	leaf, known := c.notes.leaf(c.index - 1)
	if !known && c.notes.torn != nil {
		c.report(BadTiles, "%v", c.notes.torn)
		c.notes.torn = nil
	}
	if known {
		if leaf == h {
			c.off = false
		} else {
			if !c.off {
				c.report(Changed, "it is not the line of the checkpoint of %d entries: it was edited, or lines before it were added, "+
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

// resume continues with the mark of a segment, which shows missing lines.
func (c *checker) resume(m *Mark) {
	switch {
	case m == nil || m.Kind != KindBegin:
		c.index++ // for the place
		c.report(Disagree, "the segment does not begin with its mark")
		c.index--
	case m.Schema <= Schema && m.First != c.index:
		c.index++
		if !c.gap {
			c.report(Disagree, "the segment starts with entry %d, but %d entries precede it: lines were added or removed", m.First, c.index-1)
		}
		c.index--
		c.skip(m.First)
		c.lines = m.Lines
	}
}

// skip continues at another index, with the hashes that the tiles have of the lines before it.
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

func (c *checker) mark(m *Mark) {
	c.last = m
	switch m.Kind {
	case KindBegin:
		c.beginMark(m)
	case KindRun:
		c.run(m)
	case KindKey:
		if r := m.Rotation; c.runs.any && r.New != c.runs.key && r.Old != c.runs.key {
			c.report(KeyChanged, "a rotation from %s, and the key was %s", r.Old.Name(), nameOf(c.runs.key))
		}
		c.runs.key = m.Rotation.New
	case KindRedaction:
		for _, i := range m.Redaction.Entries {
			c.stubs.set(i, false)
		}
	case KindStop:
		if !c.runs.open && !c.gap {
			c.report(Disagree, "its run already has a stop, or is not a run")
		}
		if c.runs.open = false; m.Lines != c.lines {
			c.report(Disagree, "it counts %d decisions, and there are %d", m.Lines, c.lines)
		}
	}
}

func (c *checker) beginMark(m *Mark) {
	switch {
	case m.Schema > Schema:
		c.report(NewSchema, "it is of schema %d, and schema %d is known", m.Schema, Schema)
		return
	case c.row != 1:
		c.report(Disagree, "a begin mark within a segment")
	case m.Segment != c.segment:
		c.report(Disagree, "it was segment %d", m.Segment)
	}
	if m.Lines != c.lines {
		c.report(Disagree, "it counts %d decisions before it, and there are %d", m.Lines, c.lines)
		c.lines = m.Lines
	}
	if c.begun && m.Origin != c.origin {
		c.report(WrongOrigin, "it is of the log %.80q, and the segments before are of %.80q", m.Origin, c.origin)
	}
	if !c.begun {
		c.begun, c.origin, c.hosts.origin = true, m.Origin, m.Origin
	}
}

func (c *checker) run(m *Mark) {
	key, _ := checkpoint.ParseKey(m.Key) // an empty one is the zero Key
	switch {
	case c.runs.open && m.Killed:
		c.report(NoStop, "the previous run did not end cleanly")
	case c.runs.open:
		c.report(NoStop, "the run before this one has no stop, and this one does not record that it was killed")
	case m.Killed && c.runs.any && !c.gap:
		c.report(Disagree, "it records that the run before was killed, but that run has a stop")
	}
	if c.runs.any && key != c.runs.key {
		c.report(KeyChanged, "from %s to %s, without a rotation", nameOf(c.runs.key), nameOf(key))
	}
	c.runs.open, c.runs.any, c.runs.key = true, true, key
}

func nameOf(k checkpoint.Key) string {
	if k.IsZero() {
		return "none"
	}
	return k.Name()
}

func (c *checker) end() error {
	c.index++ // the place is after the last line
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
		c.report(NoStop, "the last run did not end cleanly: it still runs, it was killed, or lines were removed")
	}
	return nil
}

// notes are the checkpoints of a checked ledger.
type notes struct {
	dir    string
	sizes  []int64          // of those in their folder that were not reached yet, ascending
	latest *checkpoint.Note // of the file of the latest; nil without one
	bad    error            // why that cannot be read
	last   int64            // the largest size

	leaves tlog.HashReader // over the tiles, by the largest checkpoint; nil without one
	torn   error           // why not
	from   int64           // index of the first of some
	some   []tlog.Hash     // that were read at once

	widest string // the file among the tiles that needs the largest tree, when the lines were not read yet
	needs  int64  // the size of that tree
}

const (
	tileFolder = "tile" // of package tree
	leafBatch  = 256    // hashes read from the tiles at once: one tile
)

func (n *notes) open(dir string) (err error) {
	n.dir = dir
	if n.sizes, err = Checkpoints(dir); err != nil {
		return err
	}
	if n.latest, err = ReadNote(filepath.Join(dir, CheckpointName)); err != nil {
		n.latest, n.bad = nil, err
	}
	if n.widest, n.needs, err = tree.Widest(dir); err != nil {
		return err
	}
	of, err := latest(dir)
	if err != nil || of.Size == 0 {
		return nil // the check of lines reports it
	}
	n.last = of.Size
	if _, err := os.Stat(filepath.Join(dir, tileFolder)); isMissing(err) { // they follow from the lines
		return nil
	}
	r := tree.Reader(dir, of.Size, of.Root)
	if _, n.torn = r.ReadHashes([]int64{tlog.StoredHashIndex(0, of.Size-1)}); n.torn == nil {
		n.leaves = r
	}
	return nil
}

func (n *notes) leaf(index int64) (h tlog.Hash, known bool) {
	if n.leaves == nil || index >= n.last {
		return h, false
	}
	if index < n.from || index >= n.from+int64(len(n.some)) {
		n.from = index / leafBatch * leafBatch
		var at []int64
		for i := n.from; i < min(n.from+leafBatch, n.last); i++ {
			at = append(at, tlog.StoredHashIndex(0, i))
		}
		if n.some, n.torn = n.leaves.ReadHashes(at); n.torn != nil {
			n.leaves, n.some = nil, nil
			return h, false
		}
	}
	return n.some[index-n.from], true
}

// checkpoint checks those that end with the line just taken, which m is if it is a mark.
func (c *checker) checkpoint(m *Mark) {
	n := &c.notes
	found := false
	for len(n.sizes) > 0 && n.sizes[0] <= c.index {
		size := n.sizes[0]
		n.sizes = n.sizes[1:]
		note, err := ReadNote(CheckpointPath(c.dir, size))
		if err == nil && note.Size != size {
			err = fmt.Errorf("%s is of %d entries", CheckpointPath(c.dir, size), note.Size)
		}
		switch {
		case err != nil:
			c.report(BadNote, "%v", err)
		case size == c.index:
			c.note(note, m)
			found = true
		case size == 0:
			c.report(BadNote, "%s is of no entry", CheckpointPath(c.dir, size))
		}
	}
	if n.latest != nil && n.latest.Size == c.index {
		if !found {
			c.note(n.latest, m)
			found = true
		} else if other, err := ReadNote(CheckpointPath(c.dir, c.index)); err == nil && other.Checkpoint != n.latest.Checkpoint {
			c.note(n.latest, m)
		}
	}
	if found {
		c.after = 0
	} else if c.after++; c.after == 1 {
		c.at = Problem{Segment: c.segment, Row: c.row, Index: c.index - 1}
	}
}

func (c *checker) note(n *checkpoint.Note, m *Mark) {
	if m == nil || m.Kind != KindHosts {
		c.report(MapDiffers, "the checkpoint of %d entries does not end in a mark of hosts", n.Size)
	}
	if n.Origin != c.origin {
		c.report(WrongOrigin, "the checkpoint of %d entries is of the log %.80q, not of %.80q", n.Size, n.Origin, c.origin)
	}
	key := c.runs.key
	_, claimed := n.Claimed(key)
	switch {
	case key.IsZero() && c.runs.any && len(n.Signatures) == 0:
	case key.IsZero():
		// cosignatures may stand under it
	case !claimed:
		c.report(BadSig, "the checkpoint of %d entries is not signed by the key of its run, %s", n.Size, key.Name())
	case !n.SignedBy(key):
		c.report(BadSig, "the signature of the checkpoint of %d entries is not by %s", n.Size, key.Name())
	}
	switch root := c.tree.Root(); {
	case c.lost:
		// reported where the lines were lost
	case root != n.Root:
		c.report(RootDiffers, "the lines lead to the root %s, and the checkpoint of %d entries states %s: some line since the "+
			"checkpoint before was changed, or the checkpoint is of another ledger", root, n.Size, n.Root)
		c.gap, c.lost = true, true
	}
}

// end reports checkpoints, and tiles, of missing lines.
func (n *notes) end(c *checker) {
	at := c.index - 1 // lines there are
	largest := int64(0)
	if len(n.sizes) > 0 {
		largest = n.sizes[len(n.sizes)-1]
	}
	if n.latest != nil {
		largest = max(largest, n.latest.Size)
	}
	if largest > at {
		c.report(Rollback, "there is a checkpoint of %d entries, and there are %d: lines were cut off the end, or never reached "+
			"the disk", largest, at)
	}
	if n.needs > max(at, largest, n.last) { // lines are durable before their tiles are written
		c.report(BadTiles, "%s is not a tile of the %d lines", n.widest, at)
	}
	if n.bad != nil && !isMissing(n.bad) { // a kill may come before the file of the latest is written
		c.report(BadNote, "the latest checkpoint: %v", n.bad)
	}
}
