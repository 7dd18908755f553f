package prune_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/extract/prune"
)

func TestAPageThatNeedsItsScriptsIsKnown(t *testing.T) {
	const load = `<script type="module" src="/main.js"></script>`
	long := strings.Repeat("word ", 60)
	for _, c := range []struct {
		name, page string
		want       bool
	}{
		{"a root to be filled", `<!doctype html><title>Vite + React</title><div id="root"></div>` + load, true},
		{"with a word for those without", `<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>` + load, true},
		{"while it loads", `<app-root>Loading…</app-root>` + load, true},
		{"with a counter for those without", `<noscript><iframe src=https://count.example/></iframe><img src=x></noscript><div id=a></div>` + load, true},
		{"its script in the page", `<div id=a></div><script>` + strings.Repeat("render(); ", 300) + `</script>`, true},
		{"a long script leads elsewhere and fills a root", `<div id=a></div><script>` + strings.Repeat("render(); ", 300) + `location.href = "/login"</script>`, true},
		{"in capitals", `<DIV></DIV><SCRIPT SRC=x.js></SCRIPT>`, true},
		{"a comment of any length", `<!-- ` + long + long + ` --><div id=a></div>` + load, true},
		{"a style sheet of any length", `<style>` + long + long + `</style><div id=a></div>` + load, true},

		{"a page with a text", `<p>` + long + `</p>` + load, false},
		{"a text for readers without scripts", `<noscript>` + long + `</noscript>` + load, false},
		{"a short page without scripts", `<p>It works!</p>`, false},
		{"an empty page", ``, false},
		{"a link", `<a href=/en/>English</a>` + load, false},
		{"pictures only", `<img src=a.png>` + load, false},
		{"a drawing", `<svg><path d="M0 0"/></svg>` + load, false},
		{"frames", `<frameset cols="*,*"><frame src=a><frame src=b></frameset>` + load, false},
		{"a frame", `<iframe src=a></iframe>` + load, false},
		{"a field", `<form><input name=q></form>` + load, false},
		{"a table", `<table><tr><td>1</table>` + load, false},
		{"leads elsewhere", `<meta http-equiv="refresh" content="0; url=/en/">` + load, false},
		{"a script leads elsewhere", `<script>location.replace("/en/")</script>`, false},
		{"a script leads elsewhere, another counts visitors", `<script src=count.js></script><script>window.location.href = "/en/"</script>`, false},
		{"a long script leads elsewhere, and there is nothing to fill", `<script>const moved = {` + strings.Repeat("'#a': 'a.html', ", 200) + `}; if (moved[location.hash]) window.location.replace(moved[location.hash]);</script>`, false},
		{"data only", `<script type="application/ld+json" src=x>{}</script><p>x`, false},
		{"letters of three bytes", `<p>` + strings.Repeat("語", 201) + `</p>` + load, false},
	} {
		assert.Equal(t, c.want, prune.NeedsScript(c.page), c.name)
	}
}

func TestWhetherAPageNeedsItsScriptsTakesNoAllocation(t *testing.T) {
	page := `<div id="root"></div><script src=x></script>`
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, func() { prune.NeedsScript(page) }), "allocations")
}

func FuzzNeedsScript(f *testing.F) {
	for _, s := range []string{"<script src=x>", "<noscript><a href=x></noscript>", "<!--", "</", "<script src=x></script", "<meta", "<a b='"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, page string) {
		prune.NeedsScript(page)
		assert.False(t, prune.NeedsScript("<a href=/>x</a>"+page), "it has a link")
		assert.False(t, prune.NeedsScript(strings.Repeat("words ", 50)+page), "it has a text")
	})
}
