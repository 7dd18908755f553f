package crawler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/extract"
	"curtsy/crawler/scope"
	"curtsy/storage"
)

func sheet(embeds ...string) crawltest.Page {
	var imports, rest strings.Builder
	for i, e := range embeds {
		switch {
		case strings.HasSuffix(e, ".css") && i%2 == 0:
			fmt.Fprintf(&imports, "@import url( '%s' ) screen;\n", e)
		case strings.HasSuffix(e, ".css"):
			fmt.Fprintf(&imports, "@import \"%s\";\n", e)
		case strings.HasSuffix(e, ".woff2"):
			fmt.Fprintf(&rest, "@font-face { font-family: f%d; src: local(f), url(%s) format(\"woff2\") }\n", i, e)
		default:
			fmt.Fprintf(&rest, ".c%d { background: no-repeat URL( %s ) }\n", i, e)
		}
	}
	return crawltest.Page{Type: "text/css; charset=utf-8", Body: "@charset \"utf-8\";\n" + imports.String() + "p { color: red }\n" + rest.String(), Embeds: embeds}
}

var picture = crawltest.Page{Type: "image/png", Body: "png"}

// searched is a site in the style of javadoc, whose search needs files that only a script names. Embeds are what the
// referee allows.
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

func TestScripts_NamesAreRequestedOnlyIfEnabled(t *testing.T) {
	b := func() *crawltest.Site {
		return &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/x.js": {Body: "x"}, "/moved.js": {Body: "x"}}}
	}
	dropped := map[string]string{"a.test/api/moved.js": "dropped: scope:script", "a.test/api/word.js": "gone: named by script: status 404"}
	playAll(t, []scenario{
		{
			name: "no", seeds: "http://a.test/api/index.html", sites: []*crawltest.Site{searched(), b()}, set: func(w *world) { w.cfg.Scope.Mode = "prefix" },
			check: func(_ *testing.T, w *world, _ Summary) {
				w.wantAskedInAnyOrder("a.test", "/api/index.html", "/api/js/script.js", "/api/p/C.html", "/robots.txt")
			},
		},
		{
			name: "yes", seeds: "http://a.test/api/index.html", sites: []*crawltest.Site{searched(), b()}, rules: crawltest.Rules{Pace: Floor},
			set: func(w *world) {
				w.cfg.Scope.Mode, w.cfg.Scope.Requisites, w.cfg.Scope.Scripts = "prefix", "all", true
			},
			asked: map[string]string{"b.test": ""}, outcomes: dropped, figures: map[string]int64{"failed": 0},
			check: func(t *testing.T, w *world, s Summary) {
				w.wantAskedInAnyOrder("a.test",
					"/api/deep.json", "/api/index.html", "/api/js/moved.js", "/api/js/private.json", "/api/js/script.js", "/api/js/type-index.js",
					"/api/js/word.js", "/api/moved.js", "/api/own.json", "/api/p/C.html", "/api/type-index.js", "/api/word.js", "/robots.txt")
				if l := w.lineOf("http://a.test/api/word.js"); l.Kind != storage.KindScript || l.Via != "http://a.test/api/js/script.js" {
					t.Errorf("%+v", l)
				}
				assert.Equal(t, storage.DecisionDisallow, w.lineOf("http://a.test/api/private.json").Decision)
				assert.NotZero(t, s.Status.Links["scope:script"], s.Status.Links)
				assert.Equal(t, map[string]int64{"found": 3, "not there": 5, "disallowed": 1, "dropped": 1}, s.Status.Scripts, "names in scripts")
			},
		},
	})
}

// File stores return 403 for a missing file, and ten refusals in a row end the host (rule 13). Words in a script must not.
func TestScripts_RefusedNamesDoNotRetireAHost(t *testing.T) {
	site, root := &crawltest.Site{Name: "a.test", Pages: pages{"/last": {Body: "x"}}}, crawltest.Page{Links: []string{"last"}}
	var names strings.Builder
	for i := range 20 {
		fmt.Fprintf(&names, `go("%d.json");`, i)
		site.Pages[fmt.Sprintf("/%d.json", i)] = crawltest.Page{Status: 403}
		root.Embeds = append(root.Embeds, fmt.Sprintf("%d.json", i))
	}
	root.Body = "<script>" + names.String() + "</script><a href=last>"
	site.Pages["/"] = root
	playAll(t, []scenario{{
		name: "twenty names", sites: []*crawltest.Site{site}, set: func(w *world) { w.cfg.Scope.Scripts = true },
		outcomes: map[string]string{"a.test/last": "fetched: unavailable"}, figures: map[string]int64{"hosts_refused": 0},
		check: func(t *testing.T, _ *world, s Summary) {
			if s.Status.Scripts["dropped"] == 0 || s.Status.Scripts["failed"] > 10 {
				t.Errorf("names in scripts: %v", s.Status.Scripts)
			}
		},
	}})
}

