package extract

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/markup"
)

const xhtmlType = "application/xhtml+xml"

func xhtml(t testing.TB, body string, header ...string) Page {
	t.Helper()
	return extractAs(t, xhtmlType, body, header...)
}

const xhtmlRoot = `<html xmlns="http://www.w3.org/1999/xhtml">`

// HTML Standard 14.
func TestXHTML_Links(t *testing.T) {
	for _, tt := range []struct{ rule, body, want string }{
		{"any element may end itself", `<head><title/><script src="a"/><style/><link rel="stylesheet" href="b"/></head><body><iframe src="c"/><textarea/><a href="d" rel="nofollow"/></body>`,
			"+script src /dir/a; +link href /dir/b; +iframe src /dir/c; a href /dir/d nofollow"},
		{"CDATA is text, a comment is not", `<body><script><![CDATA[ "<img src='x'/>" ]]></script><!-- <a href="x"/> --><a href="a"/></body>`, "a href /dir/a"},
		{"style has references and CDATA", `<head><style>@import &quot;a&quot;;</style><style><![CDATA[b{c:url(]]><![CDATA[d)}]]></style></head>`, "+style import /dir/a; +style url /dir/d"},
		{"a style in a comment is ignored", `<head><style><!-- @import "a"; --></style></head>`, ""},
		{"entities", `<body><a href="?a=1&amp;b=&eacute;&#x263A;&hellip;">&nbsp;&copy;</a></body>`, "a href /dir/page.html?a=1&b=%C3%A9%E2%98%BA%E2%80%A6"},
		{"no element closes another", `<body><p><div><a href="a"><a href="b"/></a></div></p><table><a href="c"/></table></body>`, "a href /dir/a; a href /dir/b; a href /dir/c"},
		{"srcdoc is HTML all the same", `<body><iframe srcdoc="&lt;img src=a>&lt;title>x&lt;/title>&lt;a href=b>"/></body>`, "+img src /dir/a; a href /dir/b"},
		{"a template is inert", `<body><template><a href="x"/></template><a href="a"/></body>`, "a href /dir/a"},
		{"noscript has elements", `<head><noscript><link rel="stylesheet" href="a"/></noscript></head>`, "+link href /dir/a"},
		{"drawings", `<body><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><image xlink:href="a"/><a href="b"/><rect fill="url(c)"/><foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="d"/></foreignObject><title>x</title></svg></body>`,
			"+image xlink:href /dir/a; a href /dir/b; +rect fill /dir/c; +img src /dir/d"},
		{"drawings without a namespace", `<body><svg><image href="a"/><foreignObject><img src="b"/><image src="x"/></foreignObject><img src="c"/></svg><image src="x"/></body>`,
			"+image href /dir/a; +img src /dir/b; +img src /dir/c"},
		{"other vocabularies have no links", `<body><x:a xmlns:x="urn:x" href="x"/><a xmlns="urn:y" href="y"/><a x:href="z" xmlns:x="urn:x"/></body>`, ""},
		{"a refresh", `<head><meta http-equiv="refresh" content="0; url=a"/></head>`, "meta content /dir/a refresh"},
		{"a base is that of all", `<head><script src="a"/><base href="/b/"/></head>`, "+script src /b/a"},
	} {
		page := xhtml(t, xhtmlRoot+tt.body+"</html>")
		if got := lines(page); got != tt.want || page.Unparsed != "" {
			t.Errorf("%s: %q, %q; want %q", tt.rule, got, page.Unparsed, tt.want)
		}
	}
}

func TestXHTML_PrefixesAndInstructions(t *testing.T) {
	page := xhtml(t, `<?xml version="1.1" standalone='yes'?><?xml-stylesheet type="text/css" href="a?b&amp;c"?><!DOCTYPE h:html [<!ELEMENT x (y)>]>
<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:title>a <h:b>b</h:b></h:title><h:img src="d"/></h:html>`)
	if got := lines(page); got != "+xml-stylesheet href /dir/a?b&c; +img src /dir/d" || page.Title != "a b" || page.Unparsed != "" {
		t.Errorf("%q, %q, %q", got, page.Title, page.Unparsed)
	}
}

