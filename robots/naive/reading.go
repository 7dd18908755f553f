package naive

import (
	"cmp"
	"slices"
	"strings"
)

// Reading is a body as one document reads it for one crawler.
type Reading struct {
	standard string
	rules    []Rule // the first that fits decides
}

// Read reads body for the crawler of that product token by one of the three documents: "draft1996" is "A Method for Web
// Robots Control", draft-koster-robots-00, "std1994" is "A Standard for Robot Exclusion", any other name is RFC 9309.
func Read(standard string, body []byte, token string) *Reading {
	r := &Reading{standard: standard}
	switch standard {
	case "draft1996":
		r.rules = binding(records(body, "allow"), token)
		for i := range r.rules {
			r.rules[i].Pattern = decode(r.rules[i].Pattern)
		}
	case "std1994": // it has no Allow, and compares bytes as they are
		r.rules = binding(records(body, "disallow"), token)
	default:
		r.rules, _, _ = read(body, token)
		// RFC 9309 2.2.2: the longest wins, and allow a tie; then the first.
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
	// "The first match found is used." An empty rule has no effect.
	r.rules = slices.DeleteFunc(r.rules, func(n Rule) bool { return n.Pattern == "" })
	return r
}

// target spells a target for comparison with patterns.
func (r *Reading) target(target string) string {
	switch r.standard {
	case "draft1996":
		return decode(request(target))
	case "std1994":
		return request(target)
	}
	return spell(request(target), false)
}

// Size returns the approximate memory of a Reading in bytes.
func (r *Reading) Size() (n int) {
	for _, rule := range r.rules {
		n += 40 + len(rule.Pattern)
	}
	return n
}

// Allowed reports whether the crawler may fetch target (path and query, as on the request line), and the line that
// decided, from 1; 0 when none did.
func (r *Reading) Allowed(target string) (allowed bool, line int) {
	if best, _ := r.deciding(target); best != nil {
		return best.Allow, best.Line
	}
	return true, 0
}

// RunnerUp returns the line of the rule that would decide about target without the one that does, and its repetitions;
// 0 without one.
func (r *Reading) RunnerUp(target string) (line int) {
	best, rest := r.deciding(target)
	target = r.target(target)
	for _, n := range rest {
		if (n.Pattern != best.Pattern || n.Allow != best.Allow) && r.fits(n.Pattern, target) {
			return n.Line
		}
	}
	return 0
}

// deciding returns the first rule that fits, and those behind it; nil without one. "/robots.txt" is always allowed.
func (r *Reading) deciding(target string) (*Rule, []Rule) {
	if target = r.target(target); target == "/robots.txt" {
		return nil, nil
	}
	i := slices.IndexFunc(r.rules, func(n Rule) bool { return r.fits(n.Pattern, target) })
	if i < 0 {
		return nil, nil
	}
	return &r.rules[i], r.rules[i+1:]
}

// fits reports whether a pattern matches target. By RFC 9309 it is cut at each "*": its first piece begins the target,
// each later piece is found as early as possible after the previous one, and with "$" the last one ends the target.
func (r *Reading) fits(pattern, target string) bool {
	if r.standard == "draft1996" || r.standard == "std1994" { // "any URL that starts with this value"
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
