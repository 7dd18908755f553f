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
	parent  int32 // among plain rules: the next best of those that match whatever this one matches; -1 for none
	allow   bool
}

// outranks reports whether a decides when both match.
func outranks(a, b *rule) bool { return byRank(*a, *b) < 0 }

// byRank puts first the rule with more octets, then the Allow (RFC 9309 2.2.2), then the first in the file, which
// changes no answer but says which line is named.
func byRank(a, b rule) int {
	return cmp.Or(cmp.Compare(b.pattern.len(), a.pattern.len()), cmp.Compare(b.access(), a.access()), cmp.Compare(a.line, b.line))
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
// another, and the best of them lies on the chain of parents of the last rule that does not sort after the target:
// so one binary search and a walk over links find it, however many rules there are. The search compares eight octets
// at a time, from where the patterns begin to differ.
//
// Rules with "*" or "$" are sorted by rank and tried one after the other, until no rule left could be even second.
type ruleset struct {
	text   string // what the spans of the rules refer to
	plain  []rule
	common string   // what every plain pattern begins with
	keys   []uint64 // per plain rule, the octets after common, as key makes them
	wild   []rule
}

// newRuleset takes the rules over.
func newRuleset(text string, rules []rule) ruleset {
	s := ruleset{text: text, plain: rules[:0]}
	for _, r := range rules {
		if isWild(r.pattern.in(text)) {
			s.wild = append(s.wild, r)
		} else {
			s.plain = append(s.plain, r)
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

// empty reports whether there are no rules.
func (s *ruleset) empty() bool { return len(s.plain)+len(s.wild) == 0 }

// link sets the parents and the keys of the sorted plain rules.
func (s *ruleset) link() {
	if len(s.plain) == 0 {
		return
	}
	first, last := s.plain[0].pattern.in(s.text), s.plain[len(s.plain)-1].pattern.in(s.text)
	s.common = first[:sharedLen(first, last)]
	s.keys = make([]uint64, len(s.plain))
	for i := range s.plain {
		r := &s.plain[i]
		pattern := r.pattern.in(s.text)
		s.keys[i] = key(pattern[len(s.common):])
		r.parent = int32(i) - 1
		for r.parent >= 0 && !strings.HasPrefix(pattern, s.plain[r.parent].pattern.in(s.text)) {
			r.parent = s.plain[r.parent].parent
		}
	}
}

// decide returns the rule that decides about a canonical target and the one that would without it; nil for none.
func (s *ruleset) decide(target string) (best, next *rule) {
	if i := s.longest(target); i >= 0 {
		best = &s.plain[i]
		if best.parent >= 0 {
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

// longest returns the index of the longest plain rule that matches target, or -1.
func (s *ruleset) longest(target string) int {
	if len(s.plain) == 0 || !strings.HasPrefix(target, s.common) {
		return -1
	}
	i := s.lastNotAfter(target)
	if i < 0 {
		return -1
	}
	// Parents are prefixes of s.plain[i], so that a parent matches if it is no longer than what that rule shares with
	// the target. One comparison serves them all.
	shared := sharedLen(s.plain[i].pattern.in(s.text), target)
	for i >= 0 && s.plain[i].pattern.len() > shared {
		i = int(s.plain[i].parent)
	}
	return i
}

// lastNotAfter returns the index of the last plain rule that does not sort after target, or -1.
func (s *ruleset) lastNotAfter(target string) int {
	k := key(target[len(s.common):])
	low, high := 0, len(s.keys)
	for low < high {
		if middle := (low + high) / 2; s.keys[middle] <= k {
			low = middle + 1
		} else {
			high = middle
		}
	}
	// Among the rules of the same key the octets behind it tell.
	i := low - 1
	if i < 0 || s.keys[i] != k || s.plain[i].pattern.in(s.text) <= target {
		return i
	}
	first, _ := slices.BinarySearch(s.keys[:i], k)
	return first - 1 + sort.Search(i-first, func(n int) bool { return s.plain[first+n].pattern.in(s.text) > target })
}

// key returns the first eight octets of s as a number that sorts as they do. No canonical spelling has a zero octet,
// so filling up with zeros keeps the order.
func key(s string) (k uint64) {
	if len(s) >= 8 {
		return uint64(s[0])<<56 | uint64(s[1])<<48 | uint64(s[2])<<40 | uint64(s[3])<<32 |
			uint64(s[4])<<24 | uint64(s[5])<<16 | uint64(s[6])<<8 | uint64(s[7])
	}
	for i := range len(s) {
		k |= uint64(s[i]) << (56 - 8*i)
	}
	return k
}

// sharedLen returns how many octets a and b have in common at their start.
func sharedLen(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func isWild(pattern string) bool {
	return strings.IndexByte(pattern, '*') >= 0 || strings.HasSuffix(pattern, "$")
}

// matches reports whether a canonical pattern with "*" or a final "$" matches a canonical target (RFC 9309 2.2.3).
// The text before the first "*" must stand at the start, each later piece is taken where it first occurs, and the last
// piece before "$" must stand at the end. Nothing is ever tried twice, so that the time is linear in the lengths.
func matches(pattern, target string) bool {
	pattern, ends := strings.CutSuffix(pattern, "$")
	piece, pattern, more := strings.Cut(pattern, "*")
	if !strings.HasPrefix(target, piece) {
		return false
	}
	target = target[len(piece):]
	for more {
		piece, pattern, more = strings.Cut(pattern, "*")
		if ends && !more {
			return strings.HasSuffix(target, piece)
		}
		i := strings.Index(target, piece)
		if i < 0 {
			return false
		}
		target = target[i+len(piece):]
	}
	return !ends || target == ""
}
