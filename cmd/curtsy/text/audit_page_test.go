package text_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/text"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

const planted = `"><script>document.title = "planted"</script><img src=x onerror="document.title='planted'">'` + "\x1b[31m\u202e"

// hostileResult has hostile text wherever an archive can bring text.
func hostileResult() *audit.Result {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := finding.Finding{
		Code: finding.Disallowed, Authority: planted, URL: planted, Place: finding.Place{File: planted, Offset: 1, Record: planted}, Time: at,
		Required: planted, Observed: planted,
	}
	note := f
	note.Code, note.Note = finding.CrashInFlight, true
	r := &audit.Result{
		Version: 1, Level: audit.ConfirmedByLog, From: at, To: at.Add(time.Hour),
		Files:    []evidence.File{{Name: planted, Torn: true}},
		Archives: []*evidence.Info{{Ours: true, Software: planted, Operator: planted, Agent: planted, Standard: planted, ConfigSHA: planted, Fields: [][2]string{{"own-sites", planted}}}},
		OwnHosts: []audit.OwnHost{{Authority: planted, Why: planted}},
		Counts:   []audit.Count{{Code: finding.Disallowed, Found: 9, Kept: 7}, {Code: finding.CrashInFlight, Found: 1, Kept: 1, Notes: 1}},
		Hosts: []*audit.Host{{Authority: planted, Own: true, Policy: planted, RequiredBy: planted, Required: 1, Gaps: 1, Violations: 9,
			Why: []audit.Unproved{{What: finding.Gap, Why: planted, Count: 1, Least: 1, Most: 2}}}},
		Measures: []string{planted}, CannotShow: []string{planted},
		Ledger: &audit.LedgerCheck{Dir: planted, Head: planted, Keys: []string{planted}},
		Logs:   []*audit.HostLog{{Host: planted, Files: []string{planted}}},
	}
	for range 7 {
		r.Findings = append(r.Findings, f)
	}
	r.Findings = append(r.Findings, note)
	r.Totals.Violations = 9
	return r
}

// The text of an archive is never markup or a control sequence, and the page shows all of it.
func TestAuditShowsHostileTextAsText(t *testing.T) {
	r := hostileResult()
	var page strings.Builder
	require.NoError(t, text.WriteAuditPage(&page, r, nil))
	for name, text := range map[string]string{"page": page.String(), "text": text.Audit(r)} {
		assert.Falsef(t, strings.ContainsAny(text, "\x1b\u202e"), "the %s has control characters", name)
	}
	for _, part := range []string{"<script", "<img", "http-equiv=\"refresh"} {
		assert.NotContains(t, page.String(), part, "the page")
	}
	if n := strings.Count(page.String(), "&lt;script&gt;"); n < 35 {
		t.Errorf("the page shows %d of what was planted", n)
	}
	for _, says := range []string{"9 violations", "4 more", "2 more, which were counted", "confirmed by access log"} {
		assert.Contains(t, page.String(), says, "the page")
	}
}
