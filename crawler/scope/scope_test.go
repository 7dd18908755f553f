package scope

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMode_Places(t *testing.T) {
	for _, tt := range []struct {
		mode       Mode
		seed, link string
		in         bool
	}{
		{"", "https://h.test/a/b", "https://h.test/", true},
		{ModeHost, "https://h.test/a/b", "https://h.test/z?q", true},
		{ModeHost, "https://h.test/", "http://h.test/", true},
		{ModeHost, "https://h.test/", "https://www.h.test/", true},
		{ModeHost, "http://www.h.test/", "https://h.test/", true},
		{ModeHost, "http://h.test/", "http://sub.h.test/", false},
		{ModeHost, "http://h.test/", "http://www2.h.test/", false},
		{ModeHost, "http://h.test/", "http://h.test.evil.test/", false},
		{ModeHost, "http://h.test/", "http://evilh.test/", false},
		{ModeHost, "http://www.test/", "http://test/", false},
		{ModeHost, "http://h.test/", "http://h.test:8080/", false},
		{ModeHost, "http://h.test/", "http://h.test:443/", false}, // not the default port of http
		{ModeHost, "http://localhost:8001/", "http://localhost:9000/", false},
		{ModeHost, "http://localhost:8001/", "http://localhost/", false},
		{ModeHost, "http://localhost:8001/", "https://localhost:8001/", true},
		{ModeHost, "http://127.0.0.1:8001/", "http://127.0.0.1:8001/x", true},
		{ModeHost, "http://[::1]:8001/", "http://[::1]:8002/", false},
		{ModeDomain, "https://a.b.example.co.uk/x", "http://example.co.uk/", true},
		{ModeDomain, "https://example.co.uk/x", "http://z.example.co.uk:8080/", true},
		{ModeDomain, "https://example.co.uk/", "http://other.co.uk/", false},
		{ModeDomain, "https://joe.github.io/", "https://ann.github.io/", false},
		{ModeDomain, "http://192.0.2.1/", "http://192.0.2.2/", false},
		{ModePrefix, "http://h.test/docs/index.html", "http://h.test/docs/a/b", true},
		{ModePrefix, "http://h.test/docs/index.html", "http://h.test/docs/", true},
		{ModePrefix, "http://h.test/docs/index.html", "http://h.test/docs", false},
		{ModePrefix, "http://h.test/docs/index.html", "http://h.test/docs2/", false},
		{ModePrefix, "http://h.test/docs/?a=/b/c", "http://h.test/docs/x", true},
		{ModePrefix, "http://h.test/docs/", "http://h.test/x?/docs/", false},
		{ModePrefix, "http://h.test/docs/", "http://other.test/docs/", false},
		{ModePrefix, "http://h.test/docs/", "https://www.h.test/docs/", true},
		{ModePrefix, "http://h.test/%7Ejoe/", "http://h.test/~joe/a", true}, // one resource by its key
		{ModePrefix, "http://h.test/", "http://h.test/any", true},
		{ModeSeeds, "http://h.test/a", "http://h.test/a", true},
		{ModeSeeds, "http://h.test/%61", "http://h.test/a", true},
		{ModeSeeds, "http://h.test/a", "https://h.test/a", false},
		{ModeSeeds, "http://h.test/a", "http://h.test/a?b", false},
		{ModeAny, "http://h.test/", "ftp.example.org/", true},
	} {
		link := tt.link
		if !strings.Contains(link, "://") {
			link = "http://" + link
		}
		s := newScope(t, Config{Mode: tt.mode}, tt.seed)
		mode := tt.mode
		if mode == "" {
			mode = ModeHost
		}
		want := "out scope:" + string(mode)
		if tt.in {
			want = "in scope:" + string(mode)
		}
		assert.Equalf(t, want, text(s.Judge(Candidate{URL: parse(t, link), Depth: 1})), "mode %q, seed %s, link %s", tt.mode, tt.seed, link)
	}
}

