package mirror

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func TestCheck_ReportsDefects(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	built(t, options(t, dir))
	if wrong, _ := brokenOf(t, dir); len(wrong) > 0 {
		t.Fatalf("a whole mirror is wrong: %+v", wrong)
	}
	tree := Tree(dir)
	require.NoError(t, os.Remove(filepath.Join(tree, "a.test", "i.png")))
	index := filepath.Join(tree, "a.test", "index.html")
	b, err := os.ReadFile(index)
	require.NoError(t, err)
	edit(t, index, strings.Replace(string(b), `"d/index.html"`, `"http://a.test/d/"`, 1)+`<a href="nowhere.html#x">n</a><a href="/root.html">r</a>`+
		`<form action="http://a.test/Page"></form><form action="http://a.test/none"></form><form method=post action="http://a.test/d/"></form>`)
	wrong, _ := brokenOf(t, dir)
	found := map[string]Reason{}
	for _, b := range wrong {
		found[b.File+" "+b.Ref] = b.Reason
	}
	for what, want := range map[string]Reason{
		"a.test/i.png ":                        NoFile, // the map has it
		"a.test/index.html i.png":              NoFile,
		"a.test/index.html http://a.test/d/":   NotLinked,
		"a.test/index.html http://a.test/Page": NotLinked,
		"a.test/index.html nowhere.html#x":     NoFile,
		"a.test/index.html /root.html":         NoFile,
		"a.test/d/e@x=1&y=2.html ../i.png":     NoFile,
		"a.test/s@v=1.css i.png":               NoFile,
	} {
		assert.Equal(t, want, found[what], what)
		delete(found, what)
	}
	assert.Empty(t, found, "also wrong")
}

func TestCheck_FindsUnwrittenReferences(t *testing.T) {
	dir := t.TempDir()
	page := `<script type=module>/* from "./no.js" */ import a from "./here.js"; import b from "./m1.js"</script>` +
		`<x-pic pic-src="p1.png" page="./p2" alt="no.png" class="a.css" onclick="no.js"></x-pic><p title="../no" data-x="d1.json" data-url_root="../">` +
		`<template><a href=no></a></template><a href="mailto:x@y.z"></a><a href="//b.test/x"></a><a href="#x"></a><a href="">self</a>` +
		`<style>/* url(no) */ p { background: url( "s1.png" ) }</style><i style="background:url(s2.png)"></i>` +
		`<img srcset="here.js 1x, r1.png 2x" src="here.js?x#y"><iframe srcdoc="&lt;img src=f1.png>"></iframe>` +
		`<meta http-equiv=refresh content="1; url='e1.html'"><meta content="no.png"><script>"no.js"</script><textarea><a href=no></a></textarea>` +
		`<noframes><a href=n1></a></noframes><noscript><img src=n2></noscript><svg><use xlink:href="v1.svg#a"/></svg>` +
		`<a href=here.js download="no.pdf" :src="no.png" v-bind:href="no.url"></a><object data=o1.swf></object>` +
		`<a ping="g1 https://o.test/g ./g2" attributionsrc="g3.html"></a><img srcset="data:image/svg+xml,<svg viewBox='0 0 1 1'/> 1x">`
	crawled(t, dir, got{url: "http://a.test/", body: "x"}, got{url: "http://a.test/here.js", head: "200 OK\r\nContent-Type: text/javascript", body: `import "./here.js"`},
		got{url: "http://a.test/w.webmanifest", head: "200 OK\r\nContent-Type: application/manifest+json", body: "{}"}, got{url: "http://a.test/x.svg", head: "200 OK\r\nContent-Type: image/svg+xml", body: "<svg/>"},
		got{url: "http://a.test/x.xml", head: "200 OK\r\nContent-Type: text/xml", body: "<x/>"},
		got{url: "http://a.test/s.css", head: "200 OK\r\nContent-Type: text/css", body: "a{}"})
	built(t, options(t, dir))
	in := func(name string) string { return filepath.Join(Tree(dir), "a.test", name) }
	edit(t, in("index.html"), page)
	edit(t, in("here.js"), `import "./here.js"; export * from '../j1.js'; // from "no.js"`)
	edit(t, in("w.webmanifest"), `{"name": "no.png x", "x": [{"y": "w1.png"}, "./w2"]}`)
	edit(t, in("x.svg"), `<svg><title/><script/><image href="g1.png"/><a href="x.svg"/></svg>`)
	edit(t, in("x.xml"), `<?xml-stylesheet type="text/xsl" href="x1.xsl"?><data href="no"/><xsl:include href="x2.xsl"/>`)
	edit(t, in("s.css"), `@import "c1.css"; a { background: url(c2.png) url(here.js) image-set("i1.png" 1x) } /* url(no) */`)
	wrong, other := brokenOf(t, dir)
	var refs []string
	for _, b := range wrong {
		refs = append(refs, b.Ref)
	}
	slices.Sort(refs)
	if got := strings.Join(refs, " "); got != "../j1.js ./g2 ./m1.js ./p2 ./w2 c1.css c2.png e1.html f1.png g1 g1.png g3.html i1.png n1 n2 o1.swf p1.png r1.png s1.png s2.png v1.svg#a w1.png x1.xsl x2.xsl" {
		t.Errorf("wrong are %s", got)
	}
	assert.Truef(t, len(other) == 2 && other[0].Ref == "d1.json" && other[0].Reason == ByScript, "else there is %+v", other)
}

