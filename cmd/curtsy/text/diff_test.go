package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/changes"
)

// The text of sites steers no terminal and no browser, and the rest of long lists is counted.
func TestWhatSitesWroteIsText(t *testing.T) {
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
			t.Errorf("%q is not said:\n%s", want, shown[:min(len(shown), 3000)])
		}
	}
	assert.Equal(t, 60*20, strings.Count(page.String(), `<div class="add">`), "insertions")
}
