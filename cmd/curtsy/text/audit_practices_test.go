package text

import (
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

// trap is text from an archive that would do harm if it were shown as it is.
const trap = `"><script>alert(1)</script>` + "\x1b[31m\u202e"

// practicesResult has a clause in each state, with traps wherever an archive can bring one.
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

// Broken clauses come first, with their places; no line is wider than a terminal but where a name makes it so.
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
	assert.Equalf(t, 1, strings.Count(words, "an archive does not show it"), "the same evidence stands there more than once:\n%s", got)
	if b, k, n := strings.Index(got, "\nBroken\n"), strings.Index(got, "\nKept\n"), strings.Index(got, "\nNot provable\n"); b < 0 || k < b || n < k {
		t.Errorf("sections at %d, %d, %d", b, k, n)
	}
	r.Musts = 0
	assert.Contains(t, practicesVerdict(r), "1 broken (no MUST)")
}

// The archive's text becomes no more than text, on the page and in a terminal, and the page has every clause.
func TestThePracticesShowHostileTextAsText(t *testing.T) {
	r := practicesResult()
	var page strings.Builder
	require.NoError(t, WriteAuditPage(&page, &audit.Result{Clean: true}, r))
	for name, text := range map[string]string{"page": page.String(), "text": Practices(r)} {
		assert.Falsef(t, strings.ContainsAny(text, "\x1b\u202e"), "the %s has control characters", name)
	}
	if strings.Contains(page.String(), "<script") || strings.Count(page.String(), "&lt;script&gt;") != 5 {
		t.Errorf("%d of what was planted, as text", strings.Count(page.String(), "&lt;script&gt;"))
	}
	for _, c := range r.Clauses {
		assert.Containsf(t, page.String(), "<code>"+c.ID+"</code>", "the page lacks %s", c.ID)
	}
	var without strings.Builder
	if err := WriteAuditPage(&without, &audit.Result{Clean: true}, nil); err != nil || strings.Contains(without.String(), "best practices") {
		t.Errorf("a page without them: %v", err)
	}
}
