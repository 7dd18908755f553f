package extract

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// both reads a page by the pruned tree and by the whole one.
func both(t testing.TB, in Input, body []byte) (pruned, whole Page, said [2]string, used bool) {
	t.Helper()
	read1 := func(p *pruner, to *string) Page {
		var b strings.Builder
		in.Text = func(s string) { b.WriteString(s) }
		page := read(in, body, &source{body: strings.NewReader(""), left: MaxParse}, p)
		*to = inked(b.String())
		return page
	}
	var p pruner
	pruned, whole = read1(&p, &said[0]), read1(nil, &said[1])
	if p.tail || bytes.IndexByte(body, 0) >= 0 {
		said[1] = said[0] // there it is what it seems; and without a NUL, what was around it may be another character
	}
	return pruned, whole, said, !p.unsure && !p.tail
}

// inked returns the characters of a text in an order that does not depend on that of the pieces: in tables, text is moved.
func inked(s string) string {
	rs := []rune(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == 0 || r == '\ufffd' {
			return -1
		}
		return r
	}, s))
	slices.Sort(rs)
	return string(rs)
}

// same fails unless a pruned tree says what the whole one does. How often a link is opened anew, and so mentioned again,
// depends on what it stands in, and differs.
func same(t testing.TB, in Input, body []byte) (used bool) {
	t.Helper()
	pruned, whole, said, used := both(t, in, body)
	if whole.Unparsed != "" {
		return used // too deep for a whole tree: the pruned one may do
	}
	bad := ""
	switch {
	case pruned.Unparsed != "":
		bad = "unparsed " + pruned.Unparsed
	case !slices.EqualFunc(pruned.Links, whole.Links, func(a, b Link) bool { a.Rel.mentions, b.Rel.mentions = 0, 0; return a == b }):
		bad = fmt.Sprintf("links\n%v, want\n%v", pruned.Links, whole.Links)
	case pruned.Title != whole.Title:
		bad = fmt.Sprintf("title %q, want %q", pruned.Title, whole.Title)
	case pruned.Base != whole.Base, pruned.Charset != whole.Charset, pruned.CharsetBy != whole.CharsetBy:
		bad = fmt.Sprintf("base %v, want %v", pruned.Base, whole.Base)
	case fmt.Sprint(pruned.Robots) != fmt.Sprint(whole.Robots):
		bad = fmt.Sprintf("robots %+v, want %+v", pruned.Robots, whole.Robots)
	case (pruned.Dropped > 0) != (whole.Dropped > 0), !slices.Equal(slices.Sorted(maps.Keys(pruned.Refused)), slices.Sorted(maps.Keys(whole.Refused))):
		bad = fmt.Sprintf("dropped %d, refused %v; want %d, %v", pruned.Dropped, pruned.Refused, whole.Dropped, whole.Refused)
	case said[0] != said[1]:
		bad = fmt.Sprintf("text %q, want %q", said[0], said[1])
	}
	if bad != "" {
		var p pruner
		p.prune(string(body))
		t.Fatalf("%q\npruned to\n%q: %s", body, p.out, bad)
	}
	return used
}

func FuzzPrune_EqualsTheWholeTree(f *testing.F) {
	for _, seed := range prunable {
		f.Add(seed)
	}
	f.Add(string(usual()))
	// Where tame puts another name in front of attributes, a first one that begins with "=" is taken for that name's value.
	nameless := regexp.MustCompile(`<[^>]*?[\s/]+=`)
	f.Fuzz(func(t *testing.T, body string) {
		if !nameless.MatchString(body) && !strings.Contains(body, mark) {
			same(t, input(t, []byte(body)), []byte(body))
		}
	})
}

