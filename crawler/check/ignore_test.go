package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIgnoresAreReadWithTheirReasons(t *testing.T) {
	all, err := ParseIgnores("ignore.txt", "\uFEFF# comment\r\n\r\n/old/  moves next month\r\n^http://x\\.test/\tnot ours\n")
	assert.Truef(t, err == nil && len(all) == 2 && all[0].Pattern == "/old/" && all[0].Why == "moves next month" && all[0].Line == 3 && all[1].Why == "not ours", "%+v, %v", all, err)
	_, err = ParseIgnores("ignore.txt", "ok fine\nalone\n( bad\n"+strings.Repeat("(\tx\n", 100))
	if err == nil || !strings.Contains(err.Error(), "ignore.txt:2: no reason") || !strings.Contains(err.Error(), "ignore.txt:3: error parsing regexp") || strings.Count(err.Error(), "\n") != maxComplaints-1 {
		t.Errorf("%v", err)
	}
}

func TestIgnores_RemoveFindingsAndReportUnused(t *testing.T) {
	of := func(urls ...string) (all []Finding) {
		for _, u := range urls {
			all = append(all, Finding{URL: u})
		}
		return all
	}
	r := Result{Broken: of("/old/a", "/new", "/old/b"), Mixed: of("/old/m"), Untested: of("/old/u"), Redirects: []Redirect{{Finding: Finding{URL: "/old/r"}}}}
	lines, err := ParseIgnores("", "/old/ why\n/old/a never\n/none unused")
	require.NoError(t, err)
	r.Ignore(lines)
	var ignored []string
	for _, i := range r.Ignored {
		ignored = append(ignored, i.URL+" "+i.Why)
	}
	assert.Equal(t, "1 0 1 0 [/old/a why /old/b why] 2 2 3", fmt.Sprint(len(r.Broken), len(r.Mixed), len(r.Untested), len(r.Redirects), ignored, len(r.Unused), r.Unused[0].Line, r.Unused[1].Line))
}

// An interrupted check may not have reached the broken URLs, and one with too many findings lacks some.
func TestPartialResult_RepairsNothing(t *testing.T) {
	for _, tt := range []struct {
		partial  bool
		left     int64
		repaired int
	}{{false, 0, 1}, {true, 0, 0}, {false, 1, 0}} {
		r := Result{Partial: tt.partial, Left: tt.left, Checked: 1}
		if r.Against(Baseline{{URL: "http://a.test/lost"}}); len(r.Since.Repaired) != tt.repaired {
			t.Errorf("%+v: %+v", tt, r.Since)
		}
	}
}

// A link is repaired if it, or a page with it, was requested, or if such a page is gone from a crawled host.
func TestSince_OnlyTestedURLsAreRepaired(t *testing.T) {
	t.Parallel()
	const lost, page = "http://a.test/lost", "http://a.test/page"
	for name, tt := range map[string]struct {
		asked    string // URL that was requested
		crawled  bool   // another URL of the host was
		untested string
		repaired int
	}{
		"the link was requested":   {asked: lost, crawled: true, repaired: 1},
		"its page was":             {asked: page, crawled: true, repaired: 1},
		"its page is gone":         {crawled: true, repaired: 1},
		"its page was refused":     {crawled: true, untested: page},
		"the link was refused":     {asked: page, crawled: true, untested: lost},
		"the host was not crawled": {},
	} {
		r := Result{
			Checked: 1, asked: func(url string) bool { return url == tt.asked }, crawled: func(string) bool { return tt.crawled },
			Untested: []Finding{{URL: tt.untested}},
		}
		if r.Against(Baseline{{URL: lost, On: []Place{{Page: page}}}}); len(r.Since.Repaired) != tt.repaired {
			t.Errorf("%s: %d repaired, want %d", name, len(r.Since.Repaired), tt.repaired)
		}
	}
}
