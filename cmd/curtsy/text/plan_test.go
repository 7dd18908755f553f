package text

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/plan"
	"curtsy/storage"
)

// hostile is a rule in a robots.txt.
const hostile = "Disallow: /\x1b[31m`|<script>alert(1)</script>[x](javascript:alert(1))\u202e"

func made() *plan.Plan {
	p := &plan.Plan{
		Made: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Seeds: 2, Requests: 3,
		Hosts: []plan.Host{
			{Host: "http://a.test", Robots: "rules", Pace: 1, PaceBy: storage.ByFloor, Seeds: 1, Pages: 1, Requests: 2, Takes: 1},
			{Host: "http://b.test", Robots: "rules", Pace: 10, PaceBy: storage.ByCrawlDelay, Seeds: 1, Forbidden: 1, Listed: 720, Disallow: 20, Pages: 700, Requests: 701, Takes: 7000, Maps: 2, MapsLeft: true},
		},
		Forbidden: []plan.Forbidden{{URL: "http://b.test/x", By: plan.ByRobots, Reason: "disallow rule", Rule: hostile, Line: 3, Group: "*"}},
	}
	p.Estimate = plan.Estimate{Requests: 703, Pages: 701, Bytes: 22 << 20, Takes: 7000, By: plan.DecidedByHost, Host: "http://b.test", Basis: []string{"A basis."}, Unknown: []string{"Something."}}
	return p
}

// The text of a host is harmless in a terminal and in Markdown.
func TestWhatAHostSaysDoesNothing(t *testing.T) {
	p, s := made(), crawldir.Defaults()
	s.Purpose = hostile
	require.NoError(t, s.OpenLists("", nil))
	for name, text := range map[string]string{"text": Text(p), "sheet": Sheet(p, &s, About{})} {
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == '\u202e' }); i >= 0 {
			t.Errorf("%s: a control character at %d", name, i)
		}
	}
	outside := regexp.MustCompile("(?s)`[^`]*`").ReplaceAllString(strings.ReplaceAll(Sheet(p, &s, About{}), "\\`", ""), "")
	for _, bad := range []string{"<script", "[x](", "|<"} {
		assert.NotContainsf(t, outside, bad, "%q is markup in the sheet:\n%s", bad, outside)
	}
	for line := range strings.Lines(Sheet(p, &s, About{})) {
		if strings.HasPrefix(line, "| Purpose") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 3 {
			t.Errorf("a cell of the table is torn: %s", line)
		}
	}
}
