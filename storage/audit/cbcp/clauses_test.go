package cbcp

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
)

const provable = "rep x-robots-tag identifiable unique-name description-url back-out response-time visit-log " +
	"one-at-a-time speed re-crawl loops access get caching https"

const hidden = "owner-purpose off-hours scripts ranges ranges-current ranges-linked ranges-found page data-use contact " +
	"example verifying exemption reachable"

func TestCBCP_PoliteCrawlPasses(t *testing.T) {
	r := judge(t, polite())
	if r.in(Kept) != provable || r.in(NotProvable) != hidden || r.Broken != 0 || r.Musts != 0 {
		for _, c := range r.Clauses {
			t.Logf("%s %s: %s %v", c.State, c.ID, c.Evidence, c.Examples)
		}
		t.Errorf("passed %q\nnot provable %q\nbroken %d", r.in(Kept), r.in(NotProvable), r.Broken)
	}
	assert.Len(t, Clauses(), r.Kept+r.Unknown)
}

func TestAnArchiveWithoutExchangesProvesNothing(t *testing.T) {
	assert.Len(t, Clauses(), judge(t, nil).Unknown)
}

func TestCBCP_IdentityNeedsRequests(t *testing.T) {
	all := polite()
	for i := range all {
		all[i].noReq = true
	}
	r := judge(t, all)
	for _, id := range strings.Fields("identifiable unique-name description-url visit-log access get caching https") {
		assert.Equal(t, NotProvable, r.of(t, id).State, id)
	}
}

func TestWithoutEndsOneAtATimeIsNotProvable(t *testing.T) {
	all := polite()
	for i := range all {
		all[i].took = -1
	}
	assert.Equal(t, NotProvable, judge(t, all).of(t, "one-at-a-time").State)
}

func more(all ...fetch) []fetch { return append(polite(), all...) }

func as(agent string) []fetch {
	all := polite()
	for i := range all {
		all[i].agent = agent
	}
	return all
}

const later = 200 * time.Second

func repeated(f fetch, n int, pause time.Duration) (all []fetch) {
	for range n {
		all = append(all, f)
		f.at += pause
	}
	return all
}

// Each mutant breaks one clause, and no other one: a check that sees everything in everything proves nothing.
func TestCBCP_MutantsBreakOneClause(t *testing.T) {
	rows := []struct {
		clause, name string
		crawl        []fetch
	}{
		{"rep", "robots.txt forbids it", more(fetch{at: later, path: "/private"})},
		{"rep", "robots.txt comes second", append([]fetch{{at: -time.Minute, path: "/cakes"}}, polite()...)},
		{"x-robots-tag", "a link is followed", more(fetch{at: later, path: "/oven", meta: "kind: link\r\ndepth: 2\r\nvia: " + bakery + "/bread\r\n"})},
		{"x-robots-tag", "a link is followed, as Heritrix tells", more(fetch{at: later, path: "/oven", meta: "hopsFromSeed: LL\r\nvia: " + bakery + "/bread\r\n"})},
		{"x-robots-tag", "a body is kept", more(fetch{at: later, path: "/oven", head: "X-Robots-Tag: noindex, NoArchive\r\n", body: "hot"})},
		{"x-robots-tag", "a body is kept, and the crawl is named", more(fetch{at: later, path: "/oven", head: "X-Robots-Tag: lantern: noarchive\r\n", body: "hot"})},
		{"identifiable", "another name than robots.txt was asked by", more(fetch{at: later, path: "/oven", agent: "Lamp/1 (+https://lantern.test/bot)"})},
		{"unique-name", "the name of another crawler", as("Mozilla/5.0 (compatible; Googlebot/2.1; +https://lantern.test/bot)")},
		{"description-url", "a mailbox alone", as("Lantern/1 (+post@lantern.test)")},
		{"https", "a page by http", as("Lantern/1 (+http://lantern.test/bot)")},
		{"back-out", "failures, and no reaction", more(repeated(fetch{at: later, path: "/down", status: 500}, 5, 3*time.Second)...)},
		{"back-out", "a rest that was asked for", more(fetch{at: later, path: "/busy", status: 503, head: "Retry-After: 100\r\n"}, fetch{at: later + 70*time.Second, path: "/oven"})},
		{"one-at-a-time", "two at once", more(fetch{at: later, path: "/oven", took: 10 * time.Second}, fetch{at: later + 5*time.Second, path: "/rolls"})},
		{"speed", "a pause shorter than Crawl-delay", more(fetch{at: later, path: "/oven"}, fetch{at: later + time.Second, path: "/rolls"})},
		{"re-crawl", "a page every ten minutes", more(repeated(fetch{at: later, path: "/", sent: "If-None-Match: \"1\"\r\n", status: 304}, 3, 10*time.Minute)...)},
		{"loops", "a redirect to itself", more(repeated(fetch{at: later, path: "/loop", status: 302, head: "Location: /loop\r\n"}, 21, 10*time.Second)...)},
		{"access", "a password", more(fetch{at: later, path: "/oven", sent: "Authorization: Basic eDp5\r\n"})},
		{"access", "a password for a proxy", more(fetch{at: later, path: "/oven", sent: "Proxy-Authorization: Basic eDp5\r\n"})},
		{"get", "a form is sent", more(fetch{at: later, path: "/oven", method: "POST"})},
		{"caching", "the validator is left out", more(fetch{at: later, path: "/"})},
		{"caching", "the answer was fresh", more(fetch{at: later, path: "/oven", head: "Cache-Control: max-age=600\r\n"}, fetch{at: 2 * later, path: "/oven"})},
		{"caching", "the answer was fresh, by Expires", more(
			fetch{at: later, path: "/oven", head: "Date: Sun, 01 Mar 2026 12:03:20 GMT\r\nExpires: Sun, 01 Mar 2026 13:03:20 GMT\r\n"}, fetch{at: 2 * later, path: "/oven"})},
	}
	seen := map[string]bool{}
	for _, row := range rows {
		t.Run(row.clause+" "+row.name, func(t *testing.T) {
			r := judge(t, row.crawl)
			assert.Equal(t, row.clause, r.in(Broken), "broken")
			c := r.of(t, row.clause)
			if len(c.Examples) == 0 || c.Examples[0].Observed == "" || c.Examples[0].Record == "" {
				t.Errorf("no place is shown: %+v", c)
			}
			assert.Equalf(t, c.Level == Must, (r.Musts == 1), "%d broken musts, level %s", r.Musts, c.Level)
		})
		seen[row.clause] = true
	}
	// A pause cannot be shown not to follow from the response time; a log is broken where a ledger differs, below.
	for _, id := range strings.Fields(provable) {
		if !seen[id] && id != "response-time" && id != "visit-log" {
			t.Errorf("no mutant breaks %s", id)
		}
	}
}

