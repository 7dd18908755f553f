package extract

import (
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// HTML Standard 13.2.4.3: fourteen KiB of re-opened formatting elements would be 800,000 nodes.
func TestTame_NoTreeOutOfProportion(t *testing.T) {
	skipShort(t)
	var open strings.Builder
	for i := range 400 {
		fmt.Fprintf(&open, "<font size=%d>", i)
	}
	var attrs, roots strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&attrs, " a%d", i)
		fmt.Fprintf(&roots, "<html a%d><body a%d>", i, i)
	}
	few := "<p><a" + strings.Repeat(" x=y", maxAttrs) + ">"
	for name, page := range map[string]string{
		"links of many attributes, re-opened":     "<p><a" + attrs.String() + ">x</p>" + strings.Repeat("<p>x", 1000),
		"the same, ends hidden in values":         "<p><a x='<a '" + attrs.String() + " y='>'>x</p>" + strings.Repeat("<p>x", 1000),
		"links of few attributes, re-opened":      few + "</p>" + strings.Repeat("<p>x", 100_000),
		"html and body, each another attribute":   roots.String(),
		"formatting, re-opened in each paragraph": "<p>" + open.String() + strings.Repeat("<p>x", 20_000),
		"formatting, cells":                       "<p>" + open.String() + strings.Repeat("<table><td>x</table>", 5_000),
		"formatting, fostered":                    "<table>" + open.String() + strings.Repeat("<p>x", 20_000),
		"links, re-opened":                        strings.Repeat("<a href=/x><div>", 20_000),
		"nobr":                                    strings.Repeat("<nobr><p>x", 20_000),
		"dense":                                   strings.Repeat("<p>x", MaxParse/4),
		"a tag begins in each byte":               strings.Repeat("<", MaxParse),
	} {
		t.Run(name, func(t *testing.T) {
			const most = 160 << 20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p := extract(t, page)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("%d octets of HTML took %d MiB of memory (%q)", len(page), n>>20, p.Unparsed)
			}
		})
	}
}

func TestUnparsed_TooManyTags(t *testing.T) {
	skipShort(t)
	fill := "<a href=first></a>" + strings.Repeat("<p>", MaxTags-2)
	ended := "<a href=first></a>" + strings.Repeat("<!></div>", MaxTags-2)
	within := func(n int) string {
		return "<iframe srcdoc='" + strings.Repeat("&lt;p>", n) + "<a href=/in></a>'></iframe>"
	}
	for _, tt := range []struct{ rule, body, want, unparsed string }{
		{"exactly the limit", fill + "<a href=/last>", "a href /dir/first; a href /last", ""},
		{"one more", fill + "<p><a href=/last>", "a href /dir/first", UnparsedTags},
		{"end tags", ended + "</i></p><a href=/last>", "a href /dir/first", UnparsedTags},
		{"end tags that add nothing", ended + "</i></b><a href=/last>", "a href /dir/first; a href /last", ""},
		{"a page within a page", within(MaxTags - 3), "a href /in", ""},
		{"pages within a page", within(MaxTags/2) + within(MaxTags/2), "a href /in", UnparsedTags},
	} {
		if page := extract(t, tt.body); lines(page) != tt.want || page.Unparsed != tt.unparsed {
			t.Errorf("%s: %q, %q; want %q, %q", tt.rule, lines(page), page.Unparsed, tt.want, tt.unparsed)
		}
	}
}

// The parser may re-open a link after each tag. A link that is open for the parser must be open for the limit.
func TestTagLimit_TagsInLinksCountMore(t *testing.T) {
	for page, want := range map[string]int{
		`<a href=1>x</a><p><p>`: 3, `<a 1 2 3><p><p>x</p></a>`: 1 + 2 + 2 + 2, `<a 1 2 3 4><p>`: 1 + 3, `<a 1><p><a 2><p>`: 1 + 2 + 2 + 2,
		`<a 1><b><img></b><span></span></a><p>`: 1 + 5*2 + 1, `<a 1><p x='</a>'><p>`: 1 + 2 + 3, `<a 1><!--</a>--><p>`: 1 + 2 + 3, `<a 1><td></a><p>`: 1 + 2 + 3,
		`<a 1 2 3 4 5 6 7></a><p>`: 2, `<a 1>` + strings.Repeat("<div>", 7) + `</a><p>`: 1 + 7*2 + 3,
	} {
		limit := newTagLimit(strings.NewReader(page))
		if _, err := io.Copy(io.Discard, limit); err != nil || MaxTags-limit.left != want {
			t.Errorf("%s: %d tags, %v; want %d", page, MaxTags-limit.left, err, want)
		}
	}
	pieces := strings.Fields(`<a> <a·1·2·3·4·5·6·7> <a·x='</a>'> </a> </a> </A·> <p> </p> <p·x=' <p·x=" ' " > = <div> <div> </div> <span> </span> <b> </b> <!-- --> <!x ]]> <![CDATA[
		<table> <td> </td> </table> <svg> <foreignObject> </foreignObject> </svg> <math> <select> </select> <template> </template> <object> </object> <script> </script> <title> </title>
		<textarea> </textarea> <button> </button> <h1> <li> <frameset> <form> <p=' </p="' <option> <marquee> x < / </x·y='`)
	random, open := rand.New(rand.NewPCG(3, 9)), 0
	for range 30_000 {
		var page strings.Builder
		for range 1 + random.IntN(16) {
			page.WriteString(strings.ReplaceAll(pieces[random.IntN(len(pieces))], "·", " "))
		}
		page.WriteString(`'>">--></script></title></textarea></select>`)
		limit := newTagLimit(strings.NewReader(page.String()))
		limited, err := io.ReadAll(limit)
		require.NoError(t, err)
		root, err := html.ParseWithOptions(strings.NewReader(string(limited)+"<x-y>"), html.ParseOptionEnableScripting(false))
		require.NoError(t, err)
		for n := range root.Descendants() {
			for in := n.Parent; n.Data == "x-y" && in != nil; in = in.Parent {
				if in.Data == "a" && in.Namespace == "" {
					if open++; limit.link == 0 {
						t.Fatalf("%s: a link is open", &page)
					}
					break
				}
			}
		}
	}
	assert.GreaterOrEqualf(t, open, 1000, "only %d pages with an open link", open)
}

