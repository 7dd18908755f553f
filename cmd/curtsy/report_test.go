package main

import (
	"testing"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

func TestEveryCodeOfAnAuditHasAMeaning(t *testing.T) {
	t.Parallel()
	r := &audit.Result{Level: audit.SelfConsistent, Counts: []audit.Count{{Code: finding.Gap, Found: 3}, {Code: finding.CrashInFlight, Found: 2, Notes: 2}}}
	r.Totals.Violations = 3
	r.Findings = []finding.Finding{{Code: finding.Gap, URL: "http://h.example/", Required: "1 s", Observed: "0.5 s"}}
	a := auditTold(r)
	if a.Clean || a.Violations != 3 || len(a.Findings) != 2 || !a.Findings[0].Violation || a.Findings[1].Violation || len(a.Findings[0].Samples) != 1 {
		t.Errorf("%+v", a)
	}
}
