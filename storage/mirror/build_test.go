package mirror

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func small() []got {
	return []got{
		{url: "http://a.test/", body: `<html><head><base href="/d/"><link rel=stylesheet href="../s.css?v=1"></head>` +
			`<a href="/d">d</a> <a href="/moved#there">moved</a> <a href="e?x=1&amp;y=2#f">e</a> <a href="http://b.test/x">off</a>` +
			`<img src="/i.png" srcset="/i.png 1x, /j.png 2x"> <a href="mailto:x@a.test">m</a> <form action="/search"></form></html>`},
		{url: "http://a.test/d", head: "301 Moved\r\nLocation: /d/"},
		{url: "http://a.test/d/", body: `<a href="../">up</a> <a href="#top">top</a> <a href="/secret">no</a> <a href="/Page">P</a> <a href="/page">p</a>`},
		{url: "http://a.test/moved", head: "302 Found\r\nLocation: /d"},
		{url: "http://a.test/d/e?x=1&y=2", body: `<p style="background: url(/i.png)">e`},
		{url: "http://a.test/s.css?v=1", head: "200 OK\r\nContent-Type: text/css", body: `@import "t.css"; a { background: url("i.png") } b { background: url(gone.png) }`},
		{url: "http://a.test/t.css", body: `c { color: red }`},
		{url: "http://a.test/i.png", body: "\x89PNG picture"},
		{url: "http://a.test/gone.png", head: "404 Not Found", body: "no"},
		{url: "http://a.test/Page", body: "<a href=page>small</a>"},
		{url: "http://a.test/page", body: "<a href=Page>large</a>"},
		{url: "http://a.test/secret", body: "x", record: noArchive},
		{url: "http://a.test/robots.txt", head: "200 OK\r\nContent-Type: text/plain", body: "User-agent: *", record: decided("robots")},
	}
}

// Fetch 4.4, HTTP-redirect fetch: redirects may lead to a fragment, which a chain keeps.
func TestRedirectsToAPlaceInAPage(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, got{url: "http://a.test/", body: "<a href=/old>old</a> <a href=/older#x>older</a>"},
		got{url: "http://a.test/old", head: "301 Moved\r\nLocation: /new#a \"b\xE9"},
		got{url: "http://a.test/older", head: "301 Moved\r\nLocation: /old"},
		got{url: "http://a.test/new", body: "new"})
	built(t, options(t, dir))
	page := treeOf(t, Tree(dir))["a.test/index.html"]
	assert.Equal(t, `<a href="new.html#a%20%22b%E9">old</a> <a href="new.html#a%20%22b%E9">older</a>`, page)
	wrong, _ := brokenOf(t, dir)
	assert.Truef(t, len(wrong) <= 0, "wrong: %v", wrong)
	assert.Equal(t, "http://a.test/new", mapOf(t, dir)["http://a.test/older"].Redirect, "the map")
}

