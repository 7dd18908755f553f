package mirror

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/mirror/layout"
)

func TestAFlatMirrorHoldsTogether(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir,
		got{url: "http://a.test/docs/index.html", body: `<a href="x/y.html">y</a><a href="http://b.test/docs/">b</a><img src="/img/p.png">`},
		got{url: "http://a.test/docs/x/y.html", body: `<a href="../index.html">up</a>`},
		got{url: "http://b.test/docs/", body: `<a href="index.html">self</a><img src="/img/p.png"><a href="/missing.jsonl/x">m</a>`},
		got{url: "http://b.test/missing.jsonl/x", body: "taken"},
		got{url: "http://a.test/img/p.png", body: "one"}, got{url: "http://b.test/img/p.png", body: "two"})
	o := options(t, dir)
	for _, c := range []struct {
		cut  int
		want []string
	}{
		{0, []string{"docs/index.html", "docs/index~" + hashOf("http://b.test/docs/")[:8] + ".html", "docs/x/y.html", "img/p.png", "img/p~" + hashOf("http://b.test/img/p.png")[:8] + ".png", "missing.jsonl_/x.html"}},
		{1, []string{"index.html", "index~" + hashOf("http://b.test/docs/")[:8] + ".html", "p.png", "p~" + hashOf("http://b.test/img/p.png")[:8] + ".png", "x.html", "x/y.html"}},
		{2, []string{"index.html", "index~" + hashOf("http://b.test/docs/")[:8] + ".html", "p.png", "p~" + hashOf("http://b.test/img/p.png")[:8] + ".png", "x.html", "y.html"}},
	} {
		o.Layout = layout.Layout{Kind: layout.Flat, Cut: c.cut}
		built(t, o)
		tree := treeOf(t, Tree(dir))
		slices.Sort(c.want)
		assert.Equalf(t, c.want, filesOf(tree), "cut %d", c.cut)
		wrong, _ := brokenOf(t, dir)
		assert.Truef(t, len(wrong) <= 0, "cut %d: wrong: %+v", c.cut, wrong)
		for url, e := range mapOf(t, dir) {
			assert.Falsef(t, url == "http://b.test/img/p.png" && tree[e.File] != "two", "cut %d: %s shows %q", c.cut, url, tree[e.File])
		}
		assert.Zerof(t, built(t, o).Written, "cut %d: files written a second time", c.cut)
	}
}

func TestAFlatPageIsNotThatOfAnotherFolder(t *testing.T) {
	dir := t.TempDir()
	page := `<a href="next">n</a>`
	crawled(t, dir,
		got{url: "http://a.test/one/", body: page}, got{url: "http://a.test/two/", body: page},
		got{url: "http://a.test/one/next", body: "1"}, got{url: "http://a.test/two/next", body: "2"},
		got{url: "http://a.test/one/index.html", body: page})
	o := options(t, dir)
	o.Layout = layout.Layout{Kind: layout.Flat, Cut: 1}
	built(t, o)
	tree, all := treeOf(t, Tree(dir)), mapOf(t, dir)
	one := all["http://a.test/one/index.html"].File
	assert.Truef(t, one == all["http://a.test/one/"].File, "one page has the files %q and %q", one, all["http://a.test/one/"].File)
	for _, n := range []string{"one", "two"} {
		file, next := all["http://a.test/"+n+"/"].File, all["http://a.test/"+n+"/next"].File
		assert.Equal(t, `<a href="`+next+`">n</a>`, tree[file], file)
	}
}

func TestAnotherLayoutLeavesTheFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, got{url: "http://a.test/", body: "front"}, got{url: "http://a.test/d/x", body: "x"})
	o := options(t, dir)
	built(t, o)
	put := func(name string) {
		path := filepath.Join(Tree(dir), filepath.FromSlash(name))
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("mine"), 0o600)))
	}
	put("a.test/d/notes.txt")
	put("own/deep/x")
	require.NoError(t, os.Symlink("nowhere", filepath.Join(Tree(dir), "a.test", "link")))
	host := treeOf(t, filepath.Join(Tree(dir), "own"))
	o.Layout.Kind = layout.Flat
	for range 2 {
		assert.EqualValues(t, 3, built(t, o).Others, "files of others")
		// The link leads nowhere, so treeOf would fail.
		var names []string
		err := filepath.WalkDir(Tree(dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(Tree(dir), path)
				names = append(names, filepath.ToSlash(rel))
			}
			return err
		})
		want := "a.test/d/notes.txt a.test/link d/x.html index.html mirror-map.jsonl missing.jsonl own/deep/x"
		assert.Truef(t, err == nil && strings.Join(names, " ") == want, "it holds %q, %v; want %s", names, err, want)
	}
	mustBeEqual(t, "what somebody put there", host, treeOf(t, filepath.Join(Tree(dir), "own")))
	o.Layout = layout.Layout{}
	built(t, o)
	put("index.html")
	o.Layout.Kind = layout.Flat
	_, err := Build(t.Context(), o)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), filepath.Join("mirror", "index.html")+" is not a file of the mirror"), "a name that is taken: %v", err)
	b, err := os.ReadFile(filepath.Join(Tree(dir), "index.html"))
	assert.Truef(t, err == nil && string(b) == "mine", "it is %q, %v", b, err)
}
