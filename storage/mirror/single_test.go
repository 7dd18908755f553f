package mirror

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"curtsy/storage/mirror/layout"
)

func single(t testing.TB, dir string) Options {
	o := options(t, dir)
	o.Layout.Kind = layout.Single
	return o
}

const picture = "\x89PNG\r\n\x1a\n"

func typed(media string) string { return "200 OK\r\nContent-Type: " + media }

// A page holds its style sheets with what they need, its pictures, fonts and scripts; nothing of that has a file.
func TestASinglePageHoldsWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir,
		got{url: "http://a.test/", body: `<base href="/d/"><meta http-equiv="Content-Security-Policy" content="default-src 'self'">` +
			`<link rel=stylesheet href="s.css" integrity="sha256-x"><link rel=preload as=font href="f.woff2">` +
			`<script src="e.js" integrity="sha256-x" crossorigin></script><img src="p.png" srcset="p.png 1x, q.png 2x">` +
			`<style>@import "t.css"; b{background:url(q.png)}</style><svg><image href="v.svg#view"/></svg><p style="background:url('p.png')">` +
			`<a href="/other#x">o</a><a href="http://b.test/">b</a>`},
		got{url: "http://a.test/other", body: `<a href="/">up</a><img src="/d/p.png">`},
		got{url: "http://a.test/d/s.css", body: `@import url(t.css); @font-face{src:url(f.eot?#iefix), url(f.woff2)} a{background:url("p.png")}`},
		got{url: "http://a.test/d/t.css", body: `i{background:url(http://b.test/none.png)}/*</style>*/`},
		got{url: "http://a.test/d/e.js", body: `document.write("</script><!--")`},
		got{url: "http://a.test/d/v.svg", head: typed("image/svg+xml"), body: `<svg xmlns="http://www.w3.org/2000/svg"><image href="p.png"/></svg>`},
		got{url: "http://a.test/d/f.woff2", head: typed("application/octet-stream"), body: "wOF2"},
		got{url: "http://a.test/d/f.eot?", head: typed("application/vnd.ms-fontobject"), body: "eot"},
		got{url: "http://a.test/d/p.png", body: picture}, got{url: "http://a.test/d/q.png", body: picture + "q"})
	s := built(t, single(t, dir))
	tree := treeOf(t, Tree(dir))
	if files := filesOf(tree); !slices.Equal(files, []string{"a.test/index.html", "a.test/other.html"}) {
		t.Errorf("the files are %q", files)
	}
	if s.Inside != 8 || s.Files != 2 || s.Beside[insideNoUse] != 1 {
		t.Errorf("%d within, %d files, beside %v", s.Inside, s.Files, s.Beside)
	}
	page := tree["a.test/index.html"]
	png := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(picture))
	for _, want := range []string{
		`srcset="` + png + " 1x, data:image/png;base64,", `<p style="background:url(&#39;` + png + `&#39;)">`, `href="data:image/svg+xml`, `#view"`,
		`<a href="other.html#x">`, `<a href="http://b.test/">`, `<script src="data:text/javascript`, "data:text/plain,-",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	for _, no := range []string{"integrity", "crossorigin", "default-src", "<base href", "</style>*/", "<!--", ".woff2", ".css", ".png 2x"} {
		if strings.Contains(page, no) {
			t.Errorf("%q is in\n%s", no, page)
		}
	}
	if m := missingOf(t, dir)["http://b.test/none.png"]; m.Embeds != 1 || !slices.Equal(m.In, []string{"a.test/index.html"}) {
		t.Errorf("what a sheet within the page lacks: %+v", m)
	}
	if e := mapOf(t, dir)["http://a.test/d/p.png"]; e.File != "" || e.Inside != 2 || e.In != "a.test/index.html" {
		t.Errorf("%+v", e)
	}
	if wrong, _ := brokenOf(t, dir); len(wrong) > 0 {
		t.Errorf("wrong: %+v", wrong)
	}
	if s := built(t, single(t, dir)); s.Written != 0 || s.Unchanged != 10 {
		t.Errorf("a second time %d files are written, and %d URLs are unchanged", s.Written, s.Unchanged)
	}
	host := options(t, dir)
	built(t, host)
	if wrong, _ := brokenOf(t, dir); len(wrong) > 0 || len(filesOf(treeOf(t, Tree(dir)))) != 10 {
		t.Errorf("as host: wrong %v, %q", wrong, filesOf(treeOf(t, Tree(dir))))
	}
}

