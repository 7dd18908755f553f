package mirror

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func TestPrevious_KeepsForeignFiles(t *testing.T) {
	for _, name := range []string{oldDir, nextDir, tempDir} {
		for _, withTree := range []bool{false, true} {
			dir := t.TempDir()
			crawled(t, dir, small()...)
			if withTree {
				built(t, options(t, dir))
			}
			mine := filepath.Join(dir, name, "thesis.tex")
			require.NoError(t, errors.Join(os.Mkdir(filepath.Join(dir, name), 0o755), os.WriteFile(mine, []byte("mine"), 0o600)))
			_, err := Build(t.Context(), options(t, dir))
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "move it away") && strings.Contains(err.Error(), name), "%s, tree %t: %v", name, withTree, err)
			b, err := os.ReadFile(mine)
			assert.Truef(t, err == nil && string(b) == "mine", "%s, tree %t: a file of somebody is gone: %v", name, withTree, err)
		}
	}
}

func TestBuild_KeepsNewDirectory(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	o := options(t, dir)
	mine := filepath.Join(Tree(dir), "thesis.tex")
	o.step = func(what string) error {
		if what != "sync" {
			return nil
		}
		return errors.Join(os.Mkdir(Tree(dir), 0o755), os.WriteFile(mine, []byte("mine"), 0o600))
	}
	_, err := Build(t.Context(), o)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "move it away"), "it was replaced: %v", err)
	b, err := os.ReadFile(mine)
	assert.Truef(t, err == nil && string(b) == "mine", "it is gone: %v", err)
}

func TestPrevious_IgnoresUnreadableMap(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	o := options(t, dir)
	built(t, o)
	before := treeOf(t, Tree(dir))
	for _, text := range []string{"", "{", "{\"url\":\"x\",\"file\":\"../../x\"}\n", "\x00\x00\x00"} {
		edit(t, filepath.Join(Tree(dir), MapFile), text)
		s, err := Build(t.Context(), o)
		if err != nil {
			t.Errorf("a map %q: %v", text, err)
			continue
		}
		assert.Falsef(t, s.New == 0 || s.Shared == s.Files || text != "" && len(s.Notes) == 0, "a map %q: %d new, %d shared, notes %q", text, s.New, s.Shared, s.Notes)
		mustBeEqual(t, "over the map "+text, before, treeOf(t, Tree(dir)))
	}
}

func TestAFileOfAnotherRecordIsNotShared(t *testing.T) {
	dir := t.TempDir()
	at := func(r *storage.Record) { r.Time = began.Truncate(time.Second) }
	crawled(t, dir, got{url: "http://a.test/a:b.png", body: "the second", record: at})
	built(t, options(t, dir))
	crawled(t, dir, got{url: "http://a.test/a%3Ab.png", body: "the first!", record: at})
	o := options(t, dir)
	built(t, o)
	tree := treeOf(t, Tree(dir))
	assert.Equal(t, "the first!", tree["a.test/a%3Ab.png"], "the file of the first")
	o.Fresh = true
	built(t, o)
	mustBeEqual(t, "built afresh", treeOf(t, Tree(dir)), tree)
}

func TestASecondBuildIsRefused(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	o := options(t, dir)
	refused := 0
	inner := options(t, dir)
	o.step = func(what string) error {
		if what == "sync" || what == "create a.test/index.html" {
			_, err := Build(t.Context(), inner)
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "another build"), "at %q: %v", what, err)
			refused++
		}
		return nil
	}
	built(t, o)
	assert.Equalf(t, 2, refused, "tried %d times", refused)
	wrong, _ := brokenOf(t, dir)
	assert.Truef(t, len(wrong) <= 0, "wrong: %v", wrong)
	built(t, inner)
}

func TestNoSegmentTakesTheIndexOfAnother(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	crawled(t, a, got{url: "http://a.test/one", body: "1"})
	crawled(t, b, got{url: "http://b.test/two", body: "2"})
	o := options(t, a)
	first := o.Archive.Segments[0]
	second := filepath.Join(filepath.Dir(first), strings.TrimSuffix(filepath.Base(first), ".warc.gz")+".warc-2.warc.gz")
	require.NoError(t, os.Rename(options(t, b).Archive.Segments[0], second))
	plain := strings.TrimSuffix(first, ".gz")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	built(t, options(t, a))
	assert.Len(t, mapOf(t, a), 2, "the map")
}
