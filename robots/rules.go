package robots

import (
	"cmp"
	"slices"
	"strings"
)

// rule is one Allow or Disallow line that binds. It holds no pointers, so that ten thousand of them cost the garbage
// collector nothing.
type rule struct {
	written span // the line, without comment
	pattern span // canonical
	line    int32
	group   int32 // index of its group's name
	parent  int32 // among plain rules: the next best of those that match whatever this one matches; -1 for none
	allow   bool
}

// outranks reports whether a decides when both match.
func outranks(a, b *rule) bool { return byRank(*a, *b) < 0 }

// byRank puts first the rule with more octets, then the Allow (RFC 9309 2.2.2), then the first in the file, which
// changes no answer but says which line is named.
func byRank(a, b rule) int {
	return cmp.Or(cmp.Compare(b.pattern.len(), a.pattern.len()), cmp.Compare(b.access(), a.access()),
		cmp.Compare(a.line, b.line))
}

func (r rule) access() int {
	if r.allow {
		return 1
	}
	return 0
}

// ruleset answers which rule decides about a target.
//
// Plain rules, which match by prefix, are sorted by pattern. All plain rules that match a target are prefixes of one
// another, and they lie on the chain of parents of the last rule that does not sort after the target: so one search
// and a walk over links find them, however many rules there are. The search begins among the rules that go on with the
// target's first octet after what they all share, and compares eight octets at a time.
//
// By RFC 9309 the longest on the chain decides; by the older standards the first in the file does.
//
// Rules with "*" or "$" are sorted by rank and tried one after the other, until no rule left could be even second.
type ruleset struct {
	text     string // what the spans of the rules refer to
	plain    []rule
	common   string       // what every plain pattern begins with
	top      int          // the last plain rule that is common itself; -1 when none is
	starts   *[130]uint16 // per octet, as startOf has it, where the plain rules begin that have it after common
	keys     []uint64     // per plain rule, the octets after common, as key makes them
	next     []uint64     // per plain rule, the octets after those; nil when few keys are equal
	wild     []rule
	inOrder  bool // the first in the file decides, and no octet is special
	prefixes bool // there is nothing but plain rules, of which the longest decides
	escapes  bool // there may be a "%" in a plain pattern
}

// fewEqual is how many rules with one key are told apart by the octets themselves.
const fewEqual = 8

// newRuleset takes the rules over.
func newRuleset(text string, rules []rule, standard Standard) ruleset {
	s := ruleset{text: text, plain: rules, inOrder: standard.inRecords()}
	if !s.inOrder {
		s.plain = rules[:0]
		for _, r := range rules {
			if isWild(r.pattern.in(text)) {
				s.wild = append(s.wild, r)
			} else {
				s.plain = append(s.plain, r)
			}
		}
	}
	s.plain = sortRules(text, s.plain)
	if cap(s.plain) > 2*len(s.plain) {
		s.plain = slices.Clone(s.plain)
	}
	s.link()
	s.wild = sortRules(text, s.wild)
	slices.SortFunc(s.wild, byRank)
	s.prefixes = !s.inOrder && len(s.wild) == 0
	return s
}

// empty reports whether there are no rules.
func (s *ruleset) empty() bool { return len(s.plain)+len(s.wild) == 0 }

// link sets the parents, the keys and the starts of the sorted plain rules.
func (s *ruleset) link() {
	if len(s.plain) == 0 {
		return
	}
	first, last := s.plain[0].pattern.in(s.text), s.plain[len(s.plain)-1].pattern.in(s.text)
	s.common = first[:sharedLen(first, last)]
	s.escapes = strings.IndexByte(s.text, '%') >= 0
	s.keys = make([]uint64, len(s.plain))
	equal, most := 0, 0 // keys in a row
	for i := range s.plain {
		r := &s.plain[i]
		pattern := r.pattern.in(s.text)
		s.keys[i] = key(pattern[len(s.common):])
		if equal++; i == 0 || s.keys[i] != s.keys[i-1] {
			equal = 1
		}
		most = max(most, equal)
		r.parent = int32(i) - 1
		for r.parent >= 0 && !strings.HasPrefix(pattern, s.plain[r.parent].pattern.in(s.text)) {
			r.parent = s.plain[r.parent].parent
		}
	}
	if most > fewEqual {
		s.next = make([]uint64, len(s.plain))
		for i := range s.next {
			s.next[i] = keyAt(s.pattern(i), len(s.common)+8)
		}
	}
	s.findStarts()
}

// findStarts sets the starts and top.
func (s *ruleset) findStarts() {
	s.starts, s.top = new([130]uint16), -1 // no more than 64,000 rules go into MaxBody octets
	c := 0
	for i := range s.plain {
		pattern := s.pattern(i)
		if len(pattern) == len(s.common) {
			s.top = i
			continue
		}
		for last := int(startOf(pattern[len(s.common)])); c <= last; c++ {
			s.starts[c] = uint16(i)
		}
	}
	for ; c < len(s.starts); c++ {
		s.starts[c] = uint16(len(s.plain))
	}
}

// decide returns the rule that decides about a canonical target and the one that would without it; nil for none.
func (s *ruleset) decide(target string) (best, next *rule) {
	i, _ := s.longest(target)
	if s.inOrder {
		return s.earliest(i)
	}
	best, next = s.chain(i)
	for i := range s.wild {
		w := &s.wild[i]
		if next != nil && outranks(next, w) {
			break
		}
		if !matches(w.pattern.in(s.text), target) {
			continue
		}
		if best == nil || outranks(w, best) {
			best, next = w, best
		} else {
			next = w
		}
	}
	return best, next
}

// chain returns a plain rule and its parent; nil for what there is not.
func (s *ruleset) chain(i int) (best, next *rule) {
	if i < 0 {
		return nil, nil
	}
	if best = &s.plain[i]; best.parent >= 0 {
		next = &s.plain[best.parent]
	}
	return best, next
}

// earliest returns the first two rules in the file of a chain.
func (s *ruleset) earliest(i int) (best, next *rule) {
	for ; i >= 0; i = int(s.plain[i].parent) {
		switch r := &s.plain[i]; {
		case best == nil || r.line < best.line:
			best, next = r, best
		case next == nil || r.line < next.line:
			next = r
		}
	}
	return best, next
}

func isWild(pattern string) bool {
	return strings.IndexByte(pattern, '*') >= 0 || strings.HasSuffix(pattern, "$")
}

// matches reports whether a canonical pattern with "*" or a final "$" matches a canonical target (RFC 9309 2.2.3).
// The text before the first "*" must stand at the start, each later piece is taken where it first occurs, and the last
// piece before "$" must stand at the end. Nothing is ever tried twice, so that the time is linear in the lengths.
func matches(pattern, target string) bool {
	ends := pattern[len(pattern)-1] == '$'
	if ends {
		pattern = pattern[:len(pattern)-1]
	}
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		return target == pattern || !ends && strings.HasPrefix(target, pattern)
	}
	if !strings.HasPrefix(target, pattern[:star]) {
		return false
	}
	target, pattern = target[star:], pattern[star+1:]
	for {
		star = strings.IndexByte(pattern, '*')
		if star < 0 {
			break
		}
		i := strings.Index(target, pattern[:star])
		if i < 0 {
			return false
		}
		target, pattern = target[i+star:], pattern[star+1:]
	}
	if ends {
		return strings.HasSuffix(target, pattern)
	}
	return strings.Contains(target, pattern)
}
