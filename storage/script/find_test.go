package script

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func names(text string) (all []string, cut Cut) {
	cut = Find([]byte(text), func(name string) { all = append(all, name) })
	return all, cut
}

func TestStringLiteralsThatLookLikeFilesAreNames(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{`load('member-search-index.js')`, []string{"member-search-index.js"}},
		{`fetch("data/a.json").then(x=>x)`, []string{"data/a.json"}},
		{"import(`./part.mjs`)", []string{"./part.mjs"}},
		{`fetch("/api/a.json?v=3#x")`, []string{"/api/a.json?v=3#x"}},
		{`{"file":"img\/a.png","n":1}`, []string{"img/a.png"}},
		{`["https://a.test/b/c.svg","//a.test/x.css"]`, []string{"https://a.test/b/c.svg", "//a.test/x.css"}},
		{`a("x.js"); b("x.js")`, []string{"x.js"}},

		// Names after an expression.
		{`s.src = root + "index.js"`, []string{"index.js"}},
		{`s.src = root + "/search/index.js"`, []string{"search/index.js"}},
		{"fetch(`${root}/data/index.json`)", []string{"data/index.json"}},
		{`load(base + ".js", base + "-min.js", base + "_a.js")`, nil},

		// No names: with blanks, composed, members, words, other schemes.
		{`"see the file x.js"; "x.js "; "a" + ".js"; ".html"; "..js"; "text/html"; "e.target"; "1.5"`, nil},
		{`"javascript:x.js"; "data:a/b.js"; "file:///a.js"; "mailto:a@b.html"; "https://a.html"; "//a.js"`, nil},
		{"`${a}.js`; `a${b}c.js`", []string{"c.js"}},
		{`"*.js"; "{x}.js"; "a\nb.js"; "a[0].js"; "$1.js"`, nil},

		// The names of modules, and words with dots.
		{`define("ui/menu.js",["./a.js"]); x.define("b.js")`, []string{"./a.js"}},
		{`["java.util.zip", "a.b.XML", "d/java.util.zip", "jquery.min.js", "a.pdf"]`, []string{"d/java.util.zip", "jquery.min.js", "a.pdf"}},
		// Markup written by a script.
		{`x('<img src="'+root+'sync_on.png" title="'+t+'"/>'); y("<img src='" + r + "b.png'>"); z("a" + "c.png\" x")`, []string{"sync_on.png", "b.png", "c.png"}},
		{`x('sync_on.png" title="')`, nil},
		// Doxygen's tree: the third string is a script, and so is the index of each place.
		{"var NAVTREE =\n[\n [ \"A\", \"a.html\", [\n  [ \"B\", \"b.html#x\", \"b_dup\" ], [ \"C\", null, \"c\" ], [ \"D\", \"d.html\", null ] ] ] ];\nvar NAVTREEINDEX =\n[\n\"b.html\",\n\"d.html#y\"\n];\nvar x = [\"e\"];",
			[]string{"a.html", "b.html#x", "b_dup.js", "c.js", "d.html", "navtreeindex0.js", "navtreeindex1.js"}},
		{"// licence\nvar a01 =\n[\n    [ \"f\", \"a01.html#x\", \"a02\" ],\n [ \"g\", \"a01.html#z\", null ]\n];", []string{"a01.html#x", "a02.js"}},
		{`x([["f", "a.html", "b"]]); var y = [["f", "b.txt", "b c"]]`, []string{"a.html", "b.txt"}},

		// Comments and regular expressions have no literals, and a division begins none.
		{"// \"a.js\"\n/* 'b.js' */ x = /[\"']c.js/; y('d.js')", []string{"d.js"}},
		{`x = a / 2; y = "e.js" / 3; z = (1) / 2 + "f.js"; return /"/.test("g.js")`, []string{"e.js", "f.js", "g.js"}},
		{"x = {}\n/\"/.test('h.js')", []string{"h.js"}},
	} {
		got, cut := names(c.text)
		assert.Truef(t, slices.Equal(got, c.want) && cut == "", "%s: %q, cut %q; want %q", c.text, got, cut, c.want)
	}
}

func TestFind_ReadsToBound(t *testing.T) {
	line := `x("a.js");` + strings.Repeat("y", 90) + "\n"
	text := strings.Repeat(line, 50<<20/len(line)) + `z("behind.js")`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, cut := names(text)
	runtime.ReadMemStats(&after)
	assert.Truef(t, slices.Equal(got, []string{"a.js"}) && cut == CutLong, "%q, cut %q", got, cut)
	if n := after.TotalAlloc - before.TotalAlloc - uint64(len(text)); n > 2*MaxRead { // the lexer has a copy
		t.Errorf("a script of 50 MB takes %d bytes", n)
	}
}

func TestNamesAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 3 * MaxNames {
		fmt.Fprintf(&b, "a('%d.js');", i)
	}
	got, cut := names(b.String())
	assert.Truef(t, len(got) == MaxNames && cut == CutNames, "%d names, cut %q", len(got), cut)
	if got, _ := names(`"` + strings.Repeat("a", MaxLength) + `.js"`); got != nil {
		t.Errorf("a name of %d bytes", len(got[0]))
	}
}

func TestFind_SkipsOtherText(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("\x01.", 1<<20), strings.Repeat("'.\n", 1<<20), strings.Repeat("1a.", 1<<20), strings.Repeat("x=/.\n", 1<<20),
	} {
		got, cut := names(text)
		assert.Truef(t, got == nil && cut == CutWrong, "%.20q…: %d names, cut %q", text, len(got), cut)
	}
	for _, text := range []string{
		strings.Repeat("`${", 1<<20) + ".", strings.Repeat("/", 1<<20) + ".", "/*." + strings.Repeat("*", 1<<20), "'." + strings.Repeat(`\`, 1<<20),
		"", "\x00", ".", "'", "`", "/", "}`.", "'a.js", "`a.js", `"a.js\`,
	} {
		got, _ := names(text)
		assert.Truef(t, got == nil, "%.20q…: %q", text, got)
	}
}

func FuzzFind(f *testing.F) {
	f.Add(`x("a.js") / 2 + ` + "`${y}/b.json`")
	f.Add(`{"a":["b\/c.html",/"'/]}`)
	f.Fuzz(func(t *testing.T, text string) {
		before := strings.Clone(text)
		seen := map[string]bool{}
		Find([]byte(text), func(name string) {
			if seen[name] || len(name) > MaxLength || !looksLikeFile(name) || !strings.Contains(strings.ReplaceAll(text, `\/`, "/"), name) {
				t.Errorf("%q: %q", text, name)
			}
			seen[name] = true
		})
		assert.Equal(t, before, text, "the text was changed")
	})
}
