package mirror

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func shownSite(t *testing.T, o ServeOptions, all ...got) (dir string, h *Handler) {
	t.Helper()
	dir = t.TempDir()
	crawled(t, dir, all...)
	writeLedger(t, dir, storage.Line{URL: "http://b.test/x", Decision: "refuse", Reason: "scope:<script>alert(1)</script>"})
	built(t, options(t, dir))
	o.Tree = Tree(dir)
	h, err := NewHandler(o)
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	return dir, h
}

func request(h http.Handler, method, target string, also ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8000"+target, nil)
	if len(also) > 0 {
		r.Host = also[0]
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestServeShowsTheTree(t *testing.T) {
	all := append(small(),
		got{url: "http://a.test/latin", head: "200 OK\r\nContent-Type: text/html; charset=iso-8859-1", body: "\xe9t\xe9"},
		got{url: "http://a.test:8080/data", head: "200 OK\r\nContent-Type: application/x-data", body: "0123456789"},
	)
	_, h := shownSite(t, ServeOptions{}, all...)
	for _, c := range []struct {
		rule, target string
		status       int
		field, value string
		body         string
	}{
		{"a file has its type and charset", "/a.test/latin.html", 200, "Content-Type", "text/html; charset=iso-8859-1", "\xe9t\xe9"},
		{"a type is believed", "/a.test+8080/data", 200, "Content-Type", "application/x-data", "0123456789"},
		{"a name is escaped in a URL", "/a.test/d/e@x=1&y=2.html", 200, "", "", "<p"},
		{"a name is escaped in a URL", "/a.test/d/e@x=1%26y=2.html", 200, "", "", "<p"},
		{"the start is a host's first page", "/", 302, "Location", "/a.test/index.html", ""},
		{"a redirect leads to the file", "/a.test/moved", 302, "Location", "/a.test/d/index.html", ""},
		{"an address of the web leads to its file", "/a.test/d/e?x=1&y=2", 302, "Location", "/a.test/d/e@x=1%26y=2.html", ""},
		{"a host leads to its first page", "/a.test", 302, "Location", "/a.test/index.html", ""},
		{"a port is part of a host", "/a.test+8080/data?", 200, "", "", "0123456789"},
		{"a directory is not listed", "/a.test/d/", 302, "Location", "/a.test/d/index.html", ""},
		{"a missing URL has its reason", "/a.test/secret", 404, "", "", "noarchive"},
		{"a reason is text", "/b.test/x", 404, "", "", "&lt;script&gt;"},
		{"an address is text", "/b.test/%3Cscript%3E", 404, "", "", "No page of the copy"},
		{"an unknown URL", "/a.test/nothing", 404, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'", ""},
		{"the map is not a file of it", "/" + MapFile, 404, "", "", ""},
		{"nothing above", "/../warc/curtsy-00000.warc.gz", 404, "", "", ""},
		{"nothing above", "/a.test/..%2f..%2f..%2fwarc", 404, "", "", ""},
		{"nothing above", "/%2e%2e/ledger", 404, "", "", ""},
	} {
		w := request(h, "GET", c.target)
		if w.Code != c.status || c.field != "" && w.Header().Get(c.field) != c.value || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %s is answered %d %v\n%s", c.rule, c.target, w.Code, w.Header(), w.Body)
		}
		assert.NotContainsf(t, w.Body.String(), "<script", "%s: %s: a script got through", c.rule, c.target)
	}
	assert.Equal(t, 405, request(h, "POST", "/a.test/index.html").Code, "a POST is answered")
	w := request(h, "HEAD", "/a.test/index.html")
	assert.Truef(t, w.Code == 200 && w.Body.Len() <= 0, "a HEAD is answered %d", w.Code)
}

func TestServeAnswersToNamesOfThisMachineOnly(t *testing.T) {
	_, h := shownSite(t, ServeOptions{}, small()...)
	for host, want := range map[string]int{
		"localhost:1": 200, "LOCALHOST": 200, "127.0.0.1:80": 200, "127.1.2.3": 200, "[::1]:80": 200, "[::1]": 200,
		"evil.test": 403, "127.0.0.1.evil.test": 403, "localhost.evil.test:80": 403, "192.0.2.1": 403, "": 403,
	} {
		assert.Equalf(t, want, request(h, "GET", "/a.test/index.html", host).Code, "%q is answered", host)
	}
}

func TestServeOfflineForbidsOtherHosts(t *testing.T) {
	_, h := shownSite(t, ServeOptions{Offline: true, Start: "http://a.test/Page"}, small()...)
	got := request(h, "GET", "/a.test/index.html").Header().Get("Content-Security-Policy")
	assert.Truef(t, strings.HasPrefix(got, "default-src 'self'"), "the policy is %q", got)
	assert.Equal(t, "/a.test/Page.html", request(h, "GET", "/").Header().Get("Location"), "the start")
}

func TestServeFollowsAnUpdate(t *testing.T) {
	dir, h := shownSite(t, ServeOptions{}, small()...)
	crawled(t, dir, got{url: "http://a.test/new", body: "new", second: 50})
	assert.Equal(t, 404, request(h, "GET", "/a.test/new.html").Code, "before the build")
	built(t, options(t, dir))
	w := request(h, "GET", "/a.test/new.html")
	assert.Truef(t, w.Code == 200 && w.Body.String() == "new", "after the build: %d %s", w.Code, w.Body)
	require.NoError(t, os.RemoveAll(Tree(dir)))
	assert.Equal(t, 404, request(h, "GET", "/a.test/new.html").Code, "without a tree")
}

func TestServeGivesPartsOfAFile(t *testing.T) {
	_, h := shownSite(t, ServeOptions{}, got{url: "http://a.test/v.mp4", head: "200 OK\r\nContent-Type: video/mp4", body: "0123456789"})
	r := httptest.NewRequest("GET", "http://localhost/a.test/v.mp4", nil)
	r.Header.Set("Range", "bytes=2-4")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	assert.Truef(t, w.Code == 206 && w.Body.String() == "234", "a range is answered %d %s", w.Code, w.Body)
}

func TestAHostileMapLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	tree := Tree(dir)
	require.NoError(t, os.Mkdir(tree, 0o755))
	edit(t, filepath.Join(dir, "secret"), "mine")
	edit(t, filepath.Join(tree, MissingFile), "")
	for _, name := range []string{"../secret", "/etc/passwd", "a/../../secret", "..\\\\secret", "", ".", "a\\u0000b"} {
		edit(t, filepath.Join(tree, MapFile), `{"url":"http://a.test/","file":"`+name+`","status":200}`+"\n")
		if h, err := NewHandler(ServeOptions{Tree: tree}); err == nil {
			t.Errorf("%q was taken", name)
			h.Close()
		}
		for _, err := range Check(t.Context(), tree) {
			assert.Errorf(t, err, "%q was checked", name)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(tree, "link")); err != nil {
		t.Skip(err)
	}
	edit(t, filepath.Join(tree, MapFile), `{"url":"http://a.test/","file":"link","status":200,"type":"text/html\r\nX-Bad: 1"}`+"\n")
	h, err := NewHandler(ServeOptions{Tree: tree})
	require.NoError(t, err)
	defer h.Close()
	w := request(h, "GET", "/link")
	assert.Truef(t, w.Code == 404, "a link was followed: %d %s", w.Code, w.Body)
}

func FuzzServe(f *testing.F) {
	for _, s := range []string{"/", "/a.test/", "/a.test/../x", "//", "/%2e%2e/", "/a.test+80/x?y", "/\x00", "/mirror-map.jsonl", "/x\\..\\y"} {
		f.Add(s, "q=<script>")
	}
	dir := f.TempDir()
	crawled(f, dir, small()...)
	built(f, options(f, dir))
	h, err := NewHandler(ServeOptions{Tree: Tree(dir)})
	require.NoError(f, err)
	f.Cleanup(func() { h.Close() })
	tree := treeOf(f, Tree(dir))
	f.Fuzz(func(t *testing.T, path, query string) {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		r.URL.Path, r.URL.RawQuery = path, query
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch name := strings.TrimPrefix(path, "/"); {
		case w.Code == 200:
			assert.Truef(t, w.Body.String() == tree[name] && !strings.HasSuffix(name, ".jsonl"), "%q serves a file outside the mirror", path)
		case w.Code == 302:
			l := w.Header().Get("Location")
			assert.Truef(t, strings.HasPrefix(l, "/a.test/"), "%q leads to %q", path, l)
		case w.Code != 404:
			t.Errorf("%q is answered %d", path, w.Code)
		}
		assert.Falsef(t, w.Code != 200 && strings.Contains(w.Body.String(), "<script"), "%q?%q: a script got through", path, query)
	})
}