func TestCBCP_AllowedBehaviour(t *testing.T) {
	for _, row := range []struct {
		clause, name string
		crawl        []fetch
	}{
		{"x-robots-tag", "another crawler is meant", more(fetch{at: later, path: "/oven", head: "X-Robots-Tag: otherbot: noarchive, nofollow\r\n", body: "hot"})},
		{"x-robots-tag", "no body", more(fetch{at: later, path: "/oven", head: "X-Robots-Tag: noarchive\r\n"})},
		{"x-robots-tag", "a redirect of the page", more(fetch{at: later, path: "/oven", meta: "kind: redirect\r\nvia: " + bakery + "/bread\r\n"})},
		{"x-robots-tag", "the page says so no more", more(fetch{at: later, path: "/bread", sent: "If-Modified-Since: x\r\n", status: 200},
			fetch{at: 2 * later, path: "/oven", meta: "kind: link\r\nvia: " + bakery + "/bread\r\n"})},
		{"unique-name", "its own crawler", as("Mozilla/5.0 (compatible; Googlebot/2.1; +https://www.google.com/bot.html)")},
		{"unique-name", "a library with an address", as("python-requests/2 (+https://lantern.test/bot)")},
		{"back-out", "a slow crawl needs no reaction", more(repeated(fetch{at: later, path: "/down", status: 500}, 5, time.Minute+time.Second)...)},
		{"re-crawl", "a page once a day", more(repeated(fetch{at: 24*time.Hour + later, path: "/", sent: "If-None-Match: \"1\"\r\n", status: 304}, 4, 25*time.Hour)...)},
		{"caching", "no-store", more(fetch{at: later, path: "/oven", head: "Cache-Control: max-age=600, no-store\r\n"}, fetch{at: 2 * later, path: "/oven"})},
		{"caching", "it was stale", more(fetch{at: later, path: "/oven", head: "Cache-Control: max-age=60\r\n"}, fetch{at: 2 * later, path: "/oven"})},
		{"caching", "it was old when it came", more(fetch{at: later, path: "/oven", head: "Cache-Control: max-age=600\r\nAge: 550\r\n"}, fetch{at: 2 * later, path: "/oven"})},
	} {
		c := judge(t, row.crawl).of(t, row.clause)
		assert.Equalf(t, Kept, c.State, "%s, %s: %s %v", row.clause, row.name, c.Evidence, c.Examples)
	}
}

func TestCookiesMakeAccessNotProvable(t *testing.T) {
	c := judge(t, more(fetch{at: later, path: "/oven", sent: "Cookie: a=b\r\n"})).of(t, "access")
	assert.Equal(t, NotProvable, c.State, c.Evidence)
}

func TestTheTableOfClausesIsWhole(t *testing.T) {
	var ids []string
	for _, c := range Clauses() {
		if c.Asks == "" || c.How == "" || c.check == nil || c.Section == "" || c.Copy == Absent {
			t.Errorf("%+v", c)
		}
		if (c.Level() == Must) != (c.First == Must || c.Copy == Must) {
			t.Errorf("%s: %s", c.ID, c.Level())
		}
		ids = append(ids, c.ID)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) || strings.Join(ids, " ") == "" {
		t.Errorf("%q", ids)
	}
	assert.Len(t, ids, len(strings.Fields(provable))+len(strings.Fields(hidden)), "the clauses that the tests know")
}

