package extract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

var fates = map[Fate]string{Listed: "listed", Repeat: "repeat", TooMany: "too many", Refused: "refused", Within: "within", Inert: "inert"}

func mentionsOf(t testing.TB, contentType, body string, header ...string) (Page, []Mention, []string) {
	t.Helper()
	in := Input{URL: parse(t, pageURL), ContentType: contentType, Header: http.Header{}, Body: strings.NewReader(body), Size: int64(len(body)), Token: "mybot"}
	for i := 0; i < len(header); i += 2 {
		in.Header.Add(header[i], header[i+1])
	}
	var all []Mention
	in.Mention = func(m Mention) { all = append(all, m) }
	read := New().HTML
	if kind := KindOf(contentType, "", nil); kind != KindPage {
		read = func(ctx context.Context, in Input) (Page, error) { return New().Parts(ctx, in, kind) }
	}
	page, err := read(context.Background(), in)
	require.NoError(t, err)
	var shown []string
	for _, m := range all {
		s := fates[m.Fate] + " " + line(m.Link) + " " + m.Raw
		if m.Text != "" {
			s += " '" + m.Text + "'"
		}
		if m.Words != "" {
			s += " [" + m.Words + "]"
		}
		if m.Reason != "" {
			s += " because " + string(m.Reason)
		}
		shown = append(shown, s)
	}
	return page, all, shown
}

func TestMention_ListsAll(t *testing.T) {
	const html = "text/html; charset=utf-8"
	for _, c := range []struct {
		name, kind, body string
		want             []string
	}{
		{"each time it is named", html, `x<a href=/a>one</a><a href="/a#top">two</a><img src=/a><a href="b&amp;c">`,
			[]string{"listed a href /a /a 'one'", "repeat a href /a /a#top 'two'", "listed +img src /a /a", "listed a href /dir/b&c b&c"}},
		{"not a URL of the web", html, `x<a href=mailto:x@y>m</a><a href="http://[">bad</a><img src="data:image/png,x">`,
			[]string{"refused a href  mailto:x@y 'm' because scheme", "refused a href  http://[ 'bad' because malformed", "refused +img src  data:image/png,x because scheme"}},
		{"the page itself", html, `x<a href=#top>up</a><a href="">here</a><img src="">`,
			[]string{"within a href /dir/page.html?q=1 #top 'up'", "within a href /dir/page.html?q=1  'here'", "within +img src  "}},
		{"not a document", html, `<link rel="dns-prefetch" href=//h.test><link rel="stylesheet  NoFollow" href=s>`,
			[]string{"inert link href / //h.test [dns-prefetch]", "listed +link href /dir/s nofollow s [stylesheet  NoFollow]"}},
		{"rel as written", html, `x<a rel="NoFollow me" href=a>t</a>`, []string{"listed a href /dir/a nofollow a 't' [NoFollow me]"}},
		{"text across elements", html, "x<a href=a> one <b>t</b>wo<br>three<script>no</script>\n\t<div>four</div>five&amp;</a>",
			[]string{"listed a href /dir/a a 'one two three four five&'"}},
		{"pictures in place of text", html, `x<a href=a> <img src=i alt="the &lt;one"><img src=j alt=other></a><a href=b><img src=i alt=no>yes</a>`,
			[]string{"listed a href /dir/a a 'the <one other'", "listed +img src /dir/i i", "listed +img src /dir/j j", "listed a href /dir/b b 'yes'", "repeat +img src /dir/i i"}},
		{"area", html, `x<map><area href=a alt=" x  y "></map>`, []string{"listed area href /dir/a a 'x y'"}},
		// HTML Standard 13.2.4.3: text after a block is in a re-opened link.
		{"a link that the parser re-opens is one", html, `<template></template><p><a href=aa>one<p>two</p>three</p>`, []string{"listed a href /dir/aa aa 'one'"}},
		{"and all of its text is found where the tree is pruned", html, `<p>x<a href=aa>one<p>two</p>three</p>`, []string{"listed a href /dir/aa aa 'one two three'"}},
		{"the same tag twice is two", html, `x<p><a href=aa>one</a></p><p><a href=aa>two</a></p>`, []string{"listed a href /dir/aa aa 'one'", "repeat a href /dir/aa aa 'two'"}},
		{"srcset and styles", html, `x<img srcset="p 1x, q 2x"><p style="background:url(r)"><style>@import "s";</style>`,
			[]string{"listed +img srcset /dir/p p", "listed +img srcset /dir/q q", "listed +p style /dir/r r", "listed +style import /dir/s s"}},
		{"a page within", html, `x<iframe srcdoc="<a href=in>deep</a>">`, []string{"listed a href /dir/in in 'deep'"}},
		{"a drawing", html, `x<svg><a href=d><text>draw</text></a></svg>`, []string{"listed a href /dir/d d 'draw'"}},
		{"a style sheet", "text/css", `@import "a"; p { background: url(#x) url(b) url(a) }`, []string{"listed +import /dir/a a", "listed +url /dir/b b", "repeat +url /dir/a a"}},
		{"links of a picture", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><a href="l"/><image href="i"/></svg>`, []string{"listed a href /dir/l l", "listed +image href /dir/i i"}},
		{"XML", "application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><a href="a">x<b>y</b></a><a href="a"/></html>`, []string{"listed a href /dir/a a 'xy'", "repeat a href /dir/a a"}},
		// Read as XML and as HTML: each tag once, then the links that only the XML has.
		{"XML with an error", "application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><a href="a">x</a><script/><a href="b">y</a><p></html>`,
			[]string{"listed a href /dir/a a 'x'", "listed a href /dir/b http://h.test/dir/b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, got := mentionsOf(t, c.kind, c.body); !slices.Equal(got, c.want) {
				t.Errorf("%s\n got %q\nwant %q", c.body, got, c.want)
			}
		})
	}
}

