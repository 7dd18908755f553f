//go:build peers

package main

import (
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fileTree is a folder of files over file://.
type fileTree struct {
	dir   string
	names []string // of the pages, slashed, relative
}

// treeOf finds the HTML files of a folder.
func treeOf(t *testing.T, dir string) fileTree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	out := fileTree{dir: dir}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if looksLikeHTML(p) {
			out.names = append(out.names, filepath.ToSlash(rel))
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

// looksLikeHTML reports whether a browser shows a file as a page, by its extension or without one by its first bytes.
func looksLikeHTML(p string) bool {
	switch ext := strings.ToLower(filepath.Ext(p)); ext {
	case ".html", ".htm", ".xhtml", ".shtml":
		return true
	case "":
		f, err := os.Open(p)
		if err != nil {
			return false
		}
		defer f.Close()
		head := make([]byte, 512)
		n, _ := f.Read(head) // what there is
		return strings.HasPrefix(http.DetectContentType(head[:n]), "text/html")
	}
	return false
}

func (s fileTree) files() bool { return true }

func (s fileTree) pages() []string {
	urls := make([]string, len(s.names))
	for i, name := range s.names {
		urls[i] = (&url.URL{Scheme: "file", Path: path.Join(filepath.ToSlash(s.dir), name)}).String()
	}
	return urls
}

func (s fileTree) holds(u *url.URL) (string, have) {
	if u.Scheme != "file" {
		return "", outside
	}
	rel, err := filepath.Rel(s.dir, filepath.FromSlash(u.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return u.Path, lacking // outside of the tree
	}
	if info, err := os.Stat(filepath.Join(s.dir, rel)); err != nil || info.IsDir() {
		return rel, lacking
	}
	return filepath.ToSlash(rel), held
}

// served is a tree behind a file server.
type served struct {
	fileTree
	at *httptest.Server
}

// serveTree serves a tree like a file server: the type is that of the extension, without a charset.
func serveTree(t *testing.T, s fileTree) served {
	t.Helper()
	plain := http.FileServer(http.Dir(s.dir))
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(mime.TypeByExtension(path.Ext(r.URL.Path))); err == nil {
			w.Header().Set("Content-Type", kind)
		}
		plain.ServeHTTP(w, r)
	}))
	t.Cleanup(at.Close)
	return served{s, at}
}

func (s served) files() bool { return false }

func (s served) pages() []string {
	urls := make([]string, len(s.names))
	for i, name := range s.names {
		urls[i] = s.at.URL + (&url.URL{Path: "/" + name}).EscapedPath()
	}
	return urls
}

func (s served) holds(u *url.URL) (string, have) {
	if u.Scheme+"://"+u.Host != s.at.URL {
		return "", outside
	}
	name := strings.TrimPrefix(path.Clean("/"+u.Path), "/")
	info, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err == nil && info.IsDir() {
		name = path.Join(name, "index.html")
		info, err = os.Stat(filepath.Join(s.dir, filepath.FromSlash(name)))
	}
	if err != nil || info.IsDir() {
		return name, lacking
	}
	return name, held
}

// unportable lists names that other machines cannot have, or that are equal there.
func unportable(t *testing.T, dir string) []string {
	t.Helper()
	found := map[string]bool{}
	folded := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		name := d.Name()
		stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
		device := slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, stem) || len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '1' && stem[3] <= '9'
		control := strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f || r == 0xfffd })
		if device || control || strings.ContainsAny(name, `<>:"|?*\`) || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || len(name) > 240 {
			found[fmt.Sprintf("%q", rel)] = true
		}
		fold := cases.Fold().String(norm.NFC.String(rel))
		if other, ok := folded[fold]; ok {
			found[fmt.Sprintf("%q is %q", rel, other)] = true
		}
		folded[fold] = rel
		return err
	})
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(found))
}

// The detector finds each kind of name, and no other.
func TestPeers_UnportableNamesAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"fine.html", "CON", "aux.tar.gz", "com1.html", "a?b", "end.", "end ", "A/x", "a/y", "caf\u00e9", "cafe\u0301",
		strings.Repeat("x", 241), "compact.html", "line\nfeed", "fine%2f",
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	assert.Len(t, unportable(t, dir), 10)
}
