package robots

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"strings"
)

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
