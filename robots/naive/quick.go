package naive

// This file gives the answers of package naive for whole archives: the rules are read once, by naive, and looked for in
// a target by pieces, not octet by octet. It shares no code with package robots. A test holds it to naive.AllowedBy,
// which remains the oracle.

import (
	"cmp"
	"slices"
	"strings"
)

// Reading is what one document makes of a body for one crawler.
type Reading struct {
	standard string
	rules    []Rule // in the order in which the first that fits decides
}

// Read reads body for the crawler of that product token, by a document as in naive.AllowedBy.
func Read(standard string, body []byte, token string) *Reading {
	r := &Reading{standard, Rules(standard, body, token)}
	if standard == "draft1996" || standard == "std1994" {
		r.rules = slices.DeleteFunc(r.rules, func(n Rule) bool { return n.Pattern == "" }) // it has no effect
		return r
	}
	// RFC 9309 2.2.2: the longest wins, and allow a tie; of what is left the first.
	slices.SortStableFunc(r.rules, func(a, b Rule) int {
		if d := cmp.Compare(len(b.Pattern), len(a.Pattern)); d != 0 || a.Allow == b.Allow {
			return d
		}
		if a.Allow {
			return -1
		}
		return 1
	})
	return r
}

// Size is about how many octets of memory a Reading holds.
func (r *Reading) Size() (n int) {
	for _, rule := range r.rules {
		n += 40 + len(rule.Pattern)
	}
	return n
}

// Allowed is naive.AllowedBy for the body, the token and the document that were read.
func (r *Reading) Allowed(target string) (allowed bool, line int) {
	if best, _ := r.deciding(target); best != nil {
		return best.Allow, best.Line
	}
	return true, 0
}

// RunnerUp is the line of the rule that would decide about target if the one that does, and its repetitions, were not
// there; 0 when there is none.
func (r *Reading) RunnerUp(target string) (line int) {
	best, rest := r.deciding(target)
	target = Target(r.standard, target)
	for _, n := range rest {
		if (n.Pattern != best.Pattern || n.Allow != best.Allow) && r.fits(n.Pattern, target) {
			return n.Line
		}
	}
	return 0
}

// deciding is the first rule that fits, and those behind it; nil where none decides.
func (r *Reading) deciding(target string) (*Rule, []Rule) {
	if target = Target(r.standard, target); target == "/robots.txt" {
		return nil, nil
	}
	i := slices.IndexFunc(r.rules, func(n Rule) bool { return r.fits(n.Pattern, target) })
	if i < 0 {
		return nil, nil
	}
	return &r.rules[i], r.rules[i+1:]
}

// fits reports whether a pattern matches target. By RFC 9309 it is cut at each "*": its first piece begins the target,
// each piece after it is looked for behind the one before, as early as it can be, and with "$" the last one ends the
// target.
func (r *Reading) fits(pattern, target string) bool {
	if r.standard == "draft1996" || r.standard == "std1994" {
		return strings.HasPrefix(target, pattern)
	}
	pattern, whole := strings.CutSuffix(pattern, "$")
	piece, rest, more := strings.Cut(pattern, "*")
	target, ok := strings.CutPrefix(target, piece)
	for ok && more {
		if piece, rest, more = strings.Cut(rest, "*"); !more && whole {
			return strings.HasSuffix(target, piece)
		}
		_, target, ok = strings.Cut(target, piece)
	}
	return ok && (!whole || target == "")
}