func good() Published {
	return Published{
		Page: "bot.html", Text: "We obey robots.txt. To stop us: User-agent: lantern Disallow: /", Leads: []string{"mailto:post@lantern.test"},
		RangesLink: "ranges.json", Ranges: "ranges.json", Prefixes: 2, Made: day0.Add(-24 * time.Hour),
	}
}

func TestCBCP_PublishedCopiesDecide(t *testing.T) {
	for _, row := range []struct {
		name         string
		change       func(p *Published)
		kept, broken string // of the clauses of sections 2.5 and 2.6
	}{
		{"all is there", func(*Published) {}, "ranges ranges-current ranges-linked ranges-found contact example", ""},
		{"nothing was given", func(p *Published) { *p = Published{} }, "", ""},
		{"only a page", func(p *Published) { p.Ranges = "" }, "ranges-linked ranges-found contact example", ""},
		{"only ranges", func(p *Published) { p.Page = "" }, "ranges ranges-current", ""},
		{"ranges that cannot be read", func(p *Published) { p.Fault = "not JSON" }, "ranges-linked ranges-found contact example", "ranges"},
		{"no range", func(p *Published) { p.Prefixes = 0 }, "ranges-current ranges-linked ranges-found contact example", "ranges"},
		{"old ranges", func(p *Published) { p.Made = day0.Add(-8 * 24 * time.Hour) }, "ranges ranges-linked ranges-found contact example", "ranges-current"},
		{"ranges without a date", func(p *Published) { p.Made = time.Time{} }, "ranges ranges-linked ranges-found contact example", ""},
		{"no link", func(p *Published) { p.RangesLink = "" }, "ranges ranges-current contact example", ""},
		{"no word of robots.txt", func(p *Published) { p.Text = "User-agent: x Disallow: /" }, "ranges ranges-current ranges-linked ranges-found contact example", "page"},
		{"a mailbox in the text", func(p *Published) { p.Leads, p.Text = nil, p.Text+" (post@lantern.test)." }, "ranges ranges-current ranges-linked ranges-found contact example", ""},
		{"no mailbox", func(p *Published) { p.Leads, p.Text = nil, p.Text+" a @ b x@y @z.test" }, "ranges ranges-current ranges-linked ranges-found example", ""},
		{"no example", func(p *Published) { p.Text = "We obey robots.txt. Disallow: before user-agent: is none" }, "ranges ranges-current ranges-linked ranges-found contact", "example"},
	} {
		p := good()
		row.change(&p)
		f, kept, broken := &New(p).facts, []string{}, []string{}
		for _, c := range Clauses() {
			if c.Section != "2" && !strings.HasSuffix(c.Section, "2.5") && c.Section != "2.6" {
				continue
			}
			got := c.check(f, &audit.Result{From: day0})
			switch got.state {
			case Kept:
				kept = append(kept, c.ID)
			case Broken:
				broken = append(broken, c.ID)
				if len(got.examples) != 1 || got.examples[0].File == "" {
					t.Errorf("%s: %s names no file: %+v", row.name, c.ID, got)
				}
			}
			assert.NotEmptyf(t, got.evidence, "%s: %s has no text", row.name, c.ID)
		}
		if k, b := strings.Join(kept, " "), strings.Join(broken, " "); k != row.kept || b != row.broken {
			t.Errorf("%s: kept %q, broken %q", row.name, k, b)
		}
	}
}

var update = flag.Bool("update", false, "write the table of clauses in docs/reference/cbcp.md anew")

func TestThePageHasTheClausesOfTheCode(t *testing.T) {
	const page, head = "../../../docs/reference/cbcp.md", "| clause | section | -00 | copy | asks to | how it is checked |\n"
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), head)
	rows, after, end := strings.Cut(rest, "\n\n")
	if !ok || !end {
		t.Fatal("docs/reference/cbcp.md has no table of clauses")
	}
	var want strings.Builder
	want.WriteString("|---|---|---|---|---|---|")
	for _, c := range Clauses() {
		fmt.Fprintf(&want, "\n| `%s` | %s | %s | %s | %s | %s |", c.ID, c.Section, cmp.Or(c.First, "–"), c.Copy, c.Asks, c.How)
	}
	if rows == want.String() {
		return
	}
	require.True(t, *update, "docs/reference/cbcp.md does not have the table of the code; go test ./storage/audit/cbcp -update writes it")
	require.NoError(t, os.WriteFile(page, []byte(before+head+want.String()+"\n\n"+after), 0o644))
}

func TestThePageHasTheNumbersOfTheCode(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/cbcp.md")
	require.NoError(t, err)
	for _, says := range []string{"three failures in a row", fmt.Sprintf("| `loops` | %d requests", loopMax), "| `re-crawl` | two more requests within 24 hours",
		"1,048,576 URLs", fmt.Sprintf("%.0f s, where nothing", unhurried.Seconds()), "or a minute"} {
		assert.Contains(t, string(b), says, "docs/reference/cbcp.md")
	}
	if streakMin != 3 || oftenMax != 2 || maxURLs != 1048576 || longPause.Minutes() != 1 {
		t.Error("a number was changed, and docs/reference/cbcp.md has the old one")
	}
}