func TestXHTML_OnlyByItsMediaType(t *testing.T) {
	const body = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><title/><a href="x"/></html>`
	for contentType, want := range map[string]string{"text/html": "", "application/xhtml+xml; charset=utf-8": "a href /dir/x", "Application/XHTML+XML": "a href /dir/x"} {
		assert.Equal(t, want, lines(extractAs(t, contentType, body)), contentType)
	}
}

func TestXHTML_TitleTextAndRobots(t *testing.T) {
	in := input(t, []byte(xhtmlRoot+`<head><script/><title>a &lt; b</title><meta name="robots" content="noindex"/><META NAME="robots" CONTENT="noarchive"/></head><body>c<script>x</script><!-- y --><![CDATA[<d>]]></body></html>`))
	in.ContentType = xhtmlType
	var b strings.Builder
	in.Text = func(s string) { b.WriteString(s + "|") }
	page, err := New().HTML(t.Context(), in)
	if err != nil || page.Title != "a < b" || b.String() != "a < b|c|<d>|" || page.Robots.String() != "noindex, noarchive" {
		t.Errorf("%q, %q, %q, %v", page.Title, b.String(), page.Robots.String(), err)
	}
}

func TestXHTML_RobotsOfAnErrorPage(t *testing.T) {
	in := input(t, []byte(xhtmlRoot+`<head><title/><meta name="robots" content="noarchive"/></head></html>`))
	in.ContentType = xhtmlType
	if d, err := New().Directives(t.Context(), in); err != nil || !d.NoArchive {
		t.Errorf("%+v, %v", d, err)
	}
}

// RFC 7303 3, XML 4.3.3: byte order mark, field, declaration, else UTF-8; no meta elements.
func TestXHTML_Charset(t *testing.T) {
	const q = xhtmlRoot + `<head><meta charset="shift_jis"/></head><a href="?q=%s"/></html>`
	page := func(q1 string) string { return strings.Replace(q, "%s", q1, 1) }
	for _, tt := range []struct{ rule, contentType, body, want, unparsed string }{
		{"UTF-8", xhtmlType, page("\u00e9"), "utf-8 xml /dir/page.html?q=%C3%A9", ""},
		{"the declaration", xhtmlType, `<?xml version="1.0" encoding="iso-8859-1"?>` + page("\xE9"), "windows-1252 xml /dir/page.html?q=%E9", ""},
		{"the field", xhtmlType + "; charset=utf-8", `<?xml version="1.0" encoding="iso-8859-1"?>` + page("\u00e9"), "utf-8 header /dir/page.html?q=%C3%A9", ""},
		{"the mark", xhtmlType + "; charset=shift_jis", "\xEF\xBB\xBF" + page("\u00e9"), "utf-8 bom /dir/page.html?q=%C3%A9", ""},
		{"nothing, and not UTF-8: as HTML", xhtmlType, strings.Replace(page("\xE9"), "shift_jis", "iso-8859-2", 1), "iso-8859-2 meta /dir/page.html?q=%E9", UnparsedXML},
	} {
		p := extractAs(t, tt.contentType, tt.body)
		if got := fmt.Sprintf("%s %s %s", p.Charset, p.CharsetBy, strings.TrimPrefix(lines(p), "a href ")); got != tt.want || p.Unparsed != tt.unparsed {
			t.Errorf("%s: %q, %q; want %q", tt.rule, got, p.Unparsed, tt.want)
		}
	}
}

func TestXHTML_NotWellFormed(t *testing.T) {
	for _, tt := range []struct{ rule, body, want string }{
		{"HTML all along", `<!doctype html><title>x</title><p><a href=a>b<br><img src=c>`, "a href /dir/a; +img src /dir/c"},
		{"an ampersand behind a part that HTML cannot read", xhtmlRoot + `<title/><a href="a"/>& &nothing;<a href="b"/></html>`, "a href /dir/a; a href /dir/b"},
		{"end tags that do not fit", xhtmlRoot + `<title/><div><p></div><a href="b"/></html>`, "a href /dir/b"},
		{"a byte that is not UTF-8", xhtmlRoot + "<script/><a href='a'/><title>\xE9</title></html>", "a href /dir/a"},
		{"cut off", xhtmlRoot + `<title/><a href="a"/><a hre`, "a href /dir/a"},
		{"a prefix or two", `<html><a:a href="x"/><a href="a"/></html><p/><a href="b"/>`, "a href /dir/a; a href /dir/b"},
		{"an attribute twice", xhtmlRoot + `<title/><a href="a" href="b"/></html>`, "a href /dir/a"},
		{"an entity that the page declares", `<!DOCTYPE html [<!ENTITY e "x">]>` + xhtmlRoot + `<title/>&e;<a href="a"/></html>`, "a href /dir/a"},
		{"nothing", "", ""},
		{"a base behind the error", xhtmlRoot + `<a href="a"/>` + "\x02" + `<base href="/b/"/></html>`, "a href /b/a"},
	} {
		page := xhtml(t, tt.body)
		if got := lines(page); got != tt.want || page.Unparsed != UnparsedXML && tt.rule != "a prefix or two" {
			t.Errorf("%s: %q, %q; want %q", tt.rule, got, page.Unparsed, tt.want)
		}
	}
}

func TestXHTML_IsBounded(t *testing.T) {
	skipShort(t)
	deep := xhtmlRoot + strings.Repeat("<div>", 100_000) + `<title>x` + strings.Repeat("<b>", 1000) + "y" + strings.Repeat("</b>", 1000) + `</title><style>@import "c";</style><a href="a"/>` + strings.Repeat("</div>", 100_000) + `<a href="b"/></html>`
	if page := xhtml(t, deep); lines(page) != "+style import /dir/c; a href /dir/a; a href /dir/b" || page.Unparsed != "" || page.Title != "x" {
		t.Errorf("deep: %.200q, %q, %q", lines(page), page.Unparsed, page.Title)
	}
	wide := xhtmlRoot + `<a href="a"/>` + strings.Repeat("<p/>", MaxTags) + `<a href="b"/></html>`
	if page := xhtml(t, wide); lines(page) != "a href /dir/a" || page.Unparsed != UnparsedTags {
		t.Errorf("wide: %q, %q", lines(page), page.Unparsed)
	}
	long := xhtmlRoot + `<a href="a"/>` + strings.Repeat(" ", MaxParse) + `<a href="b"/></html>`
	if page := xhtml(t, long); lines(page) != "a href /dir/a" || page.Unparsed != UnparsedLong {
		t.Errorf("long: %q, %q", lines(page), page.Unparsed)
	}
	crowded := xhtmlRoot + `<a href="a"/><_p` + strings.Repeat(` x=""`, markup.Max) + `/><a href="b"/></html>`
	if page := xhtml(t, crowded); lines(page) != "a href /dir/a" || page.Unparsed != UnparsedAttrs {
		t.Errorf("crowded: %q, %q", lines(page), page.Unparsed)
	}
	var x xmlTree
	x.read(strings.NewReader("<p>"+strings.Repeat("x<!---->y<![CDATA[z]]>", 10_000)+"</p>"), true)
	if p := x.root.FirstChild; p.FirstChild != p.LastChild || len(p.FirstChild.Data) != 30_000 {
		t.Error("a text between comments is more than one node")
	}
}

// FuzzXHTML_LosesNothing: links that a page has as HTML are found in it as malformed XML.
func FuzzXHTML_LosesNothing(f *testing.F) {
	for _, seed := range []string{`<a href=x><p>`, xhtmlRoot + `<a href="x"/></html>`, `<svg><a xlink:href="x"><style>@import "a"</style>`, `<base href="/x/"/>&<a href="y"/>`, `<a b:c="d" a="&eacute;"><![CDATA[`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		ours, plain := extractAs(t, xhtmlType+"; charset=utf-8", body), unpruned(t, body)
		if ours.Unparsed != UnparsedXML || ours.Base != plain.Base {
			return
		}
		for _, l := range plain.Links {
			if !slices.ContainsFunc(ours.Links, func(o Link) bool { return o.URL.Key() == l.URL.Key() && o.Embed == l.Embed }) {
				t.Errorf("%s is lost", line(l))
			}
		}
		assert.GreaterOrEqual(t, len(ours.Links), len(plain.Links))
		assert.GreaterOrEqual(t, mentions(ours), mentions(plain))
	})
}

// R is a reference.
var xhtmlParts = []string{
	`<div>E</div>`, `<p style="a:url(R)" data-bg="R">E</p>`, `<a href="R">E</a>`, `<img src="R" srcset="R 1x, R 2x"/>`, `<link rel="stylesheet" href="R"/>`, `<link rel="next" href="R"/>`,
	`<video poster="R"><source src="R"/>E</video>`, `<script src="R"/>`, `<script><![CDATA[<a href="R">]]></script>`, `<title/>`, `<textarea/>`, `<iframe src="R"/>`, `<iframe srcdoc="&lt;img src=R>"/>`,
	`<style>@import &#x22;R&#34;;</style>`, `<style><![CDATA[a{b:url(R)}]]></style>`, `<!-- <a href="R"/> -->`, `<?x <a href="R"?>`, `<?xml-stylesheet href="R"?>`, `<noscript>E</noscript>`,
	`<svg xmlns="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"><image l:href="R"/><a l:href="R"><text fill="url(R)">x</text></a><use href="R"/><script href="R"/><style>@import "R";</style><foreignObject><div xmlns="http://www.w3.org/1999/xhtml">E</div></foreignObject></svg>`,
	`<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:image href="R"/><s:feImage href="R"/></s:svg>`, `<math xmlns="http://www.w3.org/1998/Math/MathML"><mi href="R">x</mi></math>`, `<svg><image href="R"/><foreignObject>E</foreignObject></svg>`,
	`<table background="R"><tr><td background="R">E</td></tr></table>`, `<meta http-equiv="refresh" content="1; url=R"/>`, `<meta property="og:image" content="R"/>`, `<input type="image" src="R"/>`, `<object data="R">E</object>`,
	`<image src="R"/>`, `<h:a xmlns:h="http://www.w3.org/1999/xhtml" href="R">E</h:a>`, `<A Href="R"/>`, `<base href="R"/>`, `&eacute;&nbsp;`, `E E`, `]]&gt;`, "x",
}

// The crawler may find more: templates, comments in style, and names of HTML in other vocabularies.
func TestXHTML_EqualsMarkup(t *testing.T) {
	refs := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		body := xhtmlRoot + "EEE</html>"
		for left := 30; strings.Contains(body, "E"); left-- {
			part := ""
			if left > 0 {
				part = xhtmlParts[r.IntN(len(xhtmlParts))]
			}
			body = strings.Replace(body, "E", part, 1)
		}
		for n := 0; strings.Contains(body, "R"); n++ {
			body = strings.Replace(body, "R", fmt.Sprintf("%sx%d%s", []string{"", "../", "/", "//o.test/"}[r.IntN(4)], n, []string{"", "?q=&amp;", "?é", "&#x26;", "&copy;"}[r.IntN(5)]), 1)
		}
		if seed%2 == 0 {
			body = `<?xml version="1.0" encoding="iso-8859-1"?>` + strings.ReplaceAll(body, "é", "\xE9")
		}
		in := input(t, []byte(body))
		in.ContentType, in.Previews = xhtmlType, true
		page, err := New().HTML(t.Context(), in)
		require.NoError(t, err)
		require.Empty(t, page.Unparsed, body)
		ours, theirs := keysOf(page), marked(t, markup.XHTML, xhtmlType, body)
		require.Equal(t, theirs, ours)
		refs += len(ours)
	}
	assert.GreaterOrEqualf(t, refs, 10_000, "only %d references in all", refs)
}

func keysOf(page Page) (out []string) {
	for _, l := range page.Links {
		key := l.URL.Key()
		if l.Embed {
			key = "+" + key
		}
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