func TestMode_EverySeedCounts(t *testing.T) {
	s := newScope(t, Config{Mode: ModePrefix}, "http://h.test/b/c/d/", "http://h.test/a/", "http://h.test/b/", "http://h.test/b/c/", "http://g.test/z/x")
	for path, want := range map[string]bool{"/a/": true, "/a": false, "/b/x": true, "/b/c/d/e": true, "/c/": false, "/": false, "/b0/": false} {
		got := s.Judge(Candidate{URL: parse(t, "http://h.test"+path)})
		assert.Truef(t, got.In == want, "%s: %s", path, text(got))
	}
	assert.Equal(t, 2, len(s.places.dirs["h.test"]), "directories are kept of h.test; want /a/ and /b/")
}

func TestOrder_TheFirstOpinionDecides(t *testing.T) {
	const seed = "http://h.test/docs/"
	const trap = "http://h.test/docs/x/foo/foo/foo/foo"
	for _, tt := range []struct {
		rule   string
		config Config
		c      Candidate
		url    string
		want   string
	}{
		{"exclude wins over the place", Config{Exclude: []string{`\.pdf$`}}, Candidate{Depth: 1}, "http://h.test/a.pdf", "out for good scope:exclude"},
		{"exclude is unanchored", Config{Exclude: []string{`doc`}}, Candidate{Depth: 1}, "http://h.test/docs/a", "out for good scope:exclude"},
		{"exclude sees the query", Config{Exclude: []string{`[?&]sort=`}}, Candidate{Depth: 1}, "http://h.test/a?b&sort=1", "out for good scope:exclude"},
		{"exclude wins over a seed", Config{Exclude: []string{`docs`}}, Candidate{Seed: true}, seed, "out for good scope:exclude"},
		{"exclude wins over include", Config{Include: []string{`docs`}, Exclude: []string{`x`, `docs`}}, Candidate{}, seed, "out for good scope:exclude"},
		{"exclude wins over requisites all", Config{Exclude: []string{`cdn`}, Requisites: "all"}, Candidate{Embed: true, Embeds: 1}, "http://cdn.test/a.png", "out for good scope:exclude"},
		{"reject wins over a seed", Config{Reject: []string{".pdf"}}, Candidate{Seed: true}, "http://h.test/a.PDF", "out for good scope:reject"},
		{"reject is the end of the path", Config{Reject: []string{".gz"}}, Candidate{}, "http://h.test/a.tar.gz?v=1", "out for good scope:reject"},
		{"reject is not in the query", Config{Reject: []string{".gz"}}, Candidate{}, "http://h.test/a?v=.gz", "in scope:host"},

		{"a seed need not match include", Config{Include: []string{`\.pdf$`}}, Candidate{Seed: true}, seed, "in scope:seed"},
		{"a seed may look like a trap", Config{}, Candidate{Seed: true}, trap, "in scope:seed"},
		{"a link may not", Config{}, Candidate{Depth: 1}, trap, "out for good trap:repeat"},
		{"nor may a seed's redirect", Config{}, Candidate{Seed: true, Redirect: true}, trap, "out for good trap:repeat"},
		{"a seed's redirect may leave the scope", Config{}, Candidate{Seed: true, Redirect: true}, "https://other.test/", "in scope:seed-redirect"},
		{"a seed's redirect, seeds only", Config{Mode: ModeSeeds}, Candidate{Seed: true, Redirect: true}, "https://h.test/", "in scope:seed-redirect"},
		{"another redirect may not", Config{}, Candidate{Redirect: true, Depth: 1}, "https://other.test/", "out scope:host"},

		{"nofollow", Config{}, Candidate{Depth: 1, NoFollow: true}, seed, "out scope:nofollow"},
		{"nofollow does not concern requisites", Config{}, Candidate{Embed: true, Embeds: 1, NoFollow: true}, seed, "in scope:host"},
		{"a trap's shape is the better reason", Config{}, Candidate{Depth: 1, NoFollow: true}, trap, "out for good trap:repeat"},

		{"no limit of depth by default", Config{}, Candidate{Depth: 1000}, seed, "in scope:host"},
		{"depth reached", Config{Depth: ptr(2)}, Candidate{Depth: 2}, seed, "in scope:host"},
		{"depth exceeded", Config{Depth: ptr(2)}, Candidate{Depth: 3}, seed, "out scope:depth"},
		{"depth 0: no links", Config{Depth: ptr(0)}, Candidate{Depth: 1}, "http://h.test/a", "out scope:depth"},
		{"depth 0: requisites of seeds", Config{Depth: ptr(0)}, Candidate{Embed: true, Embeds: 1}, "http://h.test/a.css", "in scope:host"},
		{"depth: eight requisite steps are free", Config{Depth: ptr(0)}, Candidate{Embed: true, Embeds: 8}, seed, "in scope:host"},
		{"depth: the ninth counts", Config{Depth: ptr(0)}, Candidate{Embed: true, Embeds: 9}, seed, "out scope:depth"},
		{"rule 22: depth 20, any", Config{Mode: ModeAny}, Candidate{Depth: 20}, seed, "in scope:any"},
		{"rule 22: depth 21, any", Config{Mode: ModeAny}, Candidate{Depth: 21}, seed, "out trap:depth"},
		{"rule 22: depth 29 in requisites, any", Config{Mode: ModeAny}, Candidate{Embed: true, Embeds: 29}, seed, "out trap:depth"},
		{"rule 22: depth off", Config{Mode: ModeAny, Traps: map[string]int{"depth": 0}}, Candidate{Depth: 21}, seed, "in scope:any"},
		{"rule 22: depth given, host", Config{Traps: map[string]int{"trap:depth": 5}}, Candidate{Depth: 6}, seed, "out trap:depth"},

		{"requisites in scope", Config{}, Candidate{Embed: true, Embeds: 1}, "http://h.test/a.png", "in scope:host"},
		{"requisites off scope", Config{}, Candidate{Embed: true, Embeds: 1}, "http://cdn.test/a.png", "out scope:host"},
		{"requisites none", Config{Requisites: "none"}, Candidate{Embed: true, Embeds: 1}, "http://h.test/a.png", "out scope:requisites"},
		{"requisites none concerns no links", Config{Requisites: "none"}, Candidate{Depth: 1}, "http://h.test/a.png", "in scope:host"},
		{"requisites all, 3 steps off", Config{Requisites: "all"}, Candidate{Embed: true, Embeds: 3, Away: 3}, "http://cdn.test/a.png", "in scope:requisites"},
		{"requisites all, 1 of 6 steps off", Config{Requisites: "all"}, Candidate{Embed: true, Embeds: 6, Away: 1}, "http://cdn.test/a.png", "in scope:requisites"},
		{"requisites all, 4 steps off", Config{Requisites: "all"}, Candidate{Embed: true, Embeds: 4, Away: 4}, "http://cdn.test/a.png", "out scope:requisites"},
		{"requisites all, 4 steps off, back in scope", Config{Requisites: "all"}, Candidate{Embed: true, Embeds: 5, Away: 4}, "http://h.test/a.png", "in scope:host"},
		{"requisites all concerns no links", Config{Requisites: "all"}, Candidate{Depth: 1}, "http://cdn.test/a.png", "out scope:host"},
		{"requisites all, redirected", Config{Requisites: "all"}, Candidate{Embed: true, Embeds: 1, Redirect: true}, "http://cdn.test/", "in scope:requisites"},
		{"requisites host, outside the prefix", Config{Mode: ModePrefix, Requisites: "host"}, Candidate{Embed: true, Embeds: 1, Away: 1}, "http://h.test/x/a.png", "in scope:requisites"},
		{"requisites host, with only seeds", Config{Mode: ModeSeeds, Requisites: "host"}, Candidate{Embed: true, Embeds: 1, Away: 1}, "http://www.h.test/x/a.png", "in scope:requisites"},
		{"requisites host, another host", Config{Mode: ModePrefix, Requisites: "host"}, Candidate{Embed: true, Embeds: 1, Away: 1}, "http://cdn.test/a.png", "out scope:requisites"},
		{"requisites host, another host in scope", Config{Mode: ModeDomain, Requisites: "host"}, Candidate{Embed: true, Embeds: 1}, "http://cdn.h.test/a.png", "in scope:domain"},
		{"requisites host concerns no links", Config{Mode: ModeSeeds, Requisites: "host"}, Candidate{Depth: 1}, "http://h.test/x", "out scope:seeds"},
		{"requisites all need not match include", Config{Requisites: "all", Include: []string{`/docs/`}}, Candidate{Embed: true, Embeds: 1}, "http://h.test/a.png", "in scope:requisites"},

		{"include", Config{Include: []string{`x`, `/docs/`}}, Candidate{Depth: 1}, "http://h.test/docs/a", "in scope:host"},
		{"include does not match", Config{Include: []string{`x`, `/docs/`}}, Candidate{Depth: 1}, "http://h.test/a", "out scope:include"},
		{"include does not widen", Config{Include: []string{`.`}}, Candidate{Depth: 1}, "http://other.test/", "out scope:host"},
		{"include matches the fetch URL", Config{Include: []string{`%7E`}}, Candidate{}, "http://h.test/%7Ejoe", "in scope:host"},
	} {
		s := newScope(t, tt.config, seed)
		tt.c.URL = parse(t, tt.url)
		assert.Equalf(t, tt.want, text(s.Judge(tt.c)), "%s: %s", tt.rule, tt.url)
	}
}