func TestTreeOfASmallSite(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	writeLedger(t, dir, storage.Line{URL: "http://b.test/x", Decision: "refuse", Reason: "scope:host"},
		storage.Line{URL: "http://a.test/j.png", Decision: "disallow", Reason: "disallow rule", RobotsLine: 3, RobotsRule: "/j"})
	s := built(t, options(t, dir))
	tree := treeOf(t, Tree(dir))
	page := "a.test/page~" + hashOf("http://a.test/page")[:8] + ".html"
	want := []string{"a.test/Page.html", "a.test/d/e@x=1&y=2.html", "a.test/d/index.html", "a.test/i.png", "a.test/index.html", page, "a.test/s@v=1.css", "a.test/t.css"}
	assert.Equal(t, want, filesOf(tree))
	for file, parts := range map[string][]string{
		"a.test/index.html": {
			`href="s@v=1.css"`, `href="d/index.html"`, `href="d/index.html#there"`, `href="d/e@x=1%26y=2.html#f"`, `href="http://b.test/x"`,
			`src="i.png"`, `i.png 1x, http://a.test/j.png 2x`, `href="mailto:x@a.test"`, `action="http://a.test/search"`,
		},
		"a.test/d/index.html":     {`href="../index.html"`, `href="#top"`, `href="http://a.test/secret"`, `href="../Page.html"`, `href="../` + page[len("a.test/"):] + `"`},
		"a.test/d/e@x=1&y=2.html": {`../i.png`},
		"a.test/s@v=1.css":        {`t.css`, `i.png`, `http://a.test/gone.png`},
		"a.test/i.png":            {"\x89PNG picture"},
		"a.test/Page.html":        {`href="` + page[len("a.test/"):] + `"`},
	} {
		for _, p := range parts {
			assert.Containsf(t, tree[file], p, "%s", file)
		}
	}
	assert.NotContains(t, tree["a.test/index.html"], `"/d/"`, "the base stayed")
	missing := missingOf(t, dir)
	for url, want := range map[string]Missing{
		"http://b.test/x":        {Reason: Scope, Detail: "scope:host", Links: 1},
		"http://a.test/j.png":    {Reason: Robots, Detail: "disallow rule: line 3: /j", Embeds: 1},
		"http://a.test/secret":   {Reason: NoArchive, Links: 1},
		"http://a.test/gone.png": {Reason: Gone, Detail: "status 404", Embeds: 1},
	} {
		if m := missing[url]; m.Reason != want.Reason || m.Detail != want.Detail || m.Links != want.Links || m.Embeds != want.Embeds || len(m.In) != 1 {
			t.Errorf("%s is missing as %+v, want %+v", url, m, want)
		}
	}
	assert.Len(t, missing, 4, "missing")
	e := mapOf(t, dir)["http://a.test/moved"]
	assert.Truef(t, e.File == "a.test/d/index.html" && e.Redirect == "http://a.test/d/" && e.Status == 302, "a redirect is in the map as %+v", e)
	if s.Files != 8 || s.Redirects != 2 || s.Rewritten != 7 || s.Left[NoArchive] != 1 || s.Left[Gone] != 1 || s.Missing[Scope] != 1 || s.MissingEmbeds[Robots] != 1 || s.New != 10 {
		t.Errorf("the summary is %+v", s)
	}
	wrong, other := brokenOf(t, dir)
	assert.Truef(t, len(wrong) <= 0 && len(other) == 4, "wrong: %+v, missing: %+v", wrong, other)
}

func TestTreeDoesNotDependOnTheOrderOfRecordsOrOnSegments(t *testing.T) {
	var first map[string]string
	for seed := range uint64(6) {
		dir := t.TempDir()
		all := append(small(), got{url: "http://a.test/twice", body: "first"}, got{url: "http://a.test/twice", body: "second", second: 40})
		for i := range all { // each record has its own time; many came in one second
			before := all[i].record
			all[i].record = func(r *storage.Record) {
				if before != nil {
					before(r)
				}
				r.Time = began.Add(time.Duration(i) * 70 * time.Millisecond)
			}
		}
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		crawledIn(t, dir, int64(1+seed*2000), all...)
		o := options(t, dir)
		if seed%2 == 1 {
			o.Archive.Index = nil // made only from the segments
		}
		slices.Reverse(o.Archive.Segments)
		built(t, o)
		tree := treeOf(t, Tree(dir))
		anonymous(tree)
		if first == nil {
			first = tree
			continue
		}
		mustBeEqual(t, "shuffled", first, tree)
	}
}

// anonymous removes the random ids of records from a map.
func anonymous(tree map[string]string) {
	tree[MapFile] = regexp.MustCompile(`"record":"[^"]*",`).ReplaceAllString(tree[MapFile], "")
}

