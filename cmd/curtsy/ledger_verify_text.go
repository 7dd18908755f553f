package main

import (
	"cmp"
	"curtsy/storage/proof"
	"fmt"
)

// proofLevels say what the levels mean.
var proofLevels = map[proof.Level]string{
	proof.SelfConsistent: "self-consistent: its parts agree; its author could have forged all of them",
	proof.Signed:         "signed by a key that you know",
	proof.Cosigned:       "cosigned by a witness that you know: it was not rewritten since",
	proof.Confirmed:      "confirmed by the site's own access log",
}

// proofText is what the template of a proof takes.
type proofText struct{ *proof.Result }

// About is the host that the proof is of.
func (r proofText) About() string { return cmp.Or(r.Host, "URLs without a host") }

// Reached is the level in words.
func (r proofText) Reached() string { return proofLevels[r.Level] }

// MoreFindings are those that were counted and not kept.
func (r proofText) MoreFindings() (all []string) {
	kept := map[proof.Code]int64{}
	for _, f := range r.Findings {
		kept[f.Code]++
	}
	for _, f := range r.Findings {
		if more := r.Counts[f.Code] - kept[f.Code]; more > 0 {
			all = append(all, fmt.Sprintf("%s: %d more", f.Code, more))
			kept[f.Code] += more
		}
	}
	return all
}

// UpTo says of which part of the log a proof is that it has no other lines, if not of all.
func (r proofText) UpTo() string {
	if r.Covered >= r.Size-1 {
		return ""
	}
	return fmt.Sprintf(" among its first %d entries", r.Covered)
}

// Outside counts the requests that a log cannot confirm.
func (r proofText) Outside() int64 { return r.Log.Uncovered + r.Log.Unanswered + r.Log.Outside }
