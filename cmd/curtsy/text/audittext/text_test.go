package audittext

import (
	"strings"
	"testing"

	"curtsy/storage/audit"
)

// The first lines say how much was judged, how much could not be proved, and which share somebody else confirms.
func TestTheHeadlineOfAnAuditSaysTheShare(t *testing.T) {
	r := &audit.Result{Clean: true, Level: audit.SelfConsistent, Totals: audit.Totals{Exchanges: 1412},
		Hosts: []*audit.Host{{Pages: 1000, Robots: 1}, {Pages: 410, Robots: 1}, {Disallowed: 3}}}
	if got := verdict(r); got != "No violation in 1412 exchanges with 2 hosts" {
		t.Error(got)
	}
	r.Totals.Unprovable, r.Ledger = 700, &audit.LedgerCheck{Unsent: 2}
	if got := verdict(r); got != "No violation in 1412 exchanges with 2 hosts and 2 attempts that reached nobody; 700 checks could not be proved either way" {
		t.Error(got)
	}
	r.Level, r.Confirmed = audit.ConfirmedByLog, &audit.Share{Hosts: 1, OfHosts: 36, Exchanges: 44, OfExchanges: 1412}
	if text := strings.Join(strings.Fields(Text(r)), " "); !strings.Contains(text, "Level reached: confirmed by access log: 1 of 36 hosts and 44 of 1412 exchanges (") {
		t.Error(text)
	}
}
