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
	"curtsy/storage/ledger/tree"
)

// Entry is one thing that Scan meets: a problem, a mark, a line that was forgotten, or a decision.
type Entry struct {
	Segment int
	Row     int   // line of the segment, from 1
	Index   int64 // of the entry; lines before it

	Problem   *Problem
	Mark      *Mark
	Forgotten bool         // the line is a stub
	Line      storage.Line // when it is nothing else

	Hash tlog.Hash // of the entry, when it is no problem
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

// Scan goes through the ledger in dir, in memory that does not depend on its length. It yields every decision, every
// mark and every stub, and each problem before the line that shows it. doc.go says what is checked. It names the
// first of a stretch of lines that are not those of the tree. An error is one of the file system, and the last.
func Scan(dir string) iter.Seq2[Entry, error] { return scanning(dir, true) }

// Skim is Scan without the completeness map: what it says of hosts is not checked, which takes no memory for them.
func Skim(dir string) iter.Seq2[Entry, error] { return scanning(dir, false) }

func scanning(dir string, hosts bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := scan(dir, hosts, yield); err != nil {
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

// problems yields what was found and reports whether to go on.
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
			c.say(Unreadable, "%d lines cannot be read: the rest of the segment is passed over", s.unread)
		case errors.Is(err, errTorn):
			c.row++
			c.say(Torn, "%d bytes have no end", len(r.text))
		case r.packed:
			c.row++
			c.lose()
			c.say(Unreadable, "%v; what follows in this segment is lost", errors.Unwrap(err))
		default:
			return false, err
		}
		return s.problems(), nil
	}
	if c.row == 0 {
		name := path(s.dir, number)
		if _, err := os.Lstat(name); isMissing(err) { // a segment is packed when its lines are written
			c.say(Unreadable, "%s has no line", filepath.Base(name)+packedSuffix)
		} else {
			c.say(NoLines, "%s is empty", filepath.Base(name))
		}
	}
	return s.problems(), nil
}

// copied names a packed segment beside the plain one that does not unfold to it. Broken off between two steps, packing
// leaves both, and they are the same; who reads all files reads the packed one, too.
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
			same = alike(packed, plain)
		} else {
			same = errors.Is(perr, fs.ErrNotExist) // packing went on, and took it away
		}
	}
	if !same {
		s.check.say(Copies, "%s also exists, and does not decompress to the lines of the plain one", filepath.Base(path(s.dir, number)+packedSuffix))
	}
}

// alike reports whether two readers give the same to their ends.
func alike(a, b io.Reader) bool {
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

// line takes a line and reports whether to go on.
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

var errNoDecision = errors.New("it has no decision")
