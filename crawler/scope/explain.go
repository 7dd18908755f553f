package scope

// Opinion is what one rule says of a candidate.
type Opinion struct {
	Rule string // its name
	Says string // one of the words below
}

// The opinions of a rule.
const (
	SaysIn      = "in"
	SaysOut     = "out"
	SaysNothing = "no opinion"
)

// Explain returns what Judge returns, and the opinions of the rules that were asked for it, in order: the last of them
// decides. Later rules are not asked, and those that the configuration gives nothing to say are left out.
func (s *Scope) Explain(c Candidate) (Verdict, []Opinion) {
	var asked []Opinion
	for i := range s.rules {
		r := &s.rules[i]
		switch r.judge(c) {
		case accept:
			return Verdict{In: true, Rule: r.name}, append(asked, Opinion{r.name, SaysIn})
		case refuse:
			return Verdict{Rule: r.name, Timeless: r.timeless}, append(asked, Opinion{r.name, SaysOut})
		}
		asked = append(asked, Opinion{r.name, SaysNothing})
	}
	panic("scope: the last rule had no opinion")
}
