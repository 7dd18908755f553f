package robots

import (
	"cmp"
	"slices"
)

// sortRules puts rules into the order of their patterns, the Disallow before the Allow of the same one, and removes
// repetitions, of which the first in the file stays (RFC 9309 2.2.2 permits it).
func sortRules(text string, rules []rule) []rule {
	if len(rules) < 2 {
		return rules
	}
	s := sorter{text: text, rules: rules}
	var few [32]place
	places := few[:min(len(rules), len(few))]
	if len(rules) > len(few) {
		places = make([]place, len(rules))
	}
	for i := range places {
		places[i].rule = int32(i)
	}
	s.sort(places, 0)
	for i := range places {
		// Follow the circle of rules that take each other's places.
		to := i
		for from := int(places[to].rule); from != i; from = int(places[to].rule) {
			rules[to], rules[from] = rules[from], rules[to]
			places[to].rule = int32(to)
			to = from
		}
		places[to].rule = int32(to)
	}
	if !s.repeats {
		return rules
	}
	return slices.CompactFunc(rules, func(a, b rule) bool {
		return a.allow == b.allow && a.pattern.in(text) == b.pattern.in(text)
	})
}

// sorter sorts rules without moving them: places stand for them.
type sorter struct {
	text    string
	rules   []rule
	spare   []place
	repeats bool // some rules have the same pattern
}

// place is a rule, and eight octets of its pattern as key makes them.
type place struct {
	key  uint64
	rule int32
}

// sort sorts places, whose patterns are equal up to skip, by the eight octets after what they share, and then those
// that are equal in these in the same way.
func (s *sorter) sort(places []place, skip int) {
	skip += s.shared(places, skip)
	for i := range places {
		places[i].key = key(s.pattern(places[i])[skip:])
	}
	s.byKey(places)
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].key == places[0].key {
			n++
		}
		switch equal := places[:n]; {
		case n == 1:
		case equal[0].key&0xFF != 0:
			s.sort(equal, skip+8)
		default: // the patterns end here
			s.repeats = true
			slices.SortFunc(equal, func(a, b place) int {
				x, y := s.rules[a.rule], s.rules[b.rule]
				return cmp.Or(cmp.Compare(x.access(), y.access()), cmp.Compare(x.line, y.line))
			})
		}
		places = places[n:]
	}
}

// manyPlaces is how many places are sorted without comparing.
const manyPlaces = 64

// byKey sorts places by their keys: few by comparing, many octet by octet from the last, which costs no comparison.
func (s *sorter) byKey(places []place) {
	if len(places) < manyPlaces {
		for i := range places {
			for j := i; j > 0 && places[j].key < places[j-1].key; j-- {
				places[j], places[j-1] = places[j-1], places[j]
			}
		}
		return
	}
	var counts [8][256]int32
	for _, p := range places {
		for octet := range counts {
			counts[octet][byte(p.key>>(8*octet))]++
		}
	}
	if s.spare == nil {
		s.spare = make([]place, len(s.rules))
	}
	from, to := places, s.spare[:len(places)]
	for octet := range counts {
		count := &counts[octet]
		if count[byte(from[0].key>>(8*octet))] == int32(len(from)) {
			continue // they all have the same
		}
		start := int32(0)
		for i, n := range count {
			count[i] = start
			start += n
		}
		for _, p := range from {
			i := &count[byte(p.key>>(8*octet))]
			to[*i] = p
			*i++
		}
		from, to = to, from
	}
	if &from[0] != &places[0] {
		copy(places, from)
	}
}

// shared returns how many octets all patterns have in common from skip on.
func (s *sorter) shared(places []place, skip int) int {
	if len(places) == 0 {
		return 0
	}
	common := s.pattern(places[0])[skip:]
	for _, p := range places[1:] {
		common = common[:sharedLen(common, s.pattern(p)[skip:])]
	}
	return len(common)
}

func (s *sorter) pattern(p place) string { return s.rules[p.rule].pattern.in(s.text) }
