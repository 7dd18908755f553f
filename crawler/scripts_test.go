package crawler

import (
	"slices"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

// searched is a site in the style of javadoc, whose search needs what a script alone names. Embeds has what the referee
// allows to be asked for.
func searched() *crawltest.Site {
	js := func(body string, names ...string) crawltest.Page {
		return crawltest.Page{Type: "text/javascript", Body: body, Embeds: names}
	}
	return &crawltest.Site{
		Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /api/private.json\n"},
		Pages: map[string]crawltest.Page{
			"/api/index.html": {
				Body:   `<script src=js/script.js></script><script>var root = "./"; load("own.json"); load("/outside.js")</script><a href=p/C.html>C</a>`,
				Links:  []string{"p/C.html"},
				Embeds: []string{"js/script.js", "own.json"},
			},
			"/api/p/C.html": {
				Body: `<script src=../js/script.js></script><script>go("../own.json")</script>`, Embeds: []string{"../js/script.js", "../own.json"},
			},
			"/api/js/script.js": js(
				`add(root + 'type-index.js'); add('word.js'); add("private.json"); add("https://b.test/x.js"); add("/outside.js"); add("moved.js")`,
				"type-index.js", "/api/type-index.js", "word.js", "/api/word.js", "/api/private.json", "private.json", "moved.js", "/api/moved.js"),
			"/api/type-index.js": js(`types = [{"l": "deep.json"}]`, "deep.json"),
			"/api/own.json":      {Type: "application/json", Body: `{}`},
			"/api/deep.json":     {Type: "application/json", Body: `{}`},
			"/api/private.json":  {Type: "application/json", Body: `{}`},
			"/api/moved.js":      {Redirect: "http://b.test/moved.js"},
			"/outside.js":        js(`x`),
		},
	}
}

func TestWhatScriptsNameIsAskedForOnlyWhereThatIsWanted(t *testing.T) {
	b := func() *crawltest.Site {
		return &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/x.js": {Body: "x"}, "/moved.js": {Body: "x"}}}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/api/index.html"}, searched(), b())
		w.cfg.Scope.Mode = "prefix"
		w.run()
		got := w.asked("a.test")
		slices.Sort(got)
		if want := []string{"/api/index.html", "/api/js/script.js", "/api/p/C.html", "/robots.txt"}; !slices.Equal(got, want) {
			t.Errorf("asked for %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/api/index.html"}, searched(), b())
		w.cfg.Scope.Mode, w.cfg.Scope.Requisites, w.cfg.Scope.Scripts = "prefix", "all", true
		s := w.run()
		w.judged(crawltest.Rules{Pace: Floor})
		got := w.asked("a.test")
		slices.Sort(got)
		if want := []string{
			"/api/deep.json", "/api/index.html", "/api/js/moved.js", "/api/js/private.json", "/api/js/script.js", "/api/js/type-index.js",
			"/api/js/word.js", "/api/moved.js", "/api/own.json", "/api/p/C.html", "/api/type-index.js", "/api/word.js", "/robots.txt",
		}; !slices.Equal(got, want) {
			t.Errorf("asked for %q", got)
		}
		if got := w.asked("b.test"); len(got) > 0 {
			t.Errorf("another host was asked for %q", got)
		}
		l := w.lineOf("http://a.test/api/word.js")
		if l.Kind != storage.KindScript || l.Via != "http://a.test/api/js/script.js" || l.Outcome != storage.OutcomeGone || l.Reason != "named by script: status 404" {
			t.Errorf("%+v", l)
		}
		if l := w.lineOf("http://a.test/api/private.json"); l.Decision != storage.DecisionDisallow {
			t.Errorf("%+v", l)
		}
		if l := w.lineOf("http://a.test/api/moved.js"); l.Outcome != storage.OutcomeDropped || l.Reason != "scope:script" {
			t.Errorf("%+v", l)
		}
		if s.Status.Links["scope:script"] == 0 {
			t.Errorf("links %v", s.Status.Links)
		}
	})
}
