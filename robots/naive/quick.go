package naive

// This file gives the answers of package naive for whole archives: the rules are read once, by naive, and found in
// a target without a step for each octet of both. It shares no code with package robots. A test holds it to
// naive.AllowedBy, which remains the oracle.
//
// A pattern of RFC 9309 is cut at each "*". Its first piece begins the target; each piece after it is looked for behind
// the one before, as early as it can be; with "$" the last one ends the target. The rules stand in the order in which
// the first that fits decides. A piece that many rules have is looked for in each part of a target once: a body of 490
// KiB has 20,000 rules, and its author chooses them.

import (
	"slices"
	"strings"
)

// Reading is what one document makes of a body for one crawler. It is not safe for concurrent use.
type Reading struct {
	standard string
	rules    []quickRule
	pieces   []string // each once
	inRules  []int32  // which pieces, of one rule after the other
	met      []met    // in the last target, of each piece
	searched int      // octets of the last target in which a piece was looked for
	kept     int      // occurrences in met
}

// quickRule is a rule, taken apart.
type quickRule struct {
	pattern  string
	begin    string
	last     string // what the target ends with
	from, to int32  // of inRules: what stands behind stars, in order; none is empty
	line     int32
	least    int32 // the octets of begin, pieces and last: a shorter target does not fit
	allow    bool
	bare     bool // the pattern has no "*"
	whole    bool // the pattern ends with "$"
}

// met is where a piece was met in a target, in order, as far as it was looked for.
type met struct {
	at   []int32
	next int // nothing that begins here or later was looked for
}

// Read reads body for the crawler of that product token, by a document as in naive.AllowedBy.
func Read(standard string, body []byte, token string) *Reading {
	r := &Reading{standard: standard}
	all := Rules(standard, body, token)
	if standard == "draft1996" || standard == "std1994" {
		for _, n := range all {
			if n.Pattern != "" { // an empty one has no effect
				r.rules = append(r.rules, quickRule{pattern: n.Pattern, allow: n.Allow, line: int32(n.Line), begin: n.Pattern,
					bare: true, least: int32(len(n.Pattern))})
			}
		}
		return r
	}
	// RFC 9309 2.2.2: the longest wins, and allow a tie; of what is left the first.
	slices.SortStableFunc(all, func(a, b Rule) int {
		if d := len(b.Pattern) - len(a.Pattern); d != 0 {
			return d
		}
		switch {
		case a.Allow == b.Allow:
			return a.Line - b.Line
		case a.Allow:
			return -1
		}
		return 1
	})
	known := map[string]int32{}
	for _, n := range all {
		r.rules = append(r.rules, r.take(n, known))
	}
	r.met = make([]met, len(r.pieces))
	return r
}

// take takes a rule apart. Pieces that are known have their number.
func (r *Reading) take(n Rule, known map[string]int32) quickRule {
	pattern, whole := strings.CutSuffix(n.Pattern, "$")
	begin, rest, more := strings.Cut(pattern, "*")
	k := quickRule{pattern: n.Pattern, begin: begin, line: int32(n.Line), allow: n.Allow, bare: !more, whole: whole,
		from: int32(len(r.inRules))}
	if whole && more {
		i := strings.LastIndexByte(rest, '*')
		k.last, rest = rest[i+1:], rest[:max(i, 0)]
	}
	k.least = int32(len(k.begin) + len(k.last))
	for p := range strings.SplitSeq(rest, "*") {
		if p == "" {
			continue
		}
		i, ok := known[p]
		if !ok {
			i = int32(len(r.pieces))
			known[p], r.pieces = i, append(r.pieces, p)
		}
		r.inRules, k.least = append(r.inRules, i), k.least+int32(len(p))
	}
	k.to = int32(len(r.inRules))
	return k
}

// Size is about how many octets of memory a Reading holds.
func (r *Reading) Size() int {
	n := 80*len(r.rules) + 4*len(r.inRules) + 48*len(r.pieces)
	for i := range r.rules {
		n += int(r.rules[i].least) // its pieces are parts of one string
	}
	return n
}

// maxKept bounds what is kept of one target's occurrences for the next one, which takes their place.
const maxKept = 1 << 16

// Allowed is naive.AllowedBy for the body, the token and the document that were read.
func (r *Reading) Allowed(target string) (allowed bool, line int) {
	target = Target(r.standard, target)
	if target == "/robots.txt" {
		return true, 0
	}
	r.forget()
	for i := range r.rules {
		if k := &r.rules[i]; r.fits(k, target) {
			return k.allow, int(k.line)
		}
	}
	return true, 0
}

// RunnerUp is the line of the rule that would decide about target if the one that does, and its repetitions, were not
// there; 0 when there is none.
func (r *Reading) RunnerUp(target string) (line int) {
	target = Target(r.standard, target)
	if target == "/robots.txt" {
		return 0
	}
	r.forget()
	var best *quickRule
	for i := range r.rules {
		switch k := &r.rules[i]; {
		case best != nil && k.pattern == best.pattern && k.allow == best.allow || !r.fits(k, target):
		case best == nil:
			best = k
		default:
			return int(k.line)
		}
	}
	return 0
}

// forget makes room for what is met in another target.
func (r *Reading) forget() {
	if r.kept > maxKept {
		clear(r.met)
	}
	for i := range r.met {
		r.met[i].at, r.met[i].next = r.met[i].at[:0], 0
	}
	r.searched, r.kept = 0, 0
}

// fits reports whether a rule's pattern matches target.
func (r *Reading) fits(k *quickRule, target string) bool {
	switch {
	case len(target) < int(k.least) || !strings.HasPrefix(target, k.begin):
		return false
	case k.bare:
		return !k.whole || target == k.begin
	}
	at := len(k.begin)
	for _, p := range r.inRules[k.from:k.to] {
		i := r.find(p, target, at)
		if i < 0 {
			return false
		}
		at = i + len(r.pieces[p])
	}
	return len(target)-at >= len(k.last) && strings.HasSuffix(target, k.last)
}

// find returns where a piece first occurs in target from an octet on, or -1.
func (r *Reading) find(p int32, target string, from int) int {
	m := &r.met[p]
	if i, _ := slices.BinarySearch(m.at, int32(from)); i < len(m.at) {
		return int(m.at[i])
	}
	piece := r.pieces[p]
	for m.next < len(target) {
		i := strings.Index(target[m.next:], piece)
		if i < 0 {
			r.searched, m.next = r.searched+len(target)-m.next, len(target)
			break
		}
		at := m.next + i
		r.searched, r.kept = r.searched+i+1, r.kept+1
		m.at, m.next = append(m.at, int32(at)), at+1
		if at >= from {
			return at
		}
	}
	return -1
}