func TestRebuildIsTheSameAndSharesEverything(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	o := options(t, dir)
	built(t, o)
	before := treeOf(t, Tree(dir))
	s := built(t, o)
	mustBeEqual(t, "built again", before, treeOf(t, Tree(dir)))
	assert.Truef(t, s.Written == 0 && s.Shared == s.Files && s.New+s.Differ+s.Lost == 0 && s.Unchanged == 10, "the second build: %+v", s)
	// A user's change is reverted, whether the size reveals it or not.
	edit(t, filepath.Join(Tree(dir), "a.test", "i.png"), "\x89PNG pictura")
	edit(t, filepath.Join(Tree(dir), "a.test", "Page.html"), "mine")
	s = built(t, o)
	mustBeEqual(t, "built after an edit", before, treeOf(t, Tree(dir)))
	assert.EqualValues(t, 2, s.Written, "files were written")
	o.Fresh = true
	assert.Zero(t, built(t, o).Shared, "files that a fresh build shares")
	mustBeEqual(t, "built afresh", before, treeOf(t, Tree(dir)))
}

func edit(t testing.TB, path, octets string) {
	t.Helper()
	os.Remove(path)
	require.NoError(t, os.WriteFile(path, []byte(octets), 0o644))
}

func TestBuild_WritesChangesOnly(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	built(t, options(t, dir))
	crawled(t, dir,
		got{url: "http://a.test/Page", body: "<a href=page>smaller</a> <a href=new>new</a>", second: 100},
		got{url: "http://a.test/t.css", body: "c { color: red }", second: 100}, // a revisit
		got{url: "http://a.test/new", body: "new", second: 100},
		got{url: "http://a.test/d/e?x=1&y=2", head: "410 Gone", second: 100},
	)
	o := options(t, dir)
	s := built(t, o)
	assert.Truef(t, s.Written == 2 && s.Kept == 1 && s.New == 1 && s.Differ == 1 && s.Lost == 0 && s.Unchanged == 9, "the summary is %+v", s)
	e := mapOf(t, dir)["http://a.test/t.css"]
	assert.Truef(t, e.Seen != "" && e.Seen > e.Date, "a page that was confirmed is %+v", e)
	assert.Equal(t, "gone", mapOf(t, dir)["http://a.test/d/e?x=1&y=2"].Older, "a page that is gone and stays")
	o.Vanished = Remove
	s = built(t, o)
	if s.Lost != 1 || s.New+s.Differ != 0 || s.Written != 1 { // the page that links to it
		t.Errorf("the summary is %+v", s)
	}
	m := missingOf(t, dir)["http://a.test/d/e?x=1&y=2"]
	assert.Truef(t, m.Reason == Gone && m.Detail == "status 410", "the page that is gone is missing as %+v", m)
}

func TestPreviews_MissingIfEnabled(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, got{url: "http://a.test/", body: `<meta property="og:image" content="i.png"><meta property="og:image" content="j.png">`}, got{url: "http://a.test/i.png", body: "i"})
	o := options(t, dir)
	for _, o.Previews = range []bool{false, true} {
		built(t, o)
		wrong, other := brokenOf(t, dir)
		if _, missed := missingOf(t, dir)["http://a.test/j.png"]; missed != o.Previews || len(wrong) > 0 || len(other) > 0 != o.Previews {
			t.Errorf("previews %t: missed %t, wrong %v, reported %v", o.Previews, missed, wrong, other)
		}
		page := treeOf(t, Tree(dir))["a.test/index.html"]
		assert.Truef(t, strings.Contains(page, `"i.png"`) && strings.Contains(page, `"http://a.test/j.png"`), "the page is %s", page)
	}
}

