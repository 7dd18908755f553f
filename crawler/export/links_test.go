package export

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/tables"
)

// rowsOf returns some columns of the rows, without the site's address.
func rowsOf(t *testing.T, dir, base string, columns ...string) (lines []string) {
	t.Helper()
	m := makeTable(t, "links", dir)
	for _, r := range m.rows {
		lines = append(lines, strings.ReplaceAll(m.show(r, columns...), base, ""))
	}
	return lines
}

func named(r tables.Row) map[string]string {
	m := map[string]string{}
	for i, v := range r {
		if !v.IsNull() {
			m[tables.Links.Columns[i].Name] = valueText(v)
		}
	}
	return m
}

func TestRows_OfACrawl(t *testing.T) {
	s := newWeb(t, map[string]string{
		"/robots.txt": "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /no",
		"/": `x<a href=a>first</a> <a href="/a#x" rel="nofollow Me">again</a><a href=/no/b>b</a><a href=http://other.invalid/>o</a>` +
			`<a href=mailto:me@x>mail</a><a href=#top>top</a><img src=i.png alt=I><a href=/gone>g</a><a href=/moved>m</a><link rel=preconnect href=//x.invalid>`,
		"/a":     `x<a href=/>home</a><a href=/deep>d</a>`,
		"/deep":  `x<a href=/deeper>d</a>`,
		"/i.png": "Content-Type: image/png\n\n\x89PNG",
		"/moved": "302\nLocation: /a?x\n\n",
		"/a?x":   `Refresh: 0; url=/` + "\n\n" + `x<style>p{background:url(i.png)}</style>`,
	})
	dir := crawled(t, s, "links", func(s *crawldir.Settings) { s.Depth = 2 })
	got := rowsOf(t, dir, s.URL, "source_url", "position", "kind", "element", "attribute", "rel", "nofollow", "repeated", "anchor_text", "target_written",
		"target_url", "internal", "in_scope", "scope_rule", "followed", "why_not", "target_outcome", "target_status")
	want := []string{
		"/ | 1 | link | a | href | - | false | false | first | a | /a | true | true | scope:host | true | - | fetched | 200",
		"/ | 2 | link | a | href | nofollow; me | true | true | again | /a#x | /a | true | false | scope:nofollow | true | - | fetched | 200",
		"/ | 3 | link | a | href | - | false | false | b | /no/b | /no/b | true | true | scope:host | false | disallow rule | disallowed | -",
		"/ | 4 | link | a | href | - | false | false | o | http://other.invalid/ | http://other.invalid/ | false | false | scope:host | false | scope:host | dropped | -",
		"/ | 5 | link | a | href | - | false | false | mail | mailto:me@x | - | - | - | - | false | scheme | - | -",
		"/ | 6 | link | a | href | - | false | false | top | #top | / | true | true | scope:host | true | - | fetched | 200",
		"/ | 7 | embed | img | src | - | false | false | - | i.png | /i.png | true | true | scope:host | true | - | fetched | 200",
		"/ | 8 | link | a | href | - | false | false | g | /gone | /gone | true | true | scope:host | true | - | gone | 404",
		"/ | 9 | link | a | href | - | false | false | m | /moved | /moved | true | true | scope:host | true | - | redirected | 302",
		"/ | 10 | link | link | href | preconnect | false | false | - | //x.invalid | http://x.invalid/ | false | false | scope:host | false | no document | - | -",
		"/a | 1 | link | a | href | - | false | false | home | / | / | true | true | scope:host | true | - | fetched | 200",
		"/a | 2 | link | a | href | - | false | false | d | /deep | /deep | true | true | scope:host | true | - | fetched | 200",
		"/a?x | 1 | refresh | - | Refresh | - | false | false | - | / | / | true | true | scope:host | true | - | fetched | 200",
		"/a?x | 2 | embed | style | url | - | false | false | - | i.png | /i.png | true | true | scope:host | true | - | fetched | 200",
		"/deep | 1 | link | a | href | - | false | false | d | /deeper | /deeper | true | false | scope:depth | false | scope:depth | dropped | -",
		"/moved | 1 | redirect | - | Location | - | false | false | - | /a?x | /a?x | true | true | scope:host | true | - | fetched | 200",
	}
	assert.Equal(t, want, got)
}