func TestFollowFeed(t *testing.T) {
	for on, asked := range map[bool]string{false: "/robots.txt / /feed", true: "/robots.txt / /feed /entry"} {
		playAll(t, []scenario{{
			name: fmt.Sprint(on), set: func(w *world) { w.cfg.Follow = extract.Follow{Feed: on} },
			sites: []*crawltest.Site{{
				Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /private\n"},
				Pages: pages{
					"/": {Body: `<a href=/feed>f</a>`, Links: []string{"/feed"}},
					"/feed": {Type: "application/rss+xml", Links: []string{"/entry", "/private", "http://b.test/"}, Body: `<rss><channel>
						<item><link>/entry</link></item><item><link>/private</link></item><item><link>http://b.test/</link></item></channel></rss>`},
					"/entry": {Body: "e"}, "/private": {Body: "x"},
				},
			}, {Name: "b.test", Pages: pages{"/": {Body: "b"}}}},
			asked: map[string]string{"a.test": asked, "b.test": ""},
			rules: crawltest.Rules{Pace: Floor, Partial: !on}, // else the referee misses the targets of the feed
			check: func(t *testing.T, w *world, _ Summary) {
				if !on {
					return
				}
				if l := w.lineOf("http://a.test/entry"); l.Kind != storage.KindLink || l.Via != "http://a.test/feed" || l.Depth != 2 {
					t.Errorf("%+v", l)
				}
				assert.Equal(t, storage.DecisionDisallow, w.lineOf("http://a.test/private").Decision)
			},
		}})
	}
}

func TestStories_Requisites(t *testing.T) {
	no := map[string]string{"X-Robots-Tag": "nofollow"}
	css, imported := sheet("b.css", "a.png"), sheet("b.png")
	css.Header, imported.Header = no, no
	chain := &crawltest.Site{Name: "a.test", Pages: pages{"/": {Embeds: []string{"/1.css"}}}}
	for i := 1; i <= 12; i++ {
		chain.Pages[fmt.Sprintf("/%d.css", i)] = sheet(fmt.Sprintf("%d.css", i+1))
	}
	depth := 0
	previews := func() []*crawltest.Site {
		return []*crawltest.Site{{Name: "a.test", Pages: pages{"/": {Body: `<meta property="og:image" content="/og.png">`}, "/og.png": picture}}}
	}
	playAll(t, []scenario{
		{ // rule 19
			name: "nofollow does not concern style sheets",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/":      {Robots: "none", Links: []string{"/link"}, Embeds: []string{"/a.css"}},
				"/a.css": css, "/b.css": imported, "/a.png": picture, "/b.png": picture, "/link": {},
			}}},
			check: func(_ *testing.T, w *world, _ Summary) {
				w.wantAskedInAnyOrder("a.test", "/", "/a.css", "/a.png", "/b.css", "/b.png", "/robots.txt")
			},
			rules: crawltest.Rules{Pace: Floor},
		},
		{ // requisites that a crawl excludes are counted, and have no line
			name: "none", sites: []*crawltest.Site{{Name: "a.test", Pages: pages{"/": {Embeds: []string{"/x.png"}}, "/x.png": picture}}},
			set:   func(w *world) { w.cfg.Scope = scope.Config{Requisites: scope.RequisitesNone} },
			asked: map[string]string{"a.test": "/robots.txt /"}, outcomes: map[string]string{"a.test/x.png": ""},
			figures: map[string]int64{"links_not_followed/scope:requisites": 1},
		},
		{ // a redirect is not a step, except one that leads off the scope; further ones there are not
			name: "redirects off the scope count once",
			sites: []*crawltest.Site{
				{Name: "a.test", Pages: pages{"/": {Embeds: []string{"/s.css"}}, "/s.css": {Redirect: "http://b.test/hop.css"}}},
				{Name: "b.test", Pages: pages{
					"/hop.css": {Redirect: "/1.css"}, "/1.css": sheet("2.css"), "/2.css": sheet("3.css"), "/3.css": sheet("4.css"), "/4.css": sheet(),
				}},
			},
			set:   func(w *world) { w.cfg.Scope = scope.Config{Requisites: scope.RequisitesAll} },
			asked: map[string]string{"b.test": "/robots.txt /hop.css /1.css /2.css /3.css"}, offScope: true,
			outcomes: map[string]string{"b.test/4.css": "dropped: scope:requisites"},
		},
		{ // the depth of a crawl also ends chains of requisites, but not real ones
			name: "many steps count as depth", sites: []*crawltest.Site{chain}, set: func(w *world) { w.cfg.Scope = scope.Config{Depth: &depth} },
			asked:   map[string]string{"a.test": "/robots.txt / /1.css /2.css /3.css /4.css /5.css /6.css /7.css /8.css"},
			figures: map[string]int64{"links_not_followed/scope:depth": 1},
		},
		{name: "no previews", sites: previews(), asked: map[string]string{"a.test": "/robots.txt /"}},
		{name: "previews", offScope: true, sites: previews(), set: func(w *world) { w.cfg.Previews = true }, asked: map[string]string{"a.test": "/robots.txt / /og.png"}},
	})
}
