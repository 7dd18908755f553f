package mirror

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
)

func TestRelative(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"a/x.html", "a/y.html", "y.html"},
		{"a/x.html", "a/x.html", "x.html"},
		{"a/x.html", "b/y.html", "../b/y.html"},
		{"a/b/c/x.html", "a/y.html", "../../y.html"},
		{"a/x.html", "a/b/c/y.html", "b/c/y.html"},
		{"a/bc/x.html", "a/b/y.html", "../b/y.html"},
		{"a/x.html", "a/1 2#3?4%5.html", "1%202%233%3F4%255.html"},
		{"a/x.html", "a/é&\"',().html", "%C3%A9%26%22%27%2C%28%29.html"},
		{"[--1]+81/x.html", "[--1]/y.html", "../%5B--1%5D/y.html"},
	} {
		assert.Equalf(t, c.want, relative(c.from, c.to), "from %s to %s", c.from, c.to)
	}
}

func TestReferences(t *testing.T) {
	p := &plan{entries: []entry{
		{key: "http://a.test/", name: "a.test/index.html"},
		{key: "http://a.test/away", state: isRedirect, name: "http://c.test/#part"},
		{key: "http://a.test/d/x", name: "a.test/d/x.html"},
		{key: "http://a.test/d/x?q=1", name: "a.test/d/x@q=1.html"},
		{key: "http://a.test/no", state: isNoArchive},
		{key: "http://a.test/to", state: isRedirect, name: "http://a.test/to2"},
		{key: "http://a.test/to2", state: isRedirect, name: "http://a.test/d/x"},
		{key: "http://a.test/too", state: isRedirect, name: "http://a.test/to#part"},
		{key: "http://a.test/two", state: isRedirect, name: "http://a.test/too"},
		{key: "https://b.test/", name: "b.test/index.html"},
	}}
	p.index()
	p.resolve()
	self, base := urlOf(t, "http://a.test/d/x"), urlOf(t, "http://a.test/d/x")
	other := urlOf(t, "http://a.test/")
	for _, c := range []struct {
		rule    string
		ref     markup.Ref
		want    string // empty: as it is
		missing string
	}{
		{"relative for an existing file", markup.Ref{Raw: "/", Base: base}, "../index.html", ""},
		{"a query stays", markup.Ref{Raw: "x?q=1", Base: base}, "x@q=1.html", ""},
		{"another query is another page", markup.Ref{Raw: "x?q=2", Base: base}, "http://a.test/d/x?q=2", "L http://a.test/d/x?q=2"},
		{"a fragment stays", markup.Ref{Raw: "/#a b", Base: base}, "../index.html#a%20b", ""},
		{"a fragment stays for a missing file", markup.Ref{Raw: "/no#é", Base: base}, "http://a.test/no#%C3%A9", "L http://a.test/no"},
		{"a place in the page itself", markup.Ref{Raw: "#top", Base: base}, "", ""},
		{"a place in the page itself, by its address", markup.Ref{Raw: "http://a.test/d/x#top", Base: base}, "x.html#top", ""},
		{"a place in the base", markup.Ref{Raw: "#top", Base: other}, "../index.html#top", ""},
		{"the page itself from another base", markup.Ref{Raw: "d/x#top", Base: other}, "x.html#top", ""},
		{"a redirect's final file", markup.Ref{Raw: "/to#f", Base: base}, "x.html#f", ""},
		{"the place that a redirect names", markup.Ref{Raw: "/two", Base: base}, "x.html#part", ""},
		{"the place that a redirect names counts", markup.Ref{Raw: "/too#f", Base: base}, "x.html#part", ""},
		{"a redirect to a missing file", markup.Ref{Raw: "/away#f", Base: base}, "http://a.test/away#f", "L http://a.test/away"},
		{"protocol-relative", markup.Ref{Raw: "//a.test/", Base: base}, "../index.html", ""},
		{"another host", markup.Ref{Raw: "https://b.test", Base: base}, "../../b.test/index.html", ""},
		{"an embed", markup.Ref{Raw: "i.png", Base: base, Role: markup.Embed}, "http://a.test/d/i.png", "E http://a.test/d/i.png"},
		{"a frame", markup.Ref{Raw: "i", Base: base, Role: markup.Frame}, "http://a.test/d/i", "E http://a.test/d/i"},
		{"a form is sent to the site", markup.Ref{Raw: "/", Base: base, Role: markup.Service}, "http://a.test/", ""},
		{"a query is sent to the file", markup.Ref{Raw: "/", Base: base, Role: markup.Query}, "../index.html", ""},
		{"a query is sent to the site if there is no file", markup.Ref{Raw: "/q", Base: base, Role: markup.Query}, "http://a.test/q", ""},
		{"another scheme", markup.Ref{Raw: "mailto:x@a.test", Base: base}, "", ""},
		{"script", markup.Ref{Raw: "javascript:alert(1)", Base: base}, "", ""},
		{"data", markup.Ref{Raw: "data:,x", Base: base, Role: markup.Embed}, "", ""},
		{"no URL", markup.Ref{Raw: "http://[", Base: base}, "", ""},
		{"relative to no base on the web", markup.Ref{Raw: "../x"}, nowhere, ""},
		{"a place in no base on the web", markup.Ref{Raw: "#x"}, nowhere, ""},
		{"absolute without a base", markup.Ref{Raw: "http://a.test/"}, "../index.html", ""},
		{"another scheme without a base", markup.Ref{Raw: "mailto:x"}, "", ""},
		{"a file of the reader", markup.Ref{Raw: " fI\tLe:///etc/passwd", Base: base, Role: markup.Frame}, nowhere, ""},
		{"a link to a file of the reader", markup.Ref{Raw: "file:///etc/passwd", Base: base}, "", ""},
		{"longer than MaxLength", markup.Ref{Raw: "?" + strings.Repeat("q", 9000), Base: base}, "http://a.test/d/x?" + strings.Repeat("q", 9000), ""},
	} {
		missing := ""
		l := linker{plan: p, url: self, file: "a.test/d/x.html", missing: func(u canon.URL, embed bool) {
			missing = "L " + u.Key()
			if embed {
				missing = "E" + missing[1:]
			}
		}, nowhere: func() {}}
		got, replace := l.visit(c.ref)
		if replace != (c.want != "") || replace && got != c.want || missing != c.missing {
			t.Errorf("%s: %q becomes %q (%t), missing %q; want %q, missing %q", c.rule, c.ref.Raw, got, replace, missing, c.want, c.missing)
		}
	}
}

