package cbcp

import (
	"slices"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// violations are how many violations of codes the audit found, and the first of them.
func violations(r *audit.Result, codes ...finding.Code) (n int64, first []Example) {
	for _, c := range r.Counts {
		if slices.Contains(codes, c.Code) {
			n += c.Found - c.Notes
		}
	}
	for _, f := range r.Findings {
		if slices.Contains(codes, f.Code) && !f.Note {
			add(&first, Example{Place: f.Place, URL: f.URL, Time: f.Time, Observed: f.Observed + "; required: " + f.Required})
		}
	}
	return n, first
}

// doubts are how many checks of codes the audit could not make, and why it could not make the first.
func doubts(r *audit.Result, codes ...finding.Code) (n int64, why string) {
	for _, h := range r.Hosts {
		for _, u := range h.Why {
			if !slices.Contains(codes, u.What) {
				continue
			}
			if n == 0 {
				why = h.Authority + ": " + u.Why
			}
			n += u.Count
		}
	}
	return n, why
}