func TestAccept_NarrowsByExtensionButNotPages(t *testing.T) {
	s := newScope(t, Config{Accept: []string{".pdf", ".tar.gz"}}, "http://h.test/")
	both := newScope(t, Config{Accept: []string{".pdf", "image/*"}}, "http://h.test/")
	for path, want := range map[string]bool{
		"/a.pdf": true, "/A.PDF?x": true, "/a.tar.gz": true, "/.pdf": true,
		"/a.gz": false, "/a.jpg": false, "/app.js": false, "/a.7z": false, "/a.mp4": false, "/docs.pdf/a.css": false,
		"/": true, "/docs": true, "/a.html": true, "/a.HTM": true, "/a.php?id=1": true, "/docs.d/": true, "/a.": true,
		"/v1.2": true, "/wiki/St._Louis": true, "/wiki/Mr.Robinson": true, "/2024.05.06": true,
	} {
		c := Candidate{URL: parse(t, "http://h.test"+path), Depth: 1}
		got := s.Judge(c)
		assert.Falsef(t, got.In != want || !want && text(got) != "out scope:accept", "%s: %s", path, text(got))
		if got := both.Judge(c); !got.In {
			t.Errorf("with a media type in the list the head must decide; %s: %s", path, text(got))
		}
	}
}

func TestAcceptType(t *testing.T) {
	for _, tt := range []struct {
		accept, reject, contentType, path string
		ok                                bool
		rule                              string
	}{
		{"", "", "image/png", "/a", true, ""},
		{"", "", "", "/a", true, ""},
		{"image/*", "", "image/png", "/a", true, "scope:accept"},
		{"image/*", "", " IMAGE/PNG ; q=1", "/a", true, "scope:accept"},
		{"image/png", "", "image/jpeg", "/a", false, "scope:accept"},
		{"image/*", "", "imagex/png", "/a", false, "scope:accept"},
		{"image/*", "", "image/", "/a", true, ""}, // not a media type: accepted
		{"image/*", "", "image/png, image/png", "/a", true, "scope:accept"},
		{"", "image/*", "image/png, image/png", "/a", false, "scope:reject"},
		{"*/*", "", "a/b", "/a", true, "scope:accept"},
		{"image/*", "", "", "/a", true, ""}, // no type: accepted
		{"image/*", "", "text/html; charset=utf-8", "/a", true, ""},
		{"image/*", "", "application/xhtml+xml", "/a", true, ""},
		{".pdf", "", "text/html", "/a.pdf", true, ""},
		{".pdf", "", "application/octet-stream", "/a.PDF", true, "scope:accept"},
		{".pdf", "", "application/pdf", "/a", false, "scope:accept"},
		{"", "image/*", "image/png", "/a", false, "scope:reject"},
		{"", "text/html", "text/html", "/a", false, "scope:reject"},
		{"image/*", "image/gif", "image/gif", "/a", false, "scope:reject"},
		{"image/*", "image/gif", "image/png", "/a", true, "scope:accept"},
		{"", "*/*", "", "/a", true, ""},
	} {
		var c Config
		if tt.accept != "" {
			c.Accept = []string{tt.accept}
		}
		if tt.reject != "" {
			c.Reject = []string{tt.reject}
		}
		s := newScope(t, c)
		if ok, rule := s.AcceptType(tt.contentType, tt.path); ok != tt.ok || rule != tt.rule {
			t.Errorf("accept %q, reject %q: %q, %q: %t %q; want %t %q", tt.accept, tt.reject, tt.contentType, tt.path, ok, rule, tt.ok, tt.rule)
		}
	}
}