func FuzzRelative_Resolves(f *testing.F) {
	f.Add("http://a.test/x/y", "http://a.test/x/%25%23%3F")
	f.Add("http://a.test/../z", "http://b.test/a:b")
	f.Fuzz(func(t *testing.T, a, b string) {
		u, err := canon.Parse(a)
		if err != nil {
			return
		}
		v, err := canon.Parse(b)
		if err != nil || u.Key() == v.Key() {
			return
		}
		p := &plan{entries: []entry{{key: u.Key(), kind: kindOf("text/html")}, {key: v.Key(), kind: kindOf("text/css")}}}
		p.index()
		p.name()
		names := make([]string, 2)
		for i, u := range []canon.URL{u, v} {
			e, _ := p.find(u.Key())
			names[i] = e.name
		}
		base, err := canon.Parse(localBase + escaped(names[0], pathSafe))
		if err != nil {
			return // longer than a URL may be
		}
		ref := relative(names[0], names[1])
		to, err := base.Resolve(ref)
		require.NoError(t, err)
		want := localBase + escaped(names[1], pathSafe)
		assert.Truef(t, to.String() == want && !strings.ContainsAny(ref, " \"'()<>\\,;&#?"), "from %q by %q one comes to %q, not %q", names[0], ref, to, want)
		assert.Truef(t, !path.IsAbs(ref) && !strings.Contains(ref, ":"), "%q is not relative", ref)
	})
}
