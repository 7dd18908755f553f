package static

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// folder makes files with their names as content.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
	}
	return dir
}

func TestPathsAreAnsweredAsAStaticServerDoes(t *testing.T) {
	dir := folder(t, "index.html", "a.html", "sub/index.html", "empty/x.txt", "404.html", "ä b.html", "st.css")
	secret := folder(t, "secret.txt")
	if err := os.Symlink(filepath.Join(secret, "secret.txt"), filepath.Join(dir, "out.txt")); err != nil {
		t.Log("no symbolic link is tried:", err)
	}
	tests := []struct {
		name   string
		o      Options
		path   string
		status int
		body   string
	}{
		{"the root", Options{}, "/", 200, "index.html"},
		{"a file", Options{}, "/a.html", 200, "a.html"},
		{"a folder without its slash", Options{}, "/sub", 301, "/sub/"},
		{"a folder", Options{}, "/sub/", 200, "sub/index.html"},
		{"a folder without an index is not listed", Options{}, "/empty/", 404, "404.html"},
		{"a missing file", Options{}, "/none", 404, "404.html"},
		{"a file as though it were a folder", Options{}, "/a.html/", 404, "404.html"},
		{"percent encoding", Options{}, "/%C3%A4%20b.html", 200, "ä b.html"},
		{"a clean URL without the option", Options{}, "/a", 404, "404.html"},
		{"a clean URL", Options{Clean: true}, "/a", 200, "a.html"},
		{"below a base", Options{Base: "/docs/"}, "/docs/a.html", 200, "a.html"},
		{"beside a base", Options{Base: "/docs/"}, "/a.html", 404, "404.html"},
		{"out of the folder", Options{}, "/../secret.txt", 404, "404.html"},
		{"out of the folder, encoded", Options{}, "/%2e%2e/secret.txt", 404, "404.html"},
		{"out of the folder by a link", Options{}, "/out.txt", 404, "404.html"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(dir, tt.o)
			require.NoError(t, err)
			defer s.Close()
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
			body := w.Body.String()
			if w.Code == http.StatusMovedPermanently {
				body = w.Header().Get("Location")
			}
			assert.Truef(t, w.Code == tt.status && body == tt.body, "%s: %d %q, want %d %q", tt.path, w.Code, body, tt.status, tt.body)
		})
	}
}

func TestPages_ListsAllPages(t *testing.T) {
	s, err := Open(folder(t, "index.html", "404.html", "b/index.html", "b/c d.HTM", "x.txt"), Options{Base: "/p/"})
	require.NoError(t, err)
	defer s.Close()
	got, err := s.Pages()
	want := []string{"/p/b/c%20d.HTM", "/p/b/", "/p/"}
	assert.Truef(t, err == nil && slices.Equal(got, want), "%q, %v", got, err)
	for path, want := range map[string]string{"/p/b/": "b/index.html", "/p/b/c%20d.HTM": "b/c d.HTM", "/p/none": "", "/x.txt": ""} {
		name, ok := s.File(path)
		assert.Truef(t, name == want || !ok, "%s is %q, %v", path, name, ok)
	}
}

func TestABaseIsAPath(t *testing.T) {
	for _, base := range []string{"docs", "/docs", "docs/", "//", "/a/../b/"} {
		s, err := Open(t.TempDir(), Options{Base: base})
		assert.ErrorContainsf(t, err, "like /docs/", "%q: %v, %v", base, s, err)
	}
}

func TestSymlinkOutOfTheFolder_IsReported(t *testing.T) {
	dir, elsewhere := folder(t, "index.html", "a.html"), folder(t, "x/jquery.js")
	for name, to := range map[string]string{
		"jquery.js": filepath.Join(elsewhere, "x", "jquery.js"), "lib": filepath.Join(elsewhere, "x"),
		"dangling.js": filepath.Join(elsewhere, "none.js"), "within.html": "a.html",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	s, err := Open(dir, Options{Base: "/docs/"})
	require.NoError(t, err)
	defer s.Close()
	for path, want := range map[string]bool{
		"/docs/jquery.js": true, "/docs/lib/jquery.js": true, "/docs/%6aquery.js": true,
		"/docs/dangling.js": false, "/docs/within.html": false, "/docs/a.html": false, "/docs/none.js": false, "/jquery.js": false,
		"/docs/../" + filepath.Base(elsewhere) + "/x/jquery.js": false, "/docs/%": false, "/docs/a%00": false,
	} {
		assert.Equal(t, want, s.LeadsOut(path), path)
	}
}
