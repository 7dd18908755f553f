package extract

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/extract/prune"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
)

func both(t testing.TB, in Input, body []byte) (pruned, whole Page, said [2]string, used bool) {
	t.Helper()
	read1 := func(p *prune.Pruner, to *string) Page {
		var b strings.Builder
		in.Text = func(s string) { b.WriteString(s) }
		page := read(in, body, &coding.Limited{Ctx: t.Context(), R: strings.NewReader(""), Left: MaxParse}, p)
		*to = inked(b.String())
		return page
	}
	var p prune.Pruner
	pruned, whole = read1(&p, &said[0]), read1(nil, &said[1])
	if p.Tail || bytes.IndexByte(body, 0) >= 0 {
		said[1] = said[0] // the text is not pruned there; and without a NUL, the bytes around it may be another character
	}
	return pruned, whole, said, !p.Tail && p.Prune(string(body))
}

// inked sorts the characters: in tables, text is moved.
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

// same compares the pruned with the whole tree. How often the parser re-opens a link differs.
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
		var p prune.Pruner
		p.Prune(string(body))
		t.Fatalf("%q\npruned to\n%q: %s", body, p.Out, bad)
	}
	return used
}

func FuzzPrune_EqualsTheWholeTree(f *testing.F) {
	for _, seed := range prunable(f) {
		f.Add(seed)
	}
	f.Add(string(usual()))
	// tagLimit may put a name before attributes; a first one that begins with "=" would become its value.
	nameless := regexp.MustCompile(`<[^>]*?[\s/]+=`)
	f.Fuzz(func(t *testing.T, body string) {
		if !nameless.MatchString(body) && !strings.Contains(body, mark) {
			same(t, input(t, []byte(body)), []byte(body))
		}
	})
}

func TestPrune_EqualsTheWholeTree(t *testing.T) {
	for _, name := range savedPages(t) {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		same(t, input(t, body), body)
	}
	assert.True(t, same(t, input(t, usual()), usual()), "a usual page is not pruned")
}

func TestPrune_RandomPages(t *testing.T) {
	pages, used := 2_000, 0
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		pages = 20_000
	case testing.Short():
		pages = 300
	}
	for seed := range pages {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		if body := randomPage(r); same(t, input(t, body), body) {
			used++
		}
	}
	assert.GreaterOrEqualf(t, used, pages*3/4, "%d of %d pages were pruned", used, pages)
}

var (
	randomTags = strings.Fields(`a a a a a area img link meta base title script style body html head table tr td th tbody caption col colgroup
		div div p p span ul li dl dt dd h1 h2 b i font nobr em form button select option optgroup input textarea noscript iframe video source object
		applet marquee ruby rt svg path g use image math mi template frameset frame noframes amp-img x-y br hr pre section center label xmp`)
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
	rare := r.IntN(3) > 0 // most pages lack the tags that end the pruning
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

func prunable(t testing.TB) (pages []string) {
	t.Helper()
	text, err := os.ReadFile("prune/testdata/pages.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		page, err := strconv.Unquote(strings.TrimSpace(line))
		require.NoError(t, err, line)
		pages = append(pages, page)
	}
	return pages
}

func TestPrune_NoDullElementLeadsAnywhere(t *testing.T) {
	read := strings.Fields("a area link meta title input style base iframe template noframes")
	for _, name := range append(read, tableElements...) {
		var p prune.Pruner
		if p.Prune("x<" + name + " href=q>"); !strings.Contains(string(p.Out), "<"+name) && (slices.Contains(read, name) || markup.Requisites(name) != nil) {
			t.Errorf("%s is dull", name)
		}
	}
}

func TestPrune_DeepPages(t *testing.T) {
	page, err := New().HTML(t.Context(), input(t, []byte(strings.Repeat("<div>x", 5000)+"<a href=1>")))
	if err != nil || len(page.Links) != 1 || page.Unparsed != "" {
		t.Errorf("%v, %d links, %q", err, len(page.Links), page.Unparsed)
	}
	page, err = New().HTML(t.Context(), input(t, []byte(strings.Repeat("x<video>", 5000)+"<a href=1>")))
	require.NoError(t, err)
	assert.Equal(t, UnparsedDeep, page.Unparsed, "it is too deep")
}