func TestMention_OfTheHeader(t *testing.T) {
	if _, _, got := mentionsOf(t, "text/html", "", "Refresh", "0; url=x"); !slices.Equal(got, []string{"listed Refresh /dir/x refresh x"}) {
		t.Errorf("%q", got)
	}
}

func TestMention_MarksExcess(t *testing.T) {
	var b strings.Builder
	b.WriteString("x")
	const n = MaxLinks + 500
	for i := range n {
		fmt.Fprintf(&b, "<a href=p%d>t</a>", i)
	}
	page, all, _ := mentionsOf(t, "text/html", b.String())
	if len(all) != n || len(page.Links) != MaxLinks || page.Dropped != 500 {
		t.Fatalf("%d mentions, %d links, %d dropped", len(all), len(page.Links), page.Dropped)
	}
	if m := all[n-1]; m.Fate != TooMany || m.URL != parse(t, fmt.Sprintf("http://h.test/dir/p%d", n-1)) {
		t.Errorf("%+v", m)
	}
}

func TestMention_TextIsBounded(t *testing.T) {
	_, all, _ := mentionsOf(t, "text/html", `x<a href=a>`+strings.Repeat("ä\xff ", 5000)+`</a>`)
	if len(all) != 1 || len(all[0].Text) > MaxAnchor || len(all[0].Text) < MaxAnchor-4 || strings.ToValidUTF8(all[0].Text, "") != all[0].Text {
		t.Errorf("%d octets", len(all[0].Text))
	}
	deep := `<html xmlns="http://www.w3.org/1999/xhtml">` + strings.Repeat(`<a href="a">`, 400) + strings.Repeat("<i/>", 1e5) + "t" + strings.Repeat("</a>", 400) + "</html>"
	if _, all, _ = mentionsOf(t, "application/xhtml+xml", deep); len(all) != 400 || all[0].Text != "" {
		t.Errorf("%d mentions", len(all))
	}
}

func tally(t testing.TB, body string, page Page, all []Mention, copies bool) {
	t.Helper()
	n := map[Fate]int{}
	refused := map[canon.Reason]int{}
	var listed []Link
	for _, m := range all {
		n[m.Fate]++
		switch m.Fate {
		case Listed:
			listed = append(listed, Link{URL: m.URL, Embed: m.Embed})
		case Refused:
			refused[m.Reason]++
		}
		if m.URL.IsZero() && m.Reason == "" && (m.Fate != Within || m.Raw != "" && !m.Embed) {
			t.Errorf("%q: neither URL nor reason: %+v", body, m)
		}
	}
	same := func(a, b Link) bool { return a.URL == b.URL && a.Embed == b.Embed }
	switch {
	case !slices.EqualFunc(listed, page.Links, same):
		t.Errorf("%q: %d listed, in this order; want %s", body, len(listed), lines(page))
	case n[Repeat] > page.Repeats, !copies && n[Repeat] != page.Repeats:
		t.Errorf("%q: %d of %d repeats", body, n[Repeat], page.Repeats)
	case n[TooMany] > page.Dropped, !copies && n[TooMany] != page.Dropped:
		t.Errorf("%q: %d of %d beyond the limit", body, n[TooMany], page.Dropped)
	}
	for reason, k := range page.Refused {
		if refused[reason] > k || !copies && refused[reason] != k {
			t.Errorf("%q: %d refused as %s, of %d", body, refused[reason], reason, k)
		}
	}
}

// Input.Mention does not change the page, and counts as the page does, except for re-opened links.
func FuzzMention_TellsOfThePageThatIsRead(f *testing.F) {
	for _, seed := range []string{
		`x<a href=aa>1<p>2</p>3<table><a href=bb>4<tr><td>5</a><svg><a href=cc>6`,
		`x<table><a href=aa>t<br><tr>u<script src=s></script><a href=bb>`, `<frameset>x<a href=aa>`, `x<a href=aa><template>y<a href=bb>`,
		`x<a href=aa style="background:url(b)">t<textarea>u</textarea><select><option>v</a><a href=#>`,
	} {
		f.Add(seed)
	}
	for _, path := range savedPages(f) {
		body, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(body))
	}
	f.Fuzz(func(t *testing.T, body string) {
		unchanged(t, body)
	})
}

func unchanged(t testing.TB, body string) {
	t.Helper()
	want := extractAs(t, "text/html; charset=utf-8", body)
	page, all, _ := mentionsOf(t, "text/html; charset=utf-8", body)
	if want.Unparsed != page.Unparsed || want.Title != page.Title || want.Base != page.Base {
		t.Fatalf("%q: %+v, want %+v", body, page, want)
	}
	if !slices.EqualFunc(page.Links, want.Links, func(a, b Link) bool { a.Rel.mentions, b.Rel.mentions = 0, 0; return a == b }) {
		t.Fatalf("%q:\n got %s\nwant %s", body, lines(page), lines(want))
	}
	tally(t, body, page, all, true)
}

func TestMention_RandomPages(t *testing.T) {
	pages := 1000
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		pages = 20_000
	case testing.Short():
		pages = 200
	}
	for seed := range pages {
		body := string(randomPage(rand.New(rand.NewPCG(uint64(seed), 1))))
		unchanged(t, body)
	}
}

func savedPages(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.html")
	require.NoError(t, err)
	require.NotEmpty(t, paths, "no pages")
	return paths
}

func TestMention_CountsWhatThePageCounts(t *testing.T) {
	for _, path := range savedPages(t) {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		page, all, _ := mentionsOf(t, "text/html; charset=utf-8", string(body))
		tally(t, path, page, all, false)
	}
}
