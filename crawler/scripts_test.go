package crawler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
		w.wantAskedInAnyOrder("a.test", "/api/index.html", "/api/js/script.js", "/api/p/C.html", "/robots.txt")
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
		want := map[string]int64{"found": 3, "not there": 5, "disallowed": 1, "dropped": 1}
		if !maps.Equal(s.Status.Scripts, want) {
			t.Errorf("what scripts name: %v", s.Status.Scripts)
		}
		if s.Status.Failed != 0 {
			t.Errorf("%d failed", s.Status.Failed)
		}
	})
}

// Stores of files answer 403 for what is not there, and ten refusals in a row end a crawl of the host (rule 13): words in
// a script must not.
func TestRefusalsOfWhatScriptsNameDoNotEndAHost(t *testing.T) {
	site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{}}
	var names strings.Builder
	for i := range 20 {
		fmt.Fprintf(&names, `go("%d.json");`, i)
		site.Pages[fmt.Sprintf("/%d.json", i)] = crawltest.Page{Status: 403}
	}
	site.Pages["/"] = crawltest.Page{Body: "<script>" + names.String() + "</script><a href=last>"}
	for i := range 20 {
		p := site.Pages["/"]
		p.Embeds = append(p.Embeds, fmt.Sprintf("%d.json", i))
		p.Links = []string{"last"}
		site.Pages["/"] = p
	}
	site.Pages["/last"] = crawltest.Page{Body: "x"}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.Scope.Scripts = true
		s := w.run()
		if s.Status.Refused > 0 || s.Status.Scripts["dropped"] == 0 || s.Status.Scripts["failed"] > 10 {
			t.Errorf("%d hosts refused; what scripts name: %v", s.Status.Refused, s.Status.Scripts)
		}
		w.wantOutcomes("http://a.test/last", "fetched: unavailable")
	})
}