// prunable has pages of which each is a case of its own for the pruner.
var prunable = []string{
	"<p>x<a href=1><div><a href=2></div></a>",
	"x<table><a href=1><tr><td><a href=2><div></td><a href=3></table><a href=4>",
	"x<table><div><a href=1></div><td><p><a href=2>text</table>",
	"<!-- c --> <p></p><frameset><frame src=a></frameset>",
	"<p>&nbsp;&#32;</p><frameset><frame src=a>", "<p>&#32;</p><frameset><frame src=a>",
	"x<svg><path d='M0 0'/><title>t</title></svg><a href=1>y", "x<svg><use href=#a /></svg><a href=1>",
	"x<svg><style><a href=1></style></svg><style><a href=2></style>", "x<svg><title><a href=1></title></svg><a href=2>",
	"x<svg a=/><a href=1></svg><p>y", "x<svg /><a href=1>", "x<svg><g><svg></g></svg><image href=q></svg><p style='background:url(a)'>z",
	"x<svg><![CDATA[<a href=1>]]></svg>", "x<svg><p><a href=1></svg><a href=2>", "x<svg><desc>a<b>c</desc></svg><image src=1>",
	"x<math><mi><a href=1></math><a xlink:href=2>", "x<template><a href=1></template><a href=2>", "x</body><template shadowrootmode=open><a href=1>t",
	"x<script><!--<script></script>--></script><a href=1>", "x<script><!-- </script><a href=1>", "x<script>'<a href=2>'</script ><a href=1>",
	"x<textarea><a href=1></textarea><a href=2>&amp;", "x<title>a</title>b<title>c</title>", "x<noscript><img src=1></noscript>", "x<noframes><a href=1></noframes>",
	"x<iframe srcdoc='<a href=1>'><a href=2></iframe>", "x<plaintext><a href=1>", "x<xmp><a href=1></xmp><a href=2>",
	"x<div data-src=a><p data-bg='b'><span DATA-SRC=c><b data-lazy=d>", "x<p style='background:url&#40;a)'>", "x<p style='background:url(a)'>",
	"x<b style='background:url(a)' title='>'>y<i data-src=q>", "x</p></br><a href=1></div></span>y",
	"x<li><a href=1><li><a href=1></a><select><option><a href=2><input type=image src=3></select>",
	"x<meta name=robots content=noindex><base href=/b/><a href=c><link rel=next href=d>", "<base href=/b/>x<a href=c>",
	"x<p a='>'><a href='>'>", "x<p a=\"<a href=1>\"><a href=2", "x<p a=><a href=1>", "x<p =a><a href=1>", "x<p/a=/><a/href=/>",
	"x<!--><a href=1>--><a href=2>", "x<!--->y<a href=1>", "x<!---a--!><a href=1>", "x<!--a--!b--><a href=1>", "x<!a><a href=1>", "x<?a><a href=1>",
	"x</><a href=1>", "x</ a><a href=1>", "x<", "x</", "x<!", "x<a", "x<a href=1", "x<1><a href=1>", "x<!-- <a href=1>",
	"x<form></form><form data-src=1>", "x<div><select></div><select data-src=1>",
	"x<div><svg><path d=M0></div><script src=2></script>", "x<div><svg><path d=M0></div><script>document.write('<a href=\"/x\">')</script>",
	"x<button><svg><path></button><title>T</title>", "x<span><svg><path></span><iframe src=3></iframe><video src=4></video>", "x<div><math><mi></div><script src=2></script>",
	"x<div><template></template><svg><path></div><base href=/q/><a href=1>", "x<div><script><!--<script></script>--></script><svg></div><title>t</title>",
	"x<table><tr><td><img src=0></td></tr><div><script src=2></script></div></table>", "x<table><tr><td><img src=0></td></tr><center><style>a{background:url(2)}</style></table>",
	"x<table><tr><td><a href=0>y</a></td></tr><div><template shadowrootmode=open><a href=1></template></div></table>",
	"x<table><tr><td><img src=0></td></tr><div data-src=1></div><script src=2></script></table>", "x<table><tr><td><table></table><script src=1></script><img src=2></table>",
	"x<svg><g><svg></g></svg><title>T</title></svg>", "x<g><svg></g><title>T</title></svg>", "x<svg><g></g><a href=1></a></svg>", "x<svg><path/><path d=1 /><path d='1'/></svg><a href=1>",
	"x<svg a=1 b=/><a href=1></svg>", "x<svg a='1'b/><a href=1>", "x<table><td><img src=0><a href=1><select></object></td><img src=2></table>", "x<b =\"(>say \"hi\" y<a href=1>z</a><p>",
	"x<a href=1><div data-src=2></div></a>", "x<p data-src=1><p data-src=2><button data-src=3><li data-src=4><br data-src=5><h1 data-src=6>", "x<select><option data-src=1><select data-src=2><input type=image src=3>",
	"x<object><div><a href=1></object><a href=2></div>", "x<button><a href=1><button><a href=2>", "x<applet archive=a><td background=b>",
	"x<form><a href=1><form></form><a href=2>", "<body background=a>x<body background=b><html data-src=c>", "x<td background=a>", "x<table background=a><tr background=b>",
	"x<caption><a href=1>", "x<table><caption><a href=1></table>", "x<col><table><colgroup>t<col><a href=1>", "x<ruby><rt><a href=1><rp>",
	"x\x00<a href=1>\x00", "x\r\n<a\r\nhref\r\n=\r\n1>", "<a href=1><!-- --> <title>t</title>", "x<h1><h2><a href=1></h3>", "<pre>\n\nx<a href=1></pre>",
	"x<A HREF=1><IMG SRC=2><DIV><BASE HREF=/q/>", "x</html> <a href=1>", "x<option><select><hr><option><a href=1>",
}

func TestPrune_EqualsTheWholeTree(t *testing.T) {
	for _, body := range prunable {
		same(t, input(t, []byte(body)), []byte(body))
	}
	files, err := filepath.Glob("testdata/*/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		same(t, input(t, body), body)
	}
	if !same(t, input(t, usual()), usual()) {
		t.Error("a usual page is not pruned")
	}
}

// TestPrune_RandomPages reads pages made of pieces that nest, misnest, end nothing and never end.
func TestPrune_RandomPages(t *testing.T) {
	pages, used := 20_000, 0
	if testing.Short() {
		pages = 5_000
	}
	for seed := range pages {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		if body := randomPage(r); same(t, input(t, body), body) {
			used++
		}
	}
	if used < pages*3/4 {
		t.Errorf("%d of %d pages were pruned", used, pages)
	}
}

