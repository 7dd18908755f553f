package robots

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// rule is one Allow or Disallow line that binds. It holds no pointers, so that ten thousand of them cost the garbage
// collector nothing.
type rule struct {
	written span // the line, without comment
	pattern span // canonical
	line    int32
	group   int32 // index of its group's name
	parent  int32 // among plain rules: the next best of those that match all that this one matches; -1 for none
	allow   bool
}

func outranks(a, b *rule) bool { return byRank(*a, *b) < 0 }

// byRank puts first the rule with more bytes, then the Allow (RFC 9309 2.2.2), then the first in the file, which only
// affects the line that is named.
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

// ruleset finds the rule that decides about a target.
//
// Plain rules, which match by prefix, are sorted by pattern. All plain rules that match a target are prefixes of one
// another, and they are on the chain of parents of the last rule that does not sort after the target: one search and a
// walk over links find them. By RFC 9309 the longest on the chain decides; by the older standards the first in the file
// does.
//
// Rules with "*" or "$" are sorted by rank and tried one after the other, until no remaining rule could be even second.
type ruleset struct {
	text    string // for the spans of the rules
	plain   []rule
	wild    []rule
	inOrder bool // the first in the file decides, and no byte is special
}

// newRuleset takes over rules.
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
	return s
}

func (s *ruleset) empty() bool { return len(s.plain)+len(s.wild) == 0 }

func (s *ruleset) link() {
	for i := range s.plain {
		r := &s.plain[i]
		r.parent = int32(i) - 1
		for r.parent >= 0 && !strings.HasPrefix(s.pattern(i), s.pattern(int(r.parent))) {
			r.parent = s.plain[r.parent].parent
		}
	}
}

// decide returns the rule that decides about a canonical target and the one that would without it; nil for none.
func (s *ruleset) decide(target string) (best, next *rule) {
	i := s.longest(target)
	if s.inOrder {
		return s.earliest(i)
	}
	if i >= 0 {
		if best = &s.plain[i]; best.parent >= 0 {
			next = &s.plain[best.parent]
		}
	}
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

// matches reports whether a canonical pattern with "*" or a final "$" matches a canonical target (RFC 9309 2.2.3). The
// text before the first "*" must start the target, each later piece is taken where it first occurs, and the last piece
// before "$" must end the target. Nothing is tried twice, so the time is linear.
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

// longest returns the index of the longest plain rule that matches a canonical target, or -1.
func (s *ruleset) longest(target string) int {
	i := sort.Search(len(s.plain), func(i int) bool { return s.pattern(i) > target }) - 1
	if i < 0 {
		return -1
	}
	// Parents are prefixes of i: a parent matches if it is no longer than the common prefix with the target.
	pattern, shared := s.pattern(i), 0
	for shared < min(len(pattern), len(target)) && pattern[shared] == target[shared] {
		shared++
	}
	for i >= 0 && s.plain[i].pattern.len() > shared {
		i = int(s.plain[i].parent)
	}
	return i
}

func (s *ruleset) pattern(i int) string { return s.plain[i].pattern.in(s.text) }

// sortRules sorts rules by their patterns, the Disallow before the Allow of the same one, and removes repetitions
// except the first in the file (RFC 9309 2.2.2 permits it).
func sortRules(text string, rules []rule) []rule {
	slices.SortFunc(rules, func(a, b rule) int {
		if order := strings.Compare(a.pattern.in(text), b.pattern.in(text)); order != 0 {
			return order
		}
		return cmp.Or(cmp.Compare(a.access(), b.access()), cmp.Compare(a.line, b.line))
	})
	return slices.CompactFunc(rules, func(a, b rule) bool {
		return a.allow == b.allow && a.pattern.in(text) == b.pattern.in(text)
	})
}
