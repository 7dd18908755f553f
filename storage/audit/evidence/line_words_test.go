package evidence

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

// The words are those of docs/reference/ledger.md, but for those of lines without an exchange.
func TestTheWordsAreThoseOfTheDocs(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/ledger.md")
	require.NoError(t, err)
	for name, c := range map[string]struct{ have, other []string }{
		"decision": {decisionWords, []string{"disallow", "refuse", "hold", "opt-out"}},
		"outcome":  {outcomeWords, []string{"disallowed", "held"}},
		"change":   {changeWords, []string{"fresh"}},
		"kind":     {kindWords, nil},
		"pace_by":  {paceWords, nil},
	} {
		_, section, _ := strings.Cut(string(b), "## `"+name+"`")
		section, _, _ = strings.Cut(section, "\n## ")
		var want []string
		for line := range strings.Lines(section) {
			if word, ok := strings.CutPrefix(line, "| `"); ok {
				word, _, _ = strings.Cut(word, "`")
				want = append(want, word)
			}
		}
		have := slices.Concat(c.have[1:], c.other)
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
}

// An outcome fits what was answered, and every other is named.
func TestAnOutcomeFitsTheStatus(t *testing.T) {
	all := outcomeWords[1:]
	for _, c := range []struct {
		status int
		whole  bool
		reason string
		may    string
	}{
		{200, true, "", "fetched dropped"}, {200, true, "coding", "fetched failed dropped deferred"}, {200, false, "timeout", "fetched failed dropped deferred"},
		{200, true, "aborted", "fetched failed dropped deferred"},
		{301, true, "", "redirected failed dropped deferred"}, {404, true, "status 404", "gone"}, {410, true, "", "gone"},
		{404, false, "incomplete", "gone failed dropped deferred"}, {403, true, "", "failed deferred"}, {503, true, "", "failed deferred"},
		{304, true, "", "fetched redirected failed gone dropped deferred"},
	} {
		for _, word := range all {
			l := storage.Line{Decision: "allow", Reason: c.reason}
			set(&l, word)
			found := len(Troubles(&l, Answer{Status: c.status, Whole: c.whole})) > 0
			assert.NotEqualf(t, slices.Contains(strings.Fields(c.may), word), found, "%d, whole %v, %q: %s found", c.status, c.whole, c.reason, word)
		}
	}
}

// set sets the outcome of a line as a metadata record has it.
func set(l *storage.Line, word string) {
	if err := storage.FieldOfMetadata("outcome").SetText(l, word); err != nil {
		panic(err)
	}
}
