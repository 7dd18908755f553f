package text

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/cbcp"
	"curtsy/storage/audit/finding"
)

// trap is harmful text from an archive.
const trap = `"><script>alert(1)</script>` + "\x1b[31m\u202e"

// practicesResult has a clause in each state, with traps in every text from an archive.
func practicesResult() *cbcp.Result {
	r := &cbcp.Result{Draft: cbcp.Draft, Texts: cbcp.Texts, Broken: 1, Musts: 1, Kept: 1}
	for i, c := range cbcp.Clauses() {
		j := cbcp.Judged{Clause: c, Level: c.Level(), State: cbcp.NotProvable, Evidence: "an archive does not show it"}
		switch i {
		case 0:
			j.State, j.Evidence = cbcp.Broken, trap
			j.Examples = []cbcp.Example{{Place: finding.Place{File: trap, Offset: 7, Record: trap}, URL: trap,
				Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Observed: trap}}
		case 1:
			j.State, j.Evidence = cbcp.Kept, strings.Repeat("some words that say what was seen, ", 6)
		default:
			r.Unknown++
		}
		r.Clauses = append(r.Clauses, j)
	}
	return r
}

// Broken clauses come first, with their places; only names make a line wider than a terminal.
func TestThePracticesFitATerminal(t *testing.T) {
	r := practicesResult()
	got := Practices(r)
	for line := range strings.Lines(got) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > Columns && !strings.Contains(line, "script") {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	words := strings.Join(strings.Fields(got), " ")
	for _, says := range []string{"Crawler best practices: 1 kept, 1 broken (1 of them a MUST), 28 not provable", "draft-illyes-webbotauth-cbcp",
		"Broken rep: support and respect the Robots Exclusion Protocol (2.1, MUST, now SHOULD)", "offset 7", "(4, new: SHOULD)", "(2.2, MUST)"} {
		assert.Containsf(t, words, says, "it does not say %q:\n%s", says, got)
	}
	assert.Equalf(t, 1, strings.Count(words, "an archive does not show it"), "the same evidence occurs more than once:\n%s", got)
	if b, k, n := strings.Index(got, "\nBroken\n"), strings.Index(got, "\nKept\n"), strings.Index(got, "\nNot provable\n"); b < 0 || k < b || n < k {
		t.Errorf("sections at %d, %d, %d", b, k, n)
	}
	r.Musts = 0
	assert.Contains(t, practicesVerdict(r), "1 broken (no MUST)")
}

func TestThePracticesShowHostileTextAsText(t *testing.T) {
	r := practicesResult()
	var page strings.Builder
	require.NoError(t, WriteAuditPage(&page, &audit.Result{Clean: true}, r))
	for name, text := range map[string]string{"page": page.String(), "text": Practices(r)} {
		assert.Falsef(t, strings.ContainsAny(text, "\x1b\u202e"), "the %s has control characters", name)
	}
	if strings.Contains(page.String(), "<script") || strings.Count(page.String(), "&lt;script&gt;") != 5 {
		t.Errorf("%d hostile texts, as text", strings.Count(page.String(), "&lt;script&gt;"))
	}
	for _, c := range r.Clauses {
		assert.Containsf(t, page.String(), "<code>"+c.ID+"</code>", "the page lacks %s", c.ID)
	}
	var without strings.Builder
	if err := WriteAuditPage(&without, &audit.Result{Clean: true}, nil); err != nil || strings.Contains(without.String(), "best practices") {
		t.Errorf("a page without them: %v", err)
	}
}

// Only the table of hosts, a name or a URL makes a line wider than a terminal.
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
		assert.NotContainsf(t, Audit(&r), "no breach", "with %s beside the damage it reports that no rule was broken", c)
	}
	r.Counts = append(r.Counts, audit.Count{Code: finding.Gap, Found: 1})
	assert.NotContains(t, verdict(r), "no politeness rule")
}

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
