package scoreboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/visitor"
)

func TestScoreboardCatches(t *testing.T) {
	get := func(urls ...string) func(c *visitor.Client) {
		return func(c *visitor.Client) {
			for _, u := range urls {
				_, _ = c.Do(c.T.Context(), http.MethodGet, "http://"+u) // some responses are broken
			}
		}
	}
	many := func(n int, pattern string) func(c *visitor.Client) {
		return func(c *visitor.Client) {
			for i := range n {
				get(strings.ReplaceAll(pattern, "#", time.Unix(0, 0).UTC().AddDate(0, i, 0).Format("2006-01")))(c)
			}
		}
	}
	with := func(field, value string) func(c *visitor.Client) {
		return func(c *visitor.Client) {
			get("cookies.test/robots.txt")(c)
			c.Get("cookies.test/", field, value)
		}
	}
	as := func(agent string) func(c *visitor.Client) {
		return func(c *visitor.Client) { c.Agent = agent; get("own.test/robots.txt")(c) }
	}
	for _, tc := range []struct {
		rule     crawltest.Rule
		crawl    func(c *visitor.Client)
		evidence string
	}{
		{"identity", as("Mozilla/5.0 (+https://crawler.example/)"), "does not carry the token"},
		{crawltest.Signatures, func(c *visitor.Client) { c.Get("own.test/robots.txt", "Signature-Agent", "x") }, "do not come together"},
		{"contact", as("curtsy/1.0"), "without an address to write to"},
		{"GET and HEAD only", func(c *visitor.Client) { _, _ = c.Do(c.T.Context(), http.MethodPost, "http://cookies.test/send") }, "cookies.test/send: POST"},
		{"no cookies, no credentials", with("Cookie", "visitor=17"), "with a Cookie field"},
		{"no cookies, no credentials", with("Authorization", "Basic c3RhZmY6"), "with a Authorization field"},
		{crawltest.RobotsFirst, get("own.test/welcome.html"), "before any robots.txt"},
		{"robots.txt cached", get("own.test/robots.txt", "own.test/robots.txt"), "again: at 0.000s it was answered with 200"},
		{"robots.txt cached", get("moved.test/robots.txt", "moved.test/robots.txt"), "again: at 0.000s it was answered with 301"},
		{"robots.txt: own group", get("own.test/robots.txt", "own.test/ours/a.html"), "line 5 of robots.txt"},
		{"robots.txt: own group", get("own.test/robots.txt"), "own.test/welcome.html: never fetched"},
		{"robots.txt: groups merged", get("merged.test/robots.txt", "merged.test/two/a.html"), "merged.test/two/a.html"},
		{"robots.txt: longest match", get("rules.test/robots.txt", "rules.test/cellar/wine.html"), "line 2 of robots.txt"},
		{"robots.txt: * and $", get("rules.test/robots.txt", "rules.test/bread.html?print=1"), "line 7 of robots.txt"},
		{"robots.txt: escapes", get("rules.test/robots.txt", "rules.test/~hidden/a.html"), "line 8 of robots.txt"},
		{"robots.txt: format of lines", get("lines.test/robots.txt", "lines.test/tight/a.html"), "line 2 of robots.txt"},
		{"robots.txt: redirected", get("moved.test/robots.txt", "index.test/for-others/moved-robots.txt", "moved.test/depot/a.html"), "line 2 of robots.txt"},
		{"redirect to disallowed", get("hops.test/robots.txt", "hops.test/go", "hops.test/closed/a.html"), "line 2 of robots.txt"},
		{"robots.txt answers 503", get("down.test/robots.txt", "down.test/"), "though robots.txt answered 503"},
		{"robots.txt answers 429", get("rush.test/robots.txt", "rush.test/"), "though robots.txt answered 429"},
		{"robots.txt: no answer", get("mute.test/robots.txt", "mute.test/"), "though robots.txt was broken off"},
		{"robots.txt broken off", get("cut.test/robots.txt", "cut.test/"), "though robots.txt was broken off"},
		{crawltest.CrawlDelay, get("delay.test/robots.txt", "delay.test/"), "Crawl-delay 3s"},
		{"one request at a time", func(c *visitor.Client) {
			c.Aside(func() { get("slow.test/robots.txt")(c) }, func() { get("slow.test/")(c) })
		}, "while 1 of the host under way"},
		{"pace of 1 s", get("own.test/robots.txt", "own.test/", "own.test/welcome.html"), "own.test/welcome.html: GET at 0.000s began 0.000s after"},
		{"pace: after robots.txt", get("own.test/robots.txt", "own.test/"), "after the end of /robots.txt"},
		{"pace: after a redirect", get("hops.test/robots.txt", "hops.test/chain/1", "hops.test/chain/2"), "after the end of /chain/1"},
		{"pace: slow server spared", get("slow.test/robots.txt", "slow.test/"), "pace 2s"},
		{"Retry-After: seconds", get("busy.test/robots.txt", "busy.test/busy.html", "busy.test/a.html"), "required a delay from 0.000s to 20.000s"},
		{"Retry-After: date", get("away.test/robots.txt", "away.test/away.html", "away.test/a.html"), "429 for /away.html required a delay"},
		{"Retry-After: 31 years", get("closed.test/robots.txt", "closed.test/closed.html", "closed.test/a.html"), "to 86400.000s"},
		{"back-off after a 429", get("limited.test/fails-1.html", "limited.test/a.html"), "at least 10s"},
		{"back-off after two 5xx", get("broken.test/fails-1.html", "broken.test/fails-2.html", "broken.test/a.html"), "the response 2 in a row"},
		{"403 on the first page", get("refuses.test/1.html", "refuses.test/2.html"), "though 1 page had been refused"},
		{"rel=nofollow", get("follow.test/", "follow.test/rel/a.html"), "follow.test/rel/a.html"},
		{"meta robots nofollow", get("follow.test/meta/a.html"), "follow.test/meta/a.html"},
		{"X-Robots-Tag nofollow", get("follow.test/tag/a.html"), "follow.test/tag/a.html"},
		{"X-Robots-Tag by name", get("follow.test/named/a.html"), "follow.test/named/a.html"},
		{"redirects: chain", get("hops.test/chain/1"), "hops.test/chain/2: never fetched"},
		{"redirects: loop", many(13, "hops.test/loop/a"), "is request 13 there"},
		{"redirects: endless", many(13, "hops.test/on/1"), "is request 13 in the trap /on/"},
		{"trap: path tree", many(16, "shelf.test/shelf/box/"), "is request 16 in the trap /shelf/"},
		{"trap: calendar", many(31, "months.test/calendar?month=#"), "is request 31 in the trap"},
		{"no trap: long chain", get("older.test/"), "older.test/older/12: never fetched"},
		{"spellings of one URL", get("spelled.test/~reader/", "spelled.test/%7Ereader/"), "again"},
		{crawltest.Scope, get("own.test/favicon.ico"), "though no link in scope leads there"},
		{crawltest.Once, get("own.test/", "own.test/"), "again"},
		{crawltest.Coverage, get("own.test/robots.txt"), "never fetched"},
		{"hostile: HTML as robots.txt", get("html-robots.test/robots.txt", "html-robots.test/closed/page.html"), "it is forbidden"},
	} {
		t.Run(string(tc.rule), func(t *testing.T) {
			board := New("", false)
			visitor.Bubble(t, board.Web, tc.crawl)
			row := board.Judge(Ending{Shown: true}).Row(tc.rule)
			require.Equal(t, crawltest.Broken, row.Verdict, row.Evidence)
			if !slices.ContainsFunc(row.Findings, func(f crawltest.Finding) bool { return strings.Contains(f.String(), tc.evidence) }) {
				t.Errorf("no finding has %q: %v", tc.evidence, row.Findings)
			}
		})
	}
}

