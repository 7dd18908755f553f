package robots

import (
	"cmp"
	"slices"
)

// Explanation is all that a policy has to say about a target: the verdict, and how it came about.
type Explanation struct {
	Verdict Verdict
	Token   string // the product token that the policy was read for
	Named   bool   // a group names that token; otherwise those of "*" bind, if there are any
	Group   string // the value of the first user-agent line of the groups that bind; empty when none does
	Target  string // the target in the spelling that rules are compared with
	Rules   int    // how many rules bind, repetitions left out

	// Candidates are the rules that match, the one that decides first, then each by what would decide without those
	// before it: by length under RFC 9309 (2.2.2), by their place in the file under the older standards. There are none
	// when the target is that of the robots.txt itself.
	Candidates []Candidate
}

// Candidate is a rule that matches a target.
type Candidate struct {
	Line    int
	Rule    string // as written
	Group   string // the value of the user-agent line of its group, as written
	Pattern string // in the spelling that is compared with targets
	Length  int    // octets of Pattern, "*" and "$" counted: the most specific match is the one with the most (2.2.2)
	Allow   bool
}

// Explain judges a target as Match does and tells everything that spoke for or against. It costs more than Match: it is
// for people.
func (p *Policy) Explain(target string) Explanation {
	e := Explanation{
		Verdict: p.Match(target), Token: p.token, Named: p.named, Group: p.group,
		Target: canonicalTarget(target, p.standard), Rules: len(p.rules.plain) + len(p.rules.wild),
	}
	if e.Verdict.Reason == RobotsItself {
		return e
	}
	for _, r := range p.rules.matching(e.Target) {
		e.Candidates = append(e.Candidates, Candidate{
			Line: int(r.line), Rule: r.written.in(p.rules.text), Group: p.names[r.group],
			Pattern: r.pattern.in(p.rules.text), Length: r.pattern.len(), Allow: r.allow,
		})
	}
	return e
}

// matching returns all rules that match a canonical target, the one that decides first.
func (s *ruleset) matching(target string) []*rule {
	var all []*rule
	i, _ := s.longest(target)
	for ; i >= 0; i = int(s.plain[i].parent) {
		all = append(all, &s.plain[i])
	}
	for i := range s.wild {
		if w := &s.wild[i]; matches(w.pattern.in(s.text), target) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *rule) int {
		if s.inOrder {
			return cmp.Compare(a.line, b.line)
		}
		return byRank(*a, *b)
	})
	return all
}

// Explain has each policy of the rulebook explain itself, in the order of Policies.
func (b *Rulebook) Explain(target string) []Explanation {
	all := make([]Explanation, len(b.policies))
	for i, p := range b.policies {
		all[i] = p.Explain(target)
	}
	return all
}
