package plantext

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/hostrule"
	"curtsy/crawler/plan"
	"curtsy/storage"
)

// hostile is what a site may write into its robots.txt.
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

// What a host says is shown, and does nothing: neither in a terminal nor in Markdown.
func TestWhatAHostSaysDoesNothing(t *testing.T) {
	p, s := made(), crawldir.Defaults()
	s.Purpose = hostile
	if err := s.OpenLists("", nil); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"text": Text(p), "sheet": Sheet(p, &s, About{})} {
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == '\u202e' }); i >= 0 {
			t.Errorf("%s: a control character at %d", name, i)
		}
	}
	outside := regexp.MustCompile("(?s)`[^`]*`").ReplaceAllString(strings.ReplaceAll(Sheet(p, &s, About{}), "\\`", ""), "")
	for _, bad := range []string{"<script", "[x](", "|<"} {
		if strings.Contains(outside, bad) {
			t.Errorf("%q is markup in the sheet:\n%s", bad, outside)
		}
	}
	for line := range strings.Lines(Sheet(p, &s, About{})) {
		if strings.HasPrefix(line, "| Purpose") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 3 {
			t.Errorf("a cell of the table is torn: %s", line)
		}
	}
}

// The sheet has what an application asks for; what only people can say it asks them for.
func TestTheSheetHasWhatAnApplicationAsksFor(t *testing.T) {
	s := crawldir.Defaults()
	s.Contact, s.Hosts = "lab@example.edu", hostrule.Rules{{Match: "*.b.test", Delay: 5 * time.Second, Hours: []string{"22:00-06:00"}}}
	s.MaxPages = 500
	if err := s.OpenLists("", nil); err != nil {
		t.Fatal(err)
	}
	sheet := Sheet(made(), &s, About{Retention: "Two years, the group alone.", Key: "lab+1+x"})
	for _, want := range []string{
		Mark, "## Who, and what for", "| Purpose | **not stated yet**", "| Contact for site owners | lab@example.edu |", "## Scope", "`*.b.test` alone: at least 5s between two requests; asked from 22:00-06:00 UTC alone",
		"## Rates", "Budgets: 500 pages in all", "About 1 h 57 min for 703 requests (701 known pages) and about 22.0 MiB.", "| `http://b.test` | 10s | crawl-delay | 1 h 57 min |",
		"## Retention\n\nTwo years, the group alone.", "## Who does not want to be crawled", "## Personal data", "**To be said by the applicant**", "## Evidence", "`lab+1+x`",
		"| `http://b.test` | 1 | 720 | 21 | rules; 2 sitemaps read, and there are more |",
	} {
		if !strings.Contains(sheet, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(sheet)
	}
	text := Text(made())
	for _, want := range []string{"0 of 1", "700 of 720", "crawl-delay", "1 seed of 2 will not be asked for", "robots.txt line 3, for *: Disallow:", "http://b.test takes longest.", "Something."} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}
