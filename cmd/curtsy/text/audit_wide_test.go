package text

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
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

// The audit lists damage first, with URL and offset, and does not call it a breach of politeness.
func TestAudit_DamageIsNotMisconduct(t *testing.T) {
	at := finding.Place{File: "news/warc/a.warc.gz", Offset: 4356}
	r := &audit.Result{
		Counts:   []audit.Count{{Code: finding.BadRecord, Found: 2}, {Code: finding.FileDiffers, Found: 1}},
		Findings: []finding.Finding{{Code: finding.BadRecord, Place: at, Unreadable: true}, {Code: finding.BadRecord, Place: at, URL: "http://bakery.test/", Unreadable: true}},
		Totals:   audit.Totals{Violations: 3, Exchanges: 9},
	}
	got := strings.Join(strings.Fields(Audit(r)), " ")
	for _, want := range []string{
		"3 violations in 9 requests to 0 hosts; the archive is damaged or changed, but no breach of a politeness rule was found",
		"digests news/warc/a.warc.gz offset 4356 http://bakery.test/ Restore",
	} {
		assert.Contains(t, got, want)
	}
	for _, c := range []finding.Code{finding.OptOuts, finding.Gap, finding.BadRecord} {
		r := *r
		r.Counts = append(slices.Clone(r.Counts), audit.Count{Code: c, Found: 1})
		r.Findings = append(slices.Clone(r.Findings), finding.Finding{Code: c})
		assert.NotContainsf(t, Audit(&r), "no breach", "with %s beside the damage it says that no rule was broken", c)
	}
	r.Counts = append(r.Counts, audit.Count{Code: finding.Gap, Found: 1})
	assert.NotContains(t, verdict(r), "no politeness rule")
}

// The result names the robots.txt that each host's requests were checked against.
func TestAudit_NamesRobotsUsed(t *testing.T) {
	r := &audit.Result{Hosts: []*audit.Host{
		{Authority: "http://a.test", Robots: 1, Policy: "rules", RobotsSHA256: "ab12", RobotsTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		{Authority: "http://b.test", Pages: 1, Policy: "not requested"}, {Authority: "http://c.test", Robots: 2, Policy: "none"},
	}}
	want := []string{"http://a.test: rules, SHA-256 ab12, fetched 2026-03-01 12:00:00 UTC", "http://c.test: none"}
	if got := policies(r); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
