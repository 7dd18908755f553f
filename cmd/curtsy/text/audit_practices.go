package text

import (
	"fmt"
	"slices"

	"curtsy/storage/audit/cbcp"
)

// Practices is for a terminal how a crawl stands to the crawler best practices: broken clauses first.
func Practices(r *cbcp.Result) string { return Wrap(Render("practices", newPractices(r))) }

// practicesSheet is what is shown of the crawler best practices.
type practicesSheet struct {
	Verdict, Texts string
	States         []practiceState
}

func newPractices(r *cbcp.Result) *practicesSheet {
	return &practicesSheet{practicesVerdict(r), practicesTexts(r), practiceStates(r)}
}

// EvidenceOf reports whether the evidence of a clause is to be shown: the next clause may have the same.
func (s practiceState) EvidenceOf(i int) bool {
	c := s.Clauses[i]
	return i+1 == len(s.Clauses) || s.Clauses[i+1].Evidence != c.Evidence || len(c.Examples) > 0
}

// practicesVerdict is the headline.
func practicesVerdict(r *cbcp.Result) string {
	musts := ""
	switch {
	case r.Musts > 0:
		musts = fmt.Sprintf(" (%d of them a MUST)", r.Musts)
	case r.Broken > 0:
		musts = " (no MUST)"
	}
	return fmt.Sprintf("%d kept, %d broken%s, %d not provable", r.Kept, r.Broken, musts, r.Unknown)
}

// practicesTexts says by which texts the clauses are judged.
func practicesTexts(r *cbcp.Result) string {
	return r.Draft + ", its texts " + r.Texts + ". Levels: in -00, and in the editors' copy where it differs; the higher one counts"
}

// clauseLevel is where a clause stands in the draft, and how strongly it asks there.
func clauseLevel(c cbcp.Judged) string {
	switch {
	case c.First == cbcp.Absent:
		return c.Section + ", new: " + string(c.Copy)
	case c.First == c.Copy:
		return c.Section + ", " + string(c.First)
	}
	return c.Section + ", " + string(c.First) + ", now " + string(c.Copy)
}

// practiceState is all clauses in a state.
type practiceState struct {
	State   cbcp.State
	Title   string
	Clauses []cbcp.Judged
}

var stateTitles = map[cbcp.State]string{cbcp.Broken: "Broken", cbcp.Kept: "Kept", cbcp.NotProvable: "Not provable"}

// practiceStates sorts the clauses by their state, those broken first.
func practiceStates(r *cbcp.Result) (all []practiceState) {
	for _, state := range []cbcp.State{cbcp.Broken, cbcp.Kept, cbcp.NotProvable} {
		in := slices.DeleteFunc(slices.Clone(r.Clauses), func(c cbcp.Judged) bool { return c.State != state })
		if len(in) > 0 {
			all = append(all, practiceState{state, stateTitles[state], in})
		}
	}
	return all
}
