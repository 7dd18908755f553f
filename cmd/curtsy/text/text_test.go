package text

import (
	"regexp"
	"strings"
	"testing"
	"text/template/parse"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/plan"
	"curtsy/crawler/status"
	"curtsy/storage"
)

func TestWatch_NextRoundOrEnd(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, w := range map[string]status.Watch{
		"a round is running": {URLs: 2},
		"2 URLs watched; the next round is not before 2026-01-02T03:04:05Z (min-interval, http://a.test/)": {Next: at, Why: "min-interval", URL: "http://a.test/", URLs: 2},
		"1 URL watched; no further round starts before the watch ends at 2026-01-02T03:04:05Z (--for)":     {Ends: at, URLs: 1},
	} {
		assert.Equal(t, want, Watch(w), w)
	}
}

func TestReasons_FollowTheirSum(t *testing.T) {
	got := Status(status.Status{
		Failures: map[string]int64{"status:429": 1, "status:5xx": 2}, NotRead: map[string]int64{"coding": 1},
		Links: map[string]int64{"scope:nofollow": 7}, Capped: map[string]int64{"cap: host": 3},
		Why: map[string]map[string]int64{"parked": {"a": 1, "b": 2}},
	}, "", time.Time{})
	for _, says := range []string{"\nerrors       3 requests (2 ", "\nnot read     1 (the answer's ", "\nnot followed 7 links (the page ", "\nover a limit 3 links (--max-urls-per-host is reached)", "\n  parked     3 (2 b, 1 a)"} {
		assert.Containsf(t, got, says, "%q is not in\n%s", says, got)
	}
}

func TestStatus_AfterAKillNamesResume(t *testing.T) {
	killed := status.Status{State: "stopped", Killed: true}
	running := killed
	running.State = "running"
	for i, s := range []status.Status{killed, running, {State: "stopped"}} {
		assert.Equal(t, (i == 0), strings.Contains(Status(s, "my crawl", time.Now()), "curtsy resume 'my crawl'"), s)
	}
}

func TestStatus_HostsThatTheirAddressLimits(t *testing.T) {
	for n, want := range map[int64]bool{0: false, 3: true} {
		assert.Equal(t, want, strings.Contains(Status(status.Status{LimitedByIP: n}, "", time.Time{}), "limited by IP: 3 hosts\n"), n)
	}
}

// A summary reports private hosts also if there are more than a status names.
func TestSummary_ManyPrivateHosts(t *testing.T) {
	t.Parallel()
	const reason = "robots.txt: private address (see --allow-net)"
	s := crawler.Summary{EndedBy: crawler.EndedWaiting, Status: status.Status{Elapsed: 1, Bytes: 1, Queued: 150, Why: map[string]map[string]int64{"retired": {reason: 150}}}}
	for range status.MaxResting {
		s.Status.Resting = append(s.Status.Resting, status.Resting{Condition: "retired", Reason: reason, Pending: 1})
	}
	if got := Summary(s, "d", true); !strings.Contains(got, "the remaining hosts have private addresses") || !strings.Contains(got, "--allow-net NETWORK") {
		t.Error(got)
	}
	s.Status.Why["parked"] = map[string]int64{"timeout": 1}
	assert.NotContains(t, Summary(s, "d", true), "private addresses")
}

func TestWideLinesAreBrokenAtSpacesBelowTheirText(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 20))
	for in, want := range map[string]string{
		"short\n\nlines\n": "short\n\nlines\n",
		words + "\n":       strings.TrimSpace(strings.Repeat("word ", 16)) + "\n  " + strings.TrimSpace(strings.Repeat("word ", 4)) + "\n",
		"      required  " + words: "      required  " + strings.TrimSpace(strings.Repeat("word ", 13)) + "\n" +
			strings.Repeat(" ", 16) + strings.TrimSpace(strings.Repeat("word ", 7)),
		"  " + strings.Repeat("x", 100): "  " + strings.Repeat("x", 100),
	} {
		assert.Equal(t, want, Wrap(in), in)
	}
}

// A template does not end with the empty line before the next one in its file.
func TestTemplates_EndWithoutEmptyLines(t *testing.T) {
	t.Parallel()
	for _, each := range templates().Templates() {
		if each.Tree == nil || len(each.Root.Nodes) < 2 {
			continue
		}
		nodes := each.Root.Nodes
		last, isText := nodes[len(nodes)-1].(*parse.TextNode)
		_, action := nodes[len(nodes)-2].(*parse.ActionNode)
		if isText && strings.TrimSpace(string(last.Text)) == "" {
			assert.Truef(t, action && string(last.Text) == "\n", "%s ends with %q", each.Name(), last.Text)
		}
	}
}

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
func TestText_HostWordsAreEscaped(t *testing.T) {
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