func TestTame_KeepsValues(t *testing.T) {
	page := extract(t, `<title>a <b> c</title><base href="/d<i>/"><a href="x?q=<b>y<em/z&lt;b>">`)
	plain := extract(t, `<title>a &lt;b> c</title><base href="/d&lt;i>/"><a href="x?q=&lt;b>y&lt;em/z&lt;b>">`)
	if lines(page) != lines(plain) || page.Title != "a <b> c" || page.Base != plain.Base || len(page.Links) != 1 {
		t.Errorf("%q, title %q, base %s; want %q, %q, %s", lines(page), page.Title, page.Base, lines(plain), plain.Title, plain.Base)
	}
}

func TestTame_KeepsLinks(t *testing.T) {
	heavy := ` class=c id=i title=t lang=l dir=ltr tabindex=1 data-x='{"a": "<b>"}' `
	for _, tt := range []struct{ rule, body, want string }{
		{"no quotes around a value", `<a href=/x<b>y</a>`, "a href /x%3Cb"},
		{"the same before white space", `<a href=/x<b class=c>y</a>`, "a href /x%3Cb"},
		{"the same of a refresh", `<meta http-equiv=refresh content=0;url=/x<b>`, "meta content /x%3Cb refresh"},
		{"a tag in a value of a formatting tag", `<i title="<a href=/1>1</a>"><a href=/2>`, "a href /2"},
		{"the same in other quotes", `<b x='>'><font y='<iframe src=/1>'><a href=/2>`, "a href /2"},
		{"no meta, whatever its attributes", `<b http-equiv=refresh content="0;url=/1"><a href=/2>`, "a href /2"},
		{"before frames", `<font></font><frameset><frame src=/f>`, "+frame src /f"},
		{"many attributes", `<a` + heavy + `href=/1 rel=nofollow>1</a><a href=/2 ` + heavy + `>2</a>`, "a href /1 nofollow; a href /2"},
		{"many attributes in a drawing", `<svg><a` + heavy + `xlink:href=/1><path /></a></svg><a href=/2>`, "a xlink:href /1; a href /2"},
		{"a long attribute", `<a title="` + strings.Repeat("x ", maxAhead) + `" href=/1>1</a>`, "a href /1"},
	} {
		assert.Equal(t, tt.want, lines(extract(t, tt.body)), tt.rule)
	}
	page := extract(t, `<b name=robots content=noindex><i title='><meta name=robots content=nofollow>'><meta name=robots content='noarchive,<b>'>`)
	if page.Robots.String() != "noarchive" || len(page.Robots.Raw) != 1 || page.Robots.Raw[0] != "meta robots: noarchive,<b>" {
		t.Errorf("directives %q, %q", page.Robots.String(), page.Robots.Raw)
	}
}

func FuzzEndOf(f *testing.F) {
	f.Add(" href=x b='>' c=\"d\"e / /=f =g>")
	f.Add(" a b c d e f g>")
	f.Add("/a= b /c =\td>e")
	f.Fuzz(func(t *testing.T, rest string) {
		tag := "<a " + rest
		z := html.NewTokenizer(strings.NewReader(tag))
		if kind := z.Next(); kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			end, _ := endOf(tag, 2)
			assert.Negativef(t, end, "%q is not a tag", tag)
			return
		}
		raw := len(z.Raw())
		end, attrs := endOf(tag, 2)
		assert.Equal(t, raw-1, end, tag)
		assert.LessOrEqual(t, len(z.Token().Attr), attrs, tag)
	})
}

var formattingTag = regexp.MustCompile(`(?i)<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)([\t\n\f\r />])`)

// However its bytes arrive, tagLimit changes every formatting tag, and restore takes all back.
func FuzzTame(f *testing.F) {
	f.Add("<b>x</b><B\t><big><bug><strike ><strikes><i", 3)
	f.Add(strings.Repeat("<strike>", 2000), 5)
	f.Add(strings.Repeat("<body>", 2000), 5)
	f.Add(strings.Repeat("<a a b c d e f g>", 2000), 5)
	f.Add(strings.Repeat("<a a b c d e f g>", 175)+"<a a b c d e f}}} g>"+strings.Repeat("<a a b c d e f g>", 1000), 5) // the buffer moves within the tag
	f.Add(strings.Repeat("x", 4090)+"<strong ><b", 1)
	f.Fuzz(func(t *testing.T, page string, shift int) {
		page = strings.Repeat("y", shift&0xfff) + strings.ReplaceAll(page, mark, "")
		var first string
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(page), "octets": iotest.OneByteReader(strings.NewReader(page)), "halves": iotest.HalfReader(strings.NewReader(page)),
		} {
			got, err := io.ReadAll(newTagLimit(r))
			if err != nil || formattingTag.Match(got) || first != "" && string(got) != first {
				t.Fatalf("%s: %q, %v; before it was %q", name, got, err, first)
			}
			first = string(got)
			require.Equal(t, page, restore(first), name)
		}
	})
}