func TestRows_ScopeIsTheCrawlers(t *testing.T) {
	pages := map[string]string{}
	for i := range 30 {
		var b strings.Builder
		b.WriteString("x")
		for k := range 8 {
			fmt.Fprintf(&b, `<a href="/p%d">t</a><a href="/x/x/x/x/x/x/x/x/q%d">t</a><a href="/no-%d.zip">t</a><img src="http://e.invalid/%d"><a rel=nofollow href=/n%d>t</a>`, (i*7+k*3)%30, k, k, i, k)
		}
		pages[fmt.Sprintf("/p%d", i)] = b.String()
	}
	pages["/"] = "301\nLocation: /p0\n\n"
	s := newWeb(t, pages)
	dir := crawled(t, s, "links", func(s *crawldir.Settings) { s.Reject = []string{".zip"} })
	n := map[string]int{}
	for _, line := range rowsOf(t, dir, s.URL, "target_decision", "target_reason", "in_scope", "scope_rule") {
		f := strings.Split(line, " | ")
		n[f[0]]++
		switch {
		case f[0] == "refuse" && (f[2] != "false" || f[3] != f[1]):
			t.Errorf("the crawl has %s by %s, the table %s by %s", f[0], f[1], f[2], f[3])
		case f[0] == "allow" && f[2] != "true":
			t.Errorf("the crawl fetched it, the table has %s by %s", f[2], f[3])
		}
	}
	assert.Truef(t, n["refuse"] >= 50 && n["allow"] >= 50, "too little to compare: %v", n)
}

func TestRows_NameUnreadParts(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	var many strings.Builder
	many.WriteString("x")
	for i := range extract.MaxTags/2 + 1 {
		fmt.Fprintf(&many, "<hr><a href=%d></a>", i)
	}
	s := newWeb(t, map[string]string{"/": "x" + strings.Repeat("<table><td>", 600) + "<a href=b>", "/a": many.String()})
	for path, want := range map[string]string{"/": extract.UnparsedDeep, "/a": extract.UnparsedTags} {
		dir := crawledFrom(t, s.URL+path, "links", func(s *crawldir.Settings) { s.Scope, s.MaxPages = "seeds", 1 })
		got := rowsOf(t, dir, s.URL, "kind", "why_not", "position", "followed", "target_written")
		last := got[len(got)-1]
		assert.Truef(t, strings.HasPrefix(last, "unread | "+want+" | "+fmt.Sprint(len(got))+" | false | -"), "%s: %s of %d", path, last, len(got))
	}
}

func linksRead(t *testing.T, r *linksReader, url, body string) *linksDocument {
	t.Helper()
	d, err := r.Read(t.Context(), source{Key: url, URL: url, Time: time.Unix(1e9, 0), Status: 200,
		Header: map[string][]string{"Content-Type": {"text/html"}}, Body: strings.NewReader(body), Size: int64(len(body))})
	require.NoError(t, err)
	return d
}

func TestRows_OfAPageWithVeryManyLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	const pages, each = 3, 50_000
	r := &linksReader{[]crawl{{Name: "c"}}, t.TempDir(), extract.New()}
	all := newTable(r)
	defer all.Close()
	var b bytes.Buffer
	b.WriteString("x")
	for i := range each {
		fmt.Fprintf(&b, "<a href=%d>t</a>", i)
	}
	require.LessOrEqual(t, b.Len(), extract.MaxParse, "too long")
	var before, after runtime.MemStats
	for i := range pages {
		d := linksRead(t, r, fmt.Sprintf("http://h.test/%d/", i), b.String())
		if i == 0 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		require.NoError(t, all.Add(d))
		require.NoError(t, d.Close())
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	assert.Truef(t, grown <= joinMemory+8<<20, "%d MiB are held", grown>>20)
	n := 0
	why := map[string]int{}
	err := all.Rows(t.Context(), func(r tables.Row) error {
		if n%1000 == 0 {
			m := named(r)
			want := fmt.Sprintf("http://h.test/%d/%d", n/each, n%each)
			require.Truef(t, m["target_url"] == want && m["position"] == fmt.Sprint(n%each+1), "row %d: %v", n, m)
			why[m["why_not"]]++
		}
		n++
		return nil
	})
	require.NoError(t, err)
	assert.Equalf(t, pages*each, n, "%d rows, %v", n, err)
	assert.Equal(t, map[string]int{"no decision": pages * 6, "too many": pages * (each/1000 - 6)}, why)
}

func TestJoin_TheLatestLineOfATarget(t *testing.T) {
	r := &linksReader{[]crawl{{Name: "one"}, {Name: "two"}}, t.TempDir(), extract.New()}
	all := newTable(r)
	defer all.Close()
	line := func(crawl int, url string, decision storage.Decision, outcome storage.Outcome, status, attempt int) {
		require.NoError(t, all.Line(crawl, &storage.Line{Time: time.Unix(1e9, 0), URL: url, Decision: decision, Outcome: outcome, Status: status, Attempt: attempt}))
	}
	line(0, "http://h.test/a", storage.DecisionAllow, storage.OutcomeFetched, 200, 1)
	line(0, "http://h.test/%61", storage.DecisionAllow, storage.OutcomeGone, 404, 1)
	line(0, "http://h.test/robots.txt", storage.DecisionRobots, "", 200, 1)
	line(1, "http://h.test/b", storage.DecisionAllow, storage.OutcomeFetched, 200, 1)
	line(0, "http://h.test/c", storage.DecisionAllow, storage.OutcomeDeferred, 503, 1)
	line(0, "http://h.test/c", storage.DecisionDisallow, storage.OutcomeDisallowed, 0, 0)
	require.NoError(t, all.Add(linksRead(t, r, "http://h.test/", `x<a href=a><a href="%61"><a href=robots.txt><a href=b><a href=c>`)))
	var got []string
	require.NoError(t, all.Rows(t.Context(), func(r tables.Row) error {
		m := named(r)
		got = append(got, strings.Join([]string{m["target_written"], m["followed"], m["why_not"], m["target_outcome"], m["target_status"]}, " "))
		return nil
	}))
	want := []string{"a true  gone 404", "%61 true  gone 404", "robots.txt false no decision  ", "b false no decision  ", "c true  disallowed "}
	assert.Truef(t, slices.Equal(got, want), "%q, want %q", got, want)
}

func TestDocument_KeepsWhatASiteWrites(t *testing.T) {
	r := &linksReader{[]crawl{{Name: "c"}}, t.TempDir(), extract.New()}
	all := newTable(r)
	defer all.Close()
	for _, text := range []string{"\x00a\n\"é/", "\xff\xfe<b\xff>"} {
		d := &linksDocument{head: head{URL: "http://h.test/"}}
		require.NoError(t, d.add(&mention{Kind: kindLink, Element: text, Attribute: text, Text: text, Written: text}, canon.URL{}))
		require.NoError(t, all.Add(d))
		require.NoError(t, d.Close())
	}
	var got []string
	require.NoError(t, all.Rows(t.Context(), func(r tables.Row) error {
		m := named(r)
		for _, column := range []string{"element", "attribute", "anchor_text", "target_written"} {
			got = append(got, m[column])
		}
		return nil
	}))
	require.Equal(t, slices.Concat(slices.Repeat([]string{"\x00a\n\"é/"}, 4), slices.Repeat([]string{"\uFFFD<b\uFFFD>"}, 4)), got)
}
