package text

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, contentType, body string) Page {
	t.Helper()
	p, err := Read(t.Context(), Input{ContentType: contentType, Body: strings.NewReader(body)})
	require.NoError(t, err)
	return p
}

func TestText_OneLinePerBlock(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"title first":                   {"<title>A &amp; B</title><p>one", "A & B\none"},
		"white space is one space":      {"<p>  one\n\t two&nbsp; three  </p> ", "one two three"},
		"inline elements part nothing":  {"<p>o<b>n</b>e <span>two</span>th<wbr>ree", "one twothree"},
		"blocks are lines":              {"a<div>b<ul><li>c<li>d</ul></div>e<br><br>f<hr>g", "a\nb\nc\nd\ne\nf\ng"},
		"cells are parted":              {"<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a b\n1 2"},
		"pre keeps its spaces":          {"x<pre>a\n  b\t c\n\n\nd  \n</pre>e", "x\na\n  b\t c\nd\ne"},
		"pre has no empty line":         {"<pre>a\n   \n\t\n b  c\n  </pre>  d", "a\n b  c\nd"},
		"scripts and styles":            {"a<script>b<p>c</script><style>d</style>e", "ae"},
		"a script with tags in strings": {`a<script>x="</p><!--<script>"</script>--></script>b`, "ab"},
		"templates":                     {"a<template>b<template>c</template>d<script>e</script></template>f", "af"},
		"declarative shadow roots":      {"a<div><template shadowrootmode=open>b</template></div>c", "a\nb\nc"},
		"noscript":                      {"a<noscript><p>b</p></noscript>c", "a\nb\nc"},
		"frames":                        {"a<iframe>b</iframe><noframes>c</noframes>d", "ad"},
		"comments":                      {"a<!-- b --><![CDATA[c]]>d", "ad"},
		"svg has a title":               {"a<svg><title>b</title><style>c</style><script/><text>d</text></svg>e", "a\nb\nde"},
		"svg ends where html begins":    {"a<svg><p>b<script>c</script>d", "a\nbd"},
		"text areas and buttons":        {"<textarea>a<b></textarea><button>c</button><select><option>d<option>e</select>", "a<b> c\nd\ne"},
		"control characters":            {"a\x00\x01b\u0085c\u2028d\x7f", "ab c d"},
		"not UTF-8":                     {"<meta charset=utf-8>a\xff\xfeb", "a\uFFFDb"},
		"references":                    {"&lt;b&gt; &eacute; &#x41; &bogus;", "<b> é A &bogus;"},
		"tags that never end":           {"a<p title='b", "a"},
	} {
		assert.Equal(t, c.want, read(t, "text/html; charset=utf-8", c.page).Whole, name)
	}
}

// XHTML 1.0 C.2 and C.3: "/>" ends any element in XML, and none in HTML.
func TestInXMLAnyElementEndsItself(t *testing.T) {
	const page = `<html xml:lang="de"><title/><body><script src="a"/><p/>text <![CDATA[a<b]]><iframe/> end</body></html>`
	got := read(t, "application/xhtml+xml", page)
	assert.Truef(t, got.Whole == "text a<b end" && got.Declared.HTML == "de", "in XML: %q, %+v", got.Whole, got.Declared)
	assert.Equal(t, `<body><script src="a"/><p/>text <![CDATA[a<b]]><iframe/> end</body></html>`, read(t, "text/html", page).Whole, "in HTML")
}

func TestText_DependsOnMediaType(t *testing.T) {
	for _, c := range []struct{ contentType, body, whole, charset, why string }{
		{"text/plain", "a  <b>\r\n\r\n c\n", "a  <b>\n c", "windows-1252", NoPage},
		{"text/plain; charset=utf-8", "\xEF\xBB\xBFé", "é", "utf-8", NoPage},
		{"text/html; charset=koi8-r", "<p>\xF0\xF2", "ПР", "koi8-r", NoArticle},
		{"text/html; charset=utf-16le", "<\x00p\x00>\x00a\x00", "a", "utf-16le", NoArticle},
		{"application/pdf", "<p>a", "", "", NoPage},
		{"", "<!doctype html><p>a", "a", "windows-1252", NoArticle},
		{"", "%PDF", "", "", NoPage},
		{"text/html", "", "", "windows-1252", NoText},
		{"text/html", "<script>a</script>", "", "windows-1252", NoText},
	} {
		got := read(t, c.contentType, c.body)
		if got.Main != "" {
			got.NoMain = NoArticle // short texts may be one
		}
		if got.Whole != c.whole || got.Charset != c.charset || got.NoMain != c.why {
			t.Errorf("%s %q: %q in %s, %s", c.contentType, c.body, got.Whole, got.Charset, got.NoMain)
		}
	}
}

const sentence = "The ferry leaves the old harbour at seven in the morning, and whoever misses it waits a day for the next one. "

func page() string {
	return `<html lang=en-gb><head><title>Ferries</title><meta http-equiv=Content-Language content="en, fr"></head><body>
<nav class=menu><ul><li><a href=/>Home</a><li><a href=/b>Timetables</a><li><a href=/c>Imprint</a></ul></nav>
<div class=sidebar><a href=/ad>Buy a boat</a></div>
<article class=post><h1>From the islands</h1>` + strings.Repeat("<p>"+strings.Repeat(sentence, 3)+"</p>", 5) + `</article>
<footer><p>Copyright nobody. <a href=/imprint>Imprint</a></p></footer></body></html>`
}

