package text_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/changes"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

const planted = `"><script>document.title = "planted"</script><img src=x onerror="document.title='planted'">'` + "\x1b[31m\u202e"

// hostileResult has hostile text in every field that an archive can fill.
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
		t.Errorf("the page shows %d hostile texts", n)
	}
	for _, says := range []string{"9 violations", "4 more", "2 more, which were counted", "confirmed by access log"} {
		assert.Contains(t, page.String(), says, "the page")
	}
}

func TestPage_EscapesSiteText(t *testing.T) {
	evil := "<script>alert(1)</script>\x1b[2J\u202e"
	r := &changes.Result{
		Dir: "news", Counts: map[string]changes.Count{changes.Changed: {Pages: 61}}, Kinds: map[string]int64{changes.Text: 61}, LeftOut: 3,
		Missing: map[string]int64{changes.NoRecord: 1},
	}
	for i := range 61 {
		lines := []changes.Line{{Mark: '@', Text: "line 1"}}
		for range 20 {
			lines = append(lines, changes.Line{Mark: '+', Text: "a " + evil})
		}
		r.Changes = append(r.Changes, changes.Change{
			URL: fmt.Sprintf("javascript:%s/%d", evil, i), Change: changes.Changed, Kind: changes.Text, Page: true, Title: evil,
			Diff: &changes.Diff{Of: "main", Added: 20, Lines: lines},
		})
	}
	r.Changes[60].SameAs = r.Changes[0].URL
	shown := text.Changes(r)
	var page strings.Builder
	require.NoError(t, text.WriteChangesPage(&page, r))
	assert.Falsef(t, strings.ContainsAny(shown, "\x1b\u202e"), "it steers a terminal:\n%q", shown)
	for _, bad := range []string{"<script", `href="javascript`, "http-equiv=\"refresh"} {
		assert.NotContains(t, page.String(), bad, "the page")
	}
	for _, want := range []string{
		"… and 10 more", "the same on 1 more page\n", "… 5 more lines\n", "3 changes are counted and not listed", "1 page without a text to compare: not in the archive",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing:\n%s", want, shown[:min(len(shown), 3000)])
		}
	}
	assert.Equal(t, 60*20, strings.Count(page.String(), `<div class="add">`), "insertions")
}
