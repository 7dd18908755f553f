package robots

import (
	"cmp"
	"math/bits"
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

// longest returns the index of the longest plain rule that matches target, or -1.
//
// The answer is sure even if the target is not canonical, as long as it is up to where it parts from the rules: what
// comes behind was not looked at and may be spelled in any way.
func (s *ruleset) longest(target string) (i int, sure bool) {
	if len(s.plain) == 0 {
		return -1, true
	}
	n := len(s.common)
	if n > 1 && !strings.HasPrefix(target, s.common) { // both begin with "/"
		return -1, s.settled(target, sharedLen(s.common, target))
	}
	low, high := s.goOn(target)
	if low == high {
		return s.top, s.settled(target, n)
	}
	var k uint64
	if n+8 <= len(target) {
		k = key8(target[n:])
	} else {
		k = keyAt(target, n)
	}
	i = low - 1
	if s.next == nil {
		i += notAfter(s.keys[low:high], k)
	} else {
		i += notAfterPair(s.keys[low:high], s.next[low:], k, keyAt(target, n+8))
	}
	// The target shares as much with one of the two rules that it stands between as with any other, or it is common alone.
	shared, after := n, n
	if i >= low {
		if differ, length := s.keys[i]^k, s.plain[i].pattern.len(); differ != 0 {
			shared += bits.LeadingZeros64(differ) / 8
		} else if length <= n+8 || strings.HasPrefix(target, s.pattern(i)) { // the key may hold all of it
			shared = length
		} else {
			i, shared = s.lastNotAfter(low, i, target)
		}
	}
	if i+1 < high {
		if differ := s.keys[i+1] ^ k; differ != 0 {
			after += bits.LeadingZeros64(differ) / 8
		} else {
			after = sharedLen(s.pattern(i+1), target)
		}
	}
	if i < low {
		return s.top, s.settled(target, after)
	}
	// Parents are prefixes of i, so that a parent matches if it is no longer than what i shares with the target.
	sure = s.settled(target, max(shared, after))
	for i >= 0 && s.plain[i].pattern.len() > shared {
		i = int(s.plain[i].parent)
	}
	return i, sure
}

// goOn returns the range of the plain rules whose first octet after common is that of target. There are none when
// target ends there.
func (s *ruleset) goOn(target string) (low, high int) {
	if n := len(s.common); n < len(target) {
		c := startOf(target[n])
		return int(s.starts[c]), int(s.starts[c+1])
	}
	return 0, 0
}

// startOf returns the index in starts for an octet. All that are not ASCII share one.
func startOf(c byte) byte { return min(c, 128) }

// lastNotAfter returns the last plain rule from low-1 to i that does not sort after target, and how many octets the two
// share. Rule i goes on behind its key, which is that of the target: the octets there tell.
func (s *ruleset) lastNotAfter(low, i int, target string) (last, shared int) {
	pattern := s.pattern(i)
	shared = sharedLen(pattern, target)
	if shared == len(pattern) || shared < len(target) && pattern[shared] < target[shared] {
		return i, shared
	}
	last = low - 1 + sort.Search(i-low, func(n int) bool { return s.pattern(low+n) > target })
	if last < low {
		return last, len(s.common)
	}
	return last, sharedLen(s.pattern(last), target)
}

func (s *ruleset) pattern(i int) string { return s.plain[i].pattern.in(s.text) }

// notAfter returns how many of the sorted keys are not greater than k. It has no branch that depends on them.
func notAfter(keys []uint64, k uint64) (low int) {
	for n := len(keys); n > 0; {
		half := (n + 1) / 2
		if keys[low+half-1] <= k {
			low += half
		}
		n -= half
	}
	return low
}

// notAfterPair does so for keys that go on in next.
func notAfterPair(keys, next []uint64, k, then uint64) (low int) {
	for n := len(keys); n > 0; {
		half := (n + 1) / 2
		_, less := bits.Sub64(then, next[low+half-1], 0)
		if _, less = bits.Sub64(k, keys[low+half-1], less); less == 0 {
			low += half
		}
		n -= half
	}
	return low
}

// settled reports whether a target, which shares its first n octets with a rule and no more, has a canonical octet
// there as well, or its end, and not within an escape.
func (s *ruleset) settled(target string, n int) bool {
	if n < len(target) && octets[target[n]]&stands == 0 {
		return false
	}
	return !s.escapes || (n < 1 || target[n-1] != '%') && (n < 2 || target[n-2] != '%')
}

// key returns the first eight octets of s as a number that sorts as they do. No canonical spelling of a pattern has a
// zero octet, so filling up with zeros keeps the order.
func key(s string) (k uint64) {
	if len(s) >= 8 {
		return key8(s)
	}
	for i := range len(s) {
		k |= uint64(s[i]) << (56 - 8*i)
	}
	return k
}

// key8 is key for a string that is long enough.
func key8(s string) uint64 {
	_ = s[7]
	return uint64(s[0])<<56 | uint64(s[1])<<48 | uint64(s[2])<<40 | uint64(s[3])<<32 |
		uint64(s[4])<<24 | uint64(s[5])<<16 | uint64(s[6])<<8 | uint64(s[7])
}

// keyAt returns key(s[n:]), or 0 behind the end of s.
func keyAt(s string, n int) uint64 {
	switch {
	case n >= len(s):
		return 0
	case len(s) < 8 || n+8 <= len(s):
		return key(s[n:])
	}
	return key(s[len(s)-8:]) << (8 * (n + 8 - len(s)))
}

// sharedLen returns how many octets a and b have in common at their start.
func sharedLen(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if differ := key8(a[i:]) ^ key8(b[i:]); differ != 0 {
			return i + bits.LeadingZeros64(differ)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// sortRules puts rules into the order of their patterns, the Disallow before the Allow of the same one, and removes
// repetitions, of which the first in the file stays (RFC 9309 2.2.2 permits it).
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