func TestTheMainTextIsTheArticleAndTheWholeTextHasAll(t *testing.T) {
	in := Input{ContentType: "text/html", ContentLanguage: "en-US", Body: strings.NewReader(page())}
	p, err := Read(t.Context(), in)
	require.NoError(t, err)
	line := strings.TrimSpace(strings.Repeat(sentence, 3))
	for range 4 {
		line += "\n" + strings.TrimSpace(strings.Repeat(sentence, 3))
	}
	if want := "From the islands\n" + line; p.Main != want && p.Main != line {
		t.Errorf("main text %q", p.Main)
	}
	want := "Ferries\nHome\nTimetables\nImprint\nBuy a boat\nFrom the islands\n" + line + "\nCopyright nobody. Imprint"
	assert.Equal(t, want, p.Whole, "whole text")
	assert.Truef(t, p.NoMain == "" && p.Cut == "" && p.Language.Code() == "eng" && p.Language.Reliable, "%q, %q, %+v", p.NoMain, p.Cut, p.Language)
	d := p.Declared
	assert.Truef(t, d.HTML == "en-GB" && d.Meta == "en" && d.Header == "en-US", "%+v", d)
}

func TestMainShare_CountsTextOutsideOfLinks(t *testing.T) {
	t.Parallel()
	p := "<p>" + strings.Repeat(sentence, 3) + "</p>"
	article := "<article class=post>" + strings.Repeat(p, 4) + "</article>"
	aside := "<div class=sidebar>" + p + "</div>"
	menu := "<nav><ul>" + strings.Repeat("<li><a href=/a>"+sentence+"</a><li>Short entry", 30) + "</ul></nav>"
	for name, c := range map[string]struct {
		body     string
		min, max float64
		why      string
	}{
		"all of it":                  {article, 1, 1, ""},
		"a menu does not count":      {menu + article, 1, 1, ""},
		"formulas do not count":      {article + "<math><mtext>" + strings.Repeat(sentence, 30) + "</mtext></math>", 1, 1, ""},
		"four parts of five":         {article + aside, 0.79, 0.81, ""},
		"four parts of six":          {article + strings.Repeat(aside, 2), 0.66, 0.67, NoMost},
		"four parts of twelve":       {article + strings.Repeat(aside, 8), 0.33, 0.34, NoMost},
		"links end with the element": {"<article class=post><a href=/>x</a>" + strings.Repeat(p, 4) + "</article>", 1, 1, ""},
	} {
		got := read(t, "text/html", "<html><body>"+c.body+"</body></html>")
		if got.Main == "" || got.Share < c.min || got.Share > c.max || got.MainMissing() != c.why {
			t.Errorf("%s: %.3f, %q, %d bytes of main text", name, got.Share, got.MainMissing(), len(got.Main))
		}
	}
	xhtml := `<html xmlns="http://www.w3.org/1999/xhtml"><body><a href="/"/>` + article + strings.Repeat(aside, 8) + `</body></html>`
	got := read(t, "application/xhtml+xml", xhtml)
	assert.Truef(t, got.MainMissing() == NoMost, "a link that ends itself in XML: %.3f, %q", got.Share, got.MainMissing())
	for _, plain := range []Page{read(t, "text/plain", sentence), read(t, "text/html", "")} {
		assert.EqualValuesf(t, 0, plain.Share, "without a main text: %v, %s", plain.Share, plain.NoMain)
	}
}

func TestText_WholeOnlyIfRequested(t *testing.T) {
	p, err := Read(t.Context(), Input{ContentType: "text/html", Body: strings.NewReader(page()), WholeOnly: true})
	if err != nil || p.Main != "" || p.NoMain != NoWish || p.Whole != read(t, "text/html", page()).Whole || p.Language.Code() != "eng" {
		t.Errorf("%q, %s, %v", p.Main, p.NoMain, err)
	}
}

func TestAnErrorIsOneOfReadingOrOfTheContext(t *testing.T) {
	broken := errors.New("broken")
	_, err := Read(t.Context(), Input{ContentType: "text/html", Body: iotest.ErrReader(broken)})
	assert.ErrorIsf(t, err, broken, "a body that cannot be read: %v", err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Read(ctx, Input{ContentType: "text/html", Body: strings.NewReader("a")})
	assert.ErrorIsf(t, err, context.Canceled, "a context that is done: %v", err)
	p, err := Read(t.Context(), Input{ContentType: "text/html"})
	assert.Truef(t, err == nil && p.Whole == "", "no body: %q, %v", p.Whole, err)
}

func TestMain_AllSectionsOfDocument(t *testing.T) {
	section := func(name string) string {
		return "<div class=section><h2>" + name + "</h2><div class=note>" + strings.Repeat("<p>The "+name+" has a paragraph, and another one, of some length, with commas.</p>", 9) + "</div></div>"
	}
	for around, all := range map[string]bool{"": true, "<p>input</p>": true, "<form><input></form>": false} {
		page := "<body><div class=navheader><a href=/>Back</a></div><div class=chapter>" + section("first") + section("second") + around + section("third") + "</div><div class=navfooter>Next</div>"
		got := read(t, "text/html", page)
		whole := strings.Contains(got.Main, "first") && strings.Contains(got.Main, "second") && strings.Contains(got.Main, "third")
		assert.Truef(t, whole == all && !strings.Contains(got.Main, "Next"), "%q: %s, share %v: %q", around, got.NoMain, got.Share, got.Main)
	}
}