func TestReasons_UnavailableRobots(t *testing.T) {
	dir, at := t.TempDir(), time.Unix(1, 0)
	robotsLine := func(host, reason string, status int) storage.Line {
		at = at.Add(time.Second)
		return storage.Line{Time: at, URL: "http://" + host + ".test/robots.txt", Decision: "robots", Reason: reason, Status: status}
	}
	crawled(t, dir, got{url: "http://a.test/", body: `<img src="//none.test/x"><img src="//late.test/x"><img src="//down.test/x"><img src="//open.test/x">`})
	writeLedger(t, dir, robotsLine("none", "nxdomain", 0), robotsLine("late", "connect", 0), robotsLine("late", "", 404), robotsLine("down", "", 200), robotsLine("down", "status 503", 503), robotsLine("open", "", 200))
	built(t, options(t, dir))
	for host, want := range map[string]Missing{
		"none": {Reason: Robots, Detail: "robots.txt: nxdomain"}, "late": {Reason: NotFetched},
		"down": {Reason: Robots, Detail: "robots.txt: status 503"}, "open": {Reason: NotFetched},
	} {
		m := missingOf(t, dir)["http://"+host+".test/x"]
		assert.Truef(t, m.Reason == want.Reason && m.Detail == want.Detail, "%s: %+v, want %+v", host, m, want)
	}
}