var (
	randomTags = strings.Fields(`a a a a a area img link meta base title script style body html head table tr td th tbody caption col colgroup
		div div p p span ul li dl dt dd h1 h2 b i font nobr em form button select option optgroup input textarea noscript iframe video source object
		applet marquee ruby rt svg path g use image math mi template frameset frame x-y br hr pre section center label noframes xmp`)
	randomAttrs = []string{"href=%d", "src='%d'", `href="%d"`, "rel=nofollow", "background=%d", "style='background:url(%d)'", "data-src=%d", "class='a > b'", "title='<a href=%d>'",
		"name=robots content=nofollow", "rel=stylesheet href=%d", "srcset='%d 1x'", "/", "xlink:href=%d", "type=image src=%d", "shadowrootmode=open", "alt=&amp;", "srcdoc='<a href=%d>'"}
	randomTexts = []string{"text", " ", "&nbsp;", "&lt;a>", "<!-- c -->", "<![CDATA[<a href=%d>]]>", "</>", "<!doctype html>", "\x00", "1 < 2", "-->", "]]>"}
)

func randomPage(r *rand.Rand) []byte {
	var b bytes.Buffer
	n := 0
	number := func(s string) string { n++; return strings.ReplaceAll(s, "%d", fmt.Sprint(n)) }
	if r.IntN(2) == 0 {
		b.WriteString("x")
	}
	rare := r.IntN(3) > 0 // most pages do without what ends the pruning
	var open []string
	for range 3 + r.IntN(40) {
		tag := randomTags[r.IntN(len(randomTags))]
		if rare && strings.Contains(" svg math template frameset ", " "+tag+" ") {
			continue
		}
		switch r.IntN(10) {
		case 0, 1, 2:
			b.WriteString(number(randomTexts[r.IntN(len(randomTexts))]))
		case 3, 4:
			if len(open) > 0 {
				tag, open = open[len(open)-1], open[:len(open)-1]
			}
			fmt.Fprintf(&b, "</%s>", tag)
		case 5:
			fmt.Fprintf(&b, "</%s>", tag)
		default:
			b.WriteString("<" + tag)
			for range r.IntN(3) {
				b.WriteString(" " + number(randomAttrs[r.IntN(len(randomAttrs))]))
			}
			b.WriteString(">")
			open = append(open, tag)
		}
	}
	return b.Bytes()
}

// FuzzPrune_TagsEndWhereTheTokenizerSays: in a page without elements that hold text alone, tags, comments and text are what
// golang.org/x/net/html makes of them.
func FuzzPrune_TagsEndWhereTheTokenizerSays(f *testing.F) {
	for _, seed := range prunable {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		z := html.NewTokenizer(strings.NewReader(s))
		for at := 0; ; {
			kind := z.Next()
			raw := string(z.Raw())
			if kind == html.ErrorToken {
				if at+len(raw) != len(s) && z.Err() == io.EOF {
					t.Fatalf("%q: ends at %d", s, at)
				}
				return
			}
			z.NextIsNotRawText()
			end := 0
			switch lt := markupAt(s, at); {
			case lt > at:
				end = lt
				if strings.HasSuffix(s[at:], "</") && lt == len(s) && at < len(s)-2 {
					end -= 2 // two texts there, one here
				}
			case s[at+1] == '/' && isLetter(s[at+2]), isLetter(s[at+1]):
				var name tagName
				from := at + 1
				if s[from] == '/' {
					from++
				}
				if end = tagEnd(s, name.read(s, from)); end < 0 {
					t.Fatalf("%q: the tag at %d does not end; want %q", s, at, raw)
				}
			default:
				end = commentEnd(s, at)
			}
			if s[at:end] != raw {
				t.Fatalf("%q: %q at %d, want %q", s, s[at:end], at, raw)
			}
			at = end
		}
	})
}

// TestPrune_NoDullElementLeadsAnywhere: what the walker reads of elements by their names is no attribute of a dull one.
func TestPrune_NoDullElementLeadsAnywhere(t *testing.T) {
	read := []atom.Atom{atom.A, atom.Area, atom.Link, atom.Meta, atom.Title, atom.Input, atom.Style, atom.Base, atom.Iframe, atom.Template}
	for name := range requisites {
		read = append(read, name)
	}
	for _, a := range read {
		var name tagName
		name.read(a.String(), 0)
		if name.class() == dull {
			t.Errorf("%s is dull", a)
		}
	}
}

// TestPrune_DeepPages: what only nests does not make a page too deep.
func TestPrune_DeepPages(t *testing.T) {
	page, err := New().HTML(t.Context(), input(t, []byte(strings.Repeat("<div>x", 5000)+"<a href=1>")))
	if err != nil || len(page.Links) != 1 || page.Unparsed != "" {
		t.Errorf("%v, %d links, %q", err, len(page.Links), page.Unparsed)
	}
	page, err = New().HTML(t.Context(), input(t, []byte(strings.Repeat("x<video>", 5000)+"<a href=1>")))
	if err != nil || page.Unparsed != UnparsedDeep {
		t.Errorf("%v, %q; want it too deep", err, page.Unparsed)
	}
}
