package mirror

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
	"curtsy/storage/script"
)

func searchable() []got {
	return []got{
		{url: "http://a.test/api/index.html", body: `<script src=files/script.js></script><script>var root = "./"; load("own.json")</script>`},
		{url: "http://a.test/api/p/q/C.html", body: `<script src=../../files/script.js></script><script type=text/plain>"none.json"</script>`},
		{url: "http://a.test/api/files/script.js", body: `function l(d){c(d, root + 'type-index.js'); c(d, 'member-index.js'); c(d, "gone.js"); img("a.png"); fetch("https://b.test/x.js")}`},
		{url: "http://a.test/api/member-index.js", body: `m = []`},
		{url: "http://a.test/api/gone.js", head: "404 Not Found\r\nContent-Type: text/html"},
	}
}

func TestScripts_ListsNamesInScripts(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, searchable()...)
	writeLedger(t, dir, storage.Line{URL: "http://a.test/api/a.png", Decision: storage.DecisionDisallow, Reason: "disallow rule"})
	s := built(t, options(t, dir))
	missing := missingOf(t, dir)
	for url, detail := range map[string]string{
		"http://a.test/api/own.json":            "not fetched",           // of a script in the page
		"http://a.test/api/type-index.js":       "not fetched",           // relative to the page that loads the script,
		"http://a.test/api/files/type-index.js": "not fetched",           // or to the script
		"http://a.test/api/gone.js":             "gone: status 404",      //
		"http://a.test/api/files/gone.js":       "not fetched",           //
		"http://a.test/api/a.png":               "robots: disallow rule", //
		"http://a.test/api/files/a.png":         "not fetched",           // member-index.js is there in one of both places
	} {
		m, listed := missing[url]
		assert.Truef(t, listed && m.Reason == ByScript && m.Detail == detail && m.Scripts == 1 && m.Links+m.Embeds == 0, "%s: %+v, want the detail %q", url, m, detail)
		delete(missing, url)
	}
	assert.Empty(t, missing, "also missing")
	if s.Scripted[NotFetched] != 5 || s.Scripted[Gone] != 1 || s.Scripted[Robots] != 1 || len(s.Missing) != 0 {
		t.Errorf("counted are %v, and as missing %v", s.Scripted, s.Missing)
	}
	wrong, other := brokenOf(t, dir)
	assert.Truef(t, len(wrong) <= 0 && len(other) == 7, "a check reports %v and %v", wrong, other)
	for _, b := range other {
		assert.Truef(t, b.Reason == ByScript && b.URL != "" && b.File != "", "%+v", b)
	}
}

func TestScripts_PageReferenceIsMissing(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, got{url: "http://a.test/", body: `<img src=a.png><script>x("a.png")</script>`})
	s := built(t, options(t, dir))
	m := missingOf(t, dir)["http://a.test/a.png"]
	if m.Reason != NotFetched || m.Embeds != 1 || m.Scripts != 1 || s.Missing[NotFetched] != 1 || len(s.Scripted) != 0 {
		t.Errorf("%+v; %v and %v", m, s.Missing, s.Scripted)
	}
}

func TestScriptsThatAreNotReadToTheirEndAreCounted(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, got{url: "http://a.test/x.js", body: string(make([]byte, 100)) + ".", head: "200 OK\r\nContent-Type: text/javascript"})
	s := built(t, options(t, dir))
	assert.Truef(t, s.ScriptsCut[script.CutWrong] == 1, "counted are %v", s.ScriptsCut)
	assert.NotEmpty(t, treeOf(t, Tree(dir)), "nothing is copied")
}