func TestNew_ErrorsNameTheSettingAndThePlace(t *testing.T) {
	for _, tt := range []struct {
		c    Config
		want []string
	}{
		{Config{Mode: "hots"}, []string{`mode "hots"`, "host, domain"}},
		{Config{Requisites: "some"}, []string{`requisites "some"`, "scope, none, host, all"}},
		{Config{Depth: ptr(-1)}, []string{"depth -1"}},
		{Config{Include: []string{"ok", `a(b`}}, []string{`include pattern 2, "a(b"`, "missing closing )"}},
		{Config{Exclude: []string{`/a/**`}}, []string{`exclude pattern 1`, `at byte 4, "**"`, "invalid nested repetition"}},
		{Config{Exclude: []string{`(?<!x)`}}, []string{`exclude pattern 1`, `at byte 1`}},
		{Config{Accept: []string{".pdf", "pdf"}}, []string{`accept 2, "pdf"`, "extension (.pdf)"}},
		{Config{Accept: []string{"image/"}}, []string{`accept 1, "image/"`}},
		{Config{Reject: []string{"a/b/c"}}, []string{`reject 1, "a/b/c"`}},
		{Config{Reject: []string{"*.pdf"}}, []string{`reject 1, "*.pdf"`}},
		{Config{Reject: []string{""}}, []string{`reject 1, ""`}},
		{Config{Reject: []string{"."}}, []string{`reject 1, "."`}},
		{Config{Traps: map[string]int{"loops": 4}}, []string{`trap "loops"`, "repeat"}},
		{Config{Traps: map[string]int{"repeat": 1}}, []string{`trap "repeat"`, "too small"}},
		{Config{Traps: map[string]int{"segments": -3}}, []string{`trap "segments"`, "-3"}},
	} {
		_, err := New(tt.c, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "scope: ") {
			t.Errorf("%+v: %v", tt.c, err)
			continue
		}
		for _, part := range tt.want {
			assert.ErrorContains(t, err, part)
		}
	}
}

func TestRules_AreThoseThatApplyInOrder(t *testing.T) {
	usual := []string{"scope:seed", "trap:segments", "trap:percent", "trap:repeat", "trap:cycle", "scope:nofollow", "scope:sitemap", "scope:seed-redirect", "scope:host"}
	got := newScope(t, Config{}).Rules()
	assert.Truef(t, slices.Equal(got, usual), "zero Config:\n got %q\nwant %q", got, usual)
	all := Config{
		Mode: ModeAny, Include: []string{"a"}, Exclude: []string{"b"}, Accept: []string{".a"}, Reject: []string{".b"},
		Requisites: "none", Depth: ptr(0), Traps: map[string]int{"segments": 0, "trap:cycle": 0},
	}
	want := []string{
		"scope:exclude", "scope:reject", "scope:seed", "trap:percent", "trap:repeat", "scope:nofollow", "scope:sitemap", "scope:seed-redirect",
		"scope:depth", "trap:depth", "scope:accept", "scope:requisites", "scope:include", "scope:any",
	}
	if got := newScope(t, all).Rules(); !slices.Equal(got, want) {
		t.Errorf("all settings:\n got %q\nwant %q", got, want)
	}
}
