package text

import (
	"slices"
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

// Access logs that contradict a crawl refute its level, and those that agree are counted.
func TestAudit_RefutedByAccessLogs(t *testing.T) {
	r := &audit.Result{
		Level: audit.SelfConsistent, Refuted: []audit.Reached{{Level: audit.ConfirmedByLog, How: "http://a.test: 2 requests are not archived"}},
		Logs: []*audit.HostLog{{Confirmed: true}, {}, {Confirmed: true}},
	}
	if want := "confirmed by access log: refuted: http://a.test: 2 requests are not archived; 2 of 3 logs agree"; !slices.Contains(reach(r), want) {
		t.Errorf("%q lacks %q", reach(r), want)
	}
}