func TestScoreboardCatchesTheEleventhRequestAtAWall(t *testing.T) {
	board := New("", false)
	visitor.Bubble(t, board.Web, func(c *visitor.Client) {
		for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
			c.Get("wall.test/" + n + ".html")
		}
	})
	row := board.Judge(Ending{}).Row("403 ten times in a row")
	if len(row.Findings) != 1 || row.Findings[0].Target != "/11.html" {
		t.Errorf("%s: %v", row.Verdict, row.Findings)
	}
}

func TestScoreboardOfNothing(t *testing.T) {
	board := New("examplebot", true)
	for _, row := range board.Judge(Ending{Cut: time.Minute}).Rows {
		want := crawltest.Unshown
		if row.Rule == Ends {
			want = crawltest.Broken
		}
		assert.Equalf(t, want, row.Verdict, "%s: %s: %s", row.Rule, row.Verdict, row.Evidence)
	}
}

func TestScoreboardWithoutAVisitor(t *testing.T) {
	board := New("", false)
	assert.True(t, board.Judge(Ending{}).OK(), "served in vain")
	assert.Equal(t, crawltest.Broken, board.Judge(Ending{Shown: true}).Row(crawltest.Coverage).Verdict, "a crawl of nothing")
}

func TestScoreboardTable(t *testing.T) {
	board := New("examplebot2", true)
	visitor.Bubble(t, board.Web, func(c *visitor.Client) {
		assert.Contains(t, c.Get("own.test/robots.txt").Body, "User-agent: examplebot2\n", "own.test does not name the crawler")
		c.Get("own.test/ours/a.html")
	})
	score := board.Judge(Ending{Shown: true})
	if row := score.Row("robots.txt: own group"); !slices.ContainsFunc(row.Findings, func(f crawltest.Finding) bool { return strings.Contains(f.Text, "for examplebot") }) {
		t.Errorf("%s: %s", row.Verdict, row.Evidence)
	}
	seen := map[crawltest.Rule]bool{}
	for _, row := range score.Rows {
		if seen[row.Rule] || row.Source == "" {
			t.Errorf("%q: twice, or without a source", row.Rule)
		}
		seen[row.Rule] = true
	}
	if rules := board.Rules(); len(rules) != len(score.Rows) || len(rules) < 80 {
		t.Errorf("%d rules, %d rows", len(rules), len(score.Rows))
	}
	var b strings.Builder
	require.NoError(t, score.WriteTable(&b))
	for line := range strings.SplitSeq(b.String(), "\n") {
		assert.LessOrEqual(t, len([]rune(line)), 100, line)
	}
}