func TestWhichAnswerCounts(t *testing.T) {
	const url = "http://a.test/x"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("unpacked"))
	z.Close()
	for _, c := range []struct {
		rule    string
		answers []got
		want    string // the file; empty: none
		reason  Reason
	}{
		{"the latest", []got{{body: "1", second: 1}, {body: "2", second: 5}}, "2", ""},
		{"the latest, at any place", []got{{body: "2", second: 5}, {body: "1", second: 1}}, "2", ""},
		{"the latest of a second", []got{{body: "1", second: 5}, {body: "2", second: 5}}, "2", ""},
		{"a failure does not count", []got{{body: "1"}, {head: "500 Oops"}}, "1", ""},
		{"a cut body does not count", []got{{body: "1"}, {body: "2", record: truncated}}, "1", ""},
		{"only a cut body", []got{{body: "2", record: truncated}}, "", Truncated},
		{"a page that is gone stays", []got{{body: "1"}, {head: "404 Not Found"}}, "1", ""},
		{"an error page is not a page", []got{{head: "404 Not Found", body: "no"}}, "", Gone},
		{"an error page is not a page", []got{{head: "503 Later", body: "no"}}, "", Failed},
		{"a part is not a page", []got{{head: "206 Partial Content", body: "1"}}, "", Failed},
		{"no content is not a page", []got{{head: "204 No Content"}}, "", Failed},
		{"noarchive also applies to earlier captures", []got{{body: "1"}, {body: "2", record: noArchive}}, "", NoArchive},
		{"and not to later ones", []got{{body: "1", record: noArchive}, {body: "2"}}, "2", ""},
		{"a wish in the head holds without the crawler's word", []got{{head: "200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noindex, noarchive", body: "1", record: func(r *storage.Record) { r.Line = nil }}}, "", NoArchive},
		{"robots.txt is not the crawler's page", []got{{body: "1"}, {body: "2", record: decided("robots")}}, "1", ""},
		{"robots.txt to which a page links is", []got{{body: "1"}, {body: "2", record: func(r *storage.Record) { r.Line.Decision, r.Line.Kind = storage.DecisionRobots, storage.KindLink }}}, "2", ""},
		{"a body is unpacked", []got{{head: "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip", body: packed.String()}}, "unpacked", ""},
		{"a broken coding has no body", []got{{head: "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip", body: packed.String()[:packed.Len()-9]}}, "", Damaged},
		{"an unsupported coding has no body", []got{{head: "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: compress", body: "1"}}, "", Damaged},
		{"an unknown coding changes nothing", []got{{head: "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: x-rot", body: "1"}}, "1", ""},
		{"a redirect to nothing", []got{{head: "302 Found\r\nLocation: /nowhere"}}, "", Redirect},
		{"a redirect to itself", []got{{head: "302 Found\r\nLocation: /x"}}, "", Failed},
		{"a redirect to another scheme", []got{{head: "302 Found\r\nLocation: mailto:x"}}, "", Failed},
		{"a repeat has its original's body", []got{{body: "1"}, {body: "1", second: 9}}, "1", ""},
		{"not modified has its original's body", []got{{body: "1"}, {head: "304 Not Modified", second: 9, record: func(r *storage.Record) {
			r.HasPayload, r.Repeatable, r.NotModified = false, false, &storage.Original{URL: url, Date: began.Add(1e9)}
		}}}, "1", ""},
		{"not modified since a missing capture", []got{{head: "304 Not Modified", second: 9, record: func(r *storage.Record) {
			r.HasPayload, r.Repeatable, r.NotModified = false, false, &storage.Original{URL: url, Date: began.Add(1e9)}
		}}}, "", NoOriginal},
	} {
		t.Run(c.rule, func(t *testing.T) {
			dir := t.TempDir()
			for i := range c.answers {
				c.answers[i].url = url
			}
			crawled(t, dir, append(c.answers, got{url: "http://a.test/", body: `<a href=x>x</a>`})...)
			s := built(t, options(t, dir))
			assert.Equal(t, c.want, treeOf(t, Tree(dir))["a.test/x.html"])
			assert.Equal(t, c.reason, missingOf(t, dir)[url].Reason, "why it is missing")
			assert.Falsef(t, c.reason != "" && s.Left[c.reason] != 1, "the summary is %+v", s)
			wrong, _ := brokenOf(t, dir)
			assert.Truef(t, len(wrong) <= 0, "wrong: %+v", wrong)
		})
	}
}
