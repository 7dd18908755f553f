package ledger

import "slices"

// maxStubs bounds the stubs and the names of forgotten lines that are held against each other.
const maxStubs = 1 << 20

// stubs holds lines that were forgotten against the marks that say so.
type stubs struct {
	open    map[int64]bool // stubs that no mark has named; false: named, and not met yet
	tooMany bool
}

func (s *stubs) set(index int64, met bool) {
	if s.open == nil {
		s.open = map[int64]bool{}
	}
	was, there := s.open[index]
	switch {
	case there && was != met:
		delete(s.open, index)
	case there:
	case len(s.open) >= maxStubs:
		s.tooMany = true
	default:
		s.open[index] = met
	}
}

// add takes a stub.
func (s *stubs) add(index int64) { s.set(index, true) }

// tell takes what a mark names.
func (s *stubs) tell(entries []int64) {
	for _, i := range entries {
		s.set(i, false)
	}
}

// end says what no mark names.
func (s *stubs) end(c *checker) {
	var bare []int64
	for i, met := range s.open {
		if met {
			bare = append(bare, i)
		}
	}
	slices.Sort(bare)
	switch {
	case len(bare) > 0:
		c.say(Unnamed, "entry %d was removed (of %d in total), and no mark of a redaction names it", bare[0], len(bare))
	case s.tooMany:
		c.say(Unnamed, "more than %d lines were removed: whether marks name all of them was not checked", maxStubs)
	}
}