func TestReasons_OfMissingFiles(t *testing.T) {
	dir := t.TempDir()
	line := func(path, decision, reason, outcome string) storage.Line {
		return storage.Line{URL: "http://b.test/" + path, Decision: storage.Decision(decision), Reason: reason, Outcome: storage.Outcome(outcome), Attempt: 1}
	}
	lines := []storage.Line{
		line("robots", "disallow", "disallow rule", "disallowed"), line("optout", "opt-out", "", "dropped"), line("trap", "hold", "trap:queries", "held"),
		line("dns", "allow", "dns", "failed"), line("later", "allow", "timeout", "deferred"), line("twice", "allow", "timeout", "failed"), line("twice", "allow", "", "deferred"),
		line("type", "allow", "scope:accept", "dropped"), line("gone", "allow", "status 410", "gone"),
		{URL: "http://c.test/sample", Decision: "refuse", Reason: "scope:host", Count: 500},
		{URL: "http://b.test/", Decision: "robots", Status: 200},
	}
	body := ""
	want := map[string]Missing{
		"robots": {Reason: Robots, Detail: "disallow rule"}, "optout": {Reason: OptOut}, "trap": {Reason: Held, Detail: "trap:queries"}, "dns": {Reason: Failed, Detail: "dns"},
		"later": {Reason: NotFetched, Detail: "timeout"}, "twice": {Reason: Failed, Detail: "timeout"}, "type": {Reason: Scope, Detail: "scope:accept"},
		"gone": {Reason: Gone, Detail: "status 410"}, "never": {Reason: NotFetched}, "": {Reason: NotFetched},
	}
	for path := range want {
		body += `<a href="http://b.test/` + path + `">x</a>`
	}
	body += `<a href="http://c.test/other">x</a><a href="chain">x</a><a href="loop">x</a><script src="big.js"></script><a href="big.js">x</a>`
	crawled(t, dir, got{url: "http://a.test/", body: body}, got{url: "http://a.test/2", body: body},
		got{url: "http://a.test/chain", head: "301 Moved\r\nLocation: chain2"}, got{url: "http://a.test/chain2", head: "301 Moved\r\nLocation: oops"},
		got{url: "http://a.test/oops", head: "500 Oops"},
		got{url: "http://a.test/loop", head: "301 Moved\r\nLocation: loop2"}, got{url: "http://a.test/loop2", head: "301 Moved\r\nLocation: loop"},
		got{url: "http://a.test/big.js", body: strings.Repeat("x", 2000)},
	)
	writeLedger(t, dir, lines...)
	o := options(t, dir)
	o.MaxBody = 1999
	s := built(t, o)
	missing := missingOf(t, dir)
	mustBe := func(url string, want Missing) {
		t.Helper()
		m := missing[url]
		if want.Links == 0 {
			want.Links = 2
		}
		if m.Reason != want.Reason || m.Detail != want.Detail || m.Links != want.Links || m.Embeds != want.Embeds || len(m.In) < 2 || m.In[0] != "a.test/2.html" {
			t.Errorf("%s is %+v, want %+v", url, m, want)
		}
	}
	for path, w := range want {
		mustBe("http://b.test/"+path, w)
	}
	mustBe("http://c.test/other", Missing{Reason: Scope, Detail: "one of many of its host: scope:host"})
	mustBe("http://a.test/chain", Missing{Reason: Redirect, Detail: "to http://a.test/oops: error: status 500"})
	mustBe("http://a.test/loop", Missing{Reason: Redirect, Detail: "redirect loop"})
	mustBe("http://a.test/big.js", Missing{Reason: TooLarge, Embeds: 2})
	assert.Truef(t, s.Left[TooLarge] == 1 && s.Left[Redirect] == 4 && s.Missing[NotFetched] == 3 && s.MissingEmbeds[TooLarge] == 1, "the summary is %+v", s)
	_, other := brokenOf(t, dir)
	assert.Truef(t, len(other) == 2*(len(want)+5), "%d references are reported, want %d", len(other), 2*(len(want)+5))
}

func TestALargeDocumentIsCopied(t *testing.T) {
	dir := t.TempDir()
	body := `<a href="/x">x</a>` + strings.Repeat(" ", maxDocument)
	crawled(t, dir, got{url: "http://a.test/", body: body}, got{url: "http://a.test/x", body: "x"})
	s := built(t, options(t, dir))
	b, err := os.ReadFile(filepath.Join(Tree(dir), "a.test", "index.html"))
	assert.Truef(t, err == nil && string(b) == body && s.Unread == 1, "%d octets, %v, %+v", len(b), err, s)
	_, other := brokenOf(t, dir)
	assert.Truef(t, len(other) == 1 && other[0].Reason == NotRewritten, "reported %+v", other)
	assert.EqualValues(t, 2, built(t, options(t, dir)).Shared, "files are shared")
}
