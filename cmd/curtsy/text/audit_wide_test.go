package text

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"curtsy/storage/audit"
)

// No line is wider than a terminal but the table of hosts, and those that a name or a URL makes so.
func TestTheTextOfAnAuditFits(t *testing.T) {
	long := strings.Repeat("some words that say what was required of the crawl, ", 4)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &audit.Result{
		Level: audit.ConfirmedByLog, From: at, To: at.Add(time.Hour), Confirmed: &audit.Share{Hosts: 1, OfHosts: 36, Exchanges: 44, OfExchanges: 1412},
		Hosts:    []*audit.Host{{Authority: "http://bakery.test", Pages: 3, Dates: 4, Skew: 3}},
		OwnHosts: []audit.OwnHost{{Authority: "http://bakery.test", Why: long}},
		Measures: []string{long}, CannotShow: []string{long},
		Ledger: &audit.LedgerCheck{Head: strings.Repeat("0a", 32), Keys: []string{"ed25519:" + strings.Repeat("b", 44)}, Unsent: 3, Untold: 2},
	}
	for line := range strings.Lines(Audit(r)) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > Columns && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasSuffix(line, "HOST") && !strings.HasSuffix(line, ".test") {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}