// What cannot be within a page is a file beside it, with all that it needs, and the summary says why.
func TestWhatASinglePageCannotHoldIsBesideIt(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir,
		got{url: "http://a.test/", body: `<link rel=stylesheet href=round.css><link rel=stylesheet href=heavy.css><script type=module src=m.js></script>` +
			`<video src=film.mp4 poster=p.png></video><iframe src=frame></iframe><object data=v.svg></object><img src=large.png><img src=p.png>` +
			`<svg><use href="v.svg#x"/></svg><a href="linked.png">l</a><img src="linked.png"><img src=page>`},
		got{url: "http://a.test/round.css", body: `@import "round2.css"; a{background:url(only.png)}`},
		got{url: "http://a.test/round2.css", body: `@import "round.css";`},
		got{url: "http://a.test/heavy.css", body: `@font-face{src:url(large.ttf)} a{background:url(p.png)}`},
		got{url: "http://a.test/large.ttf", head: typed("font/ttf"), body: strings.Repeat("x", 2<<20+1)},
		got{url: "http://a.test/large.png", body: picture + strings.Repeat("x", 2<<20)},
		got{url: "http://a.test/m.js", body: "import './n.js'"}, got{url: "http://a.test/film.mp4", head: typed("video/mp4"), body: "film"},
		got{url: "http://a.test/frame", body: "<img src=p.png>"}, got{url: "http://a.test/page", body: "no picture"},
		got{url: "http://a.test/v.svg", head: typed("image/svg+xml"), body: `<svg xmlns="http://www.w3.org/2000/svg"><image href="w.png"/></svg>`},
		got{url: "http://a.test/p.png", body: picture}, got{url: "http://a.test/w.png", body: picture + "w"},
		got{url: "http://a.test/only.png", body: picture + "o"}, got{url: "http://a.test/linked.png", body: picture + "l"},
		got{url: "http://a.test/alone.pdf", head: typed("application/pdf"), body: "nothing names it"})
	s := built(t, single(t, dir))
	tree := treeOf(t, Tree(dir))
	want := []string{"alone.pdf", "film.mp4", "frame.html", "heavy.css", "index.html", "large.png", "large.ttf", "linked.png", "m.js", "only.png", "p.png", "page.html", "round.css", "round2.css", "v.svg", "w.png"}
	for i := range want {
		want[i] = "a.test/" + want[i]
	}
	if files := filesOf(tree); !slices.Equal(files, want) {
		t.Errorf("the files are %q", files)
	}
	if got := fmt.Sprint(s.Beside); got != "map[circle:1 module:1 needs a file:1 of another kind:5 too large:1]" {
		t.Errorf("beside: %s", got)
	}
	for _, ref := range []string{`href="round.css"`, `href="heavy.css"`, `src="m.js"`, `src="film.mp4"`, `src="frame.html"`, `data="v.svg"`, `src="large.png"`, `href="v.svg#x"`, `href="linked.png"`, `poster="data:image/png`} {
		if !strings.Contains(tree["a.test/index.html"], ref) {
			t.Errorf("%s is not in\n%s", ref, tree["a.test/index.html"])
		}
	}
	if wrong, _ := brokenOf(t, dir); len(wrong) > 0 {
		t.Errorf("wrong: %+v", wrong)
	}
}

// A page of many large pictures holds as many as it may; the others are beside it. It is so in any order of records.
func TestASinglePageHasAnEnd(t *testing.T) {
	var all []got
	page := ""
	for i := range 20 {
		name := fmt.Sprintf("%c.png", 'a'+i)
		page += "<img src=" + name + ">"
		all = append(all, got{url: "http://a.test/" + name, body: picture + strings.Repeat(name, 250<<10), second: i + 1})
	}
	all = append(all, got{url: "http://a.test/", body: page, second: 50})
	dir, other := t.TempDir(), t.TempDir()
	crawled(t, dir, all...)
	s := built(t, single(t, dir))
	if s.Inside != 14 || s.Files != 7 || s.Beside[insideFull] != 6 {
		t.Errorf("%d within, %d files, beside %v", s.Inside, s.Files, s.Beside)
	}
	slices.Reverse(all)
	crawled(t, other, all...)
	built(t, single(t, other))
	if a, b := treeOf(t, Tree(dir))["a.test/index.html"], treeOf(t, Tree(other))["a.test/index.html"]; a != b {
		t.Errorf("the page differs by the order of records: %d and %d bytes", len(a), len(b))
	}
}

// Sheets that import each other in every way, and many at each step, end soon.
func TestSheetsInCirclesEnd(t *testing.T) {
	dir := t.TempDir()
	all := []got{{url: "http://a.test/", body: "<link rel=stylesheet href=0.css><link rel=stylesheet href=c0.css>"}}
	for i := range 30 {
		sheet, chain := "", fmt.Sprintf("@import 'c%d.css'; @import 'c%d.css?x';", i+1, i+1)
		for j := range 30 {
			sheet += fmt.Sprintf("@import '%d.css?%d';", j, i)
		}
		for _, q := range []string{"", "?x"} {
			all = append(all, got{url: fmt.Sprintf("http://a.test/c%d.css%s", i, q), head: typed("text/css"), body: chain + q})
		}
		all = append(all, got{url: fmt.Sprintf("http://a.test/%d.css", i), body: sheet})
		for j := range 30 {
			all = append(all, got{url: fmt.Sprintf("http://a.test/%d.css?%d", i, j), head: typed("text/css"), body: sheet + fmt.Sprint(j)})
		}
	}
	crawled(t, dir, all...)
	if s := built(t, single(t, dir)); s.Beside[insideCircle] != 2 {
		t.Errorf("beside: %v", s.Beside)
	}
	if wrong, _ := brokenOf(t, dir); len(wrong) > 0 {
		t.Errorf("wrong: %+v", wrong[0])
	}
}
