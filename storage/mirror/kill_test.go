package mirror

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errDead = errors.New("dead")

// dying is a process that dies before one of its steps: later ones have no effect.
type dying struct {
	mu    sync.Mutex
	steps []string
	at    int // die at this step; -1: never
}

func (d *dying) step(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, what)
	if d.at >= 0 && len(d.steps) > d.at {
		return errDead
	}
	return nil
}

func TestBuild_KillAtAnyStep(t *testing.T) {
	for _, swap := range []string{"exchange", "two renames"} {
		t.Run(swap, func(t *testing.T) {
			dir := t.TempDir()
			crawled(t, dir, small()...)
			o := options(t, dir)
			o.twoRenames = swap != "exchange"
			built(t, o)
			before := treeOf(t, Tree(dir))
			crawled(t, dir, got{url: "http://a.test/Page", body: "another <a href=new>page</a>", second: 90}, got{url: "http://a.test/new", body: "new", second: 90})
			o.Archive = options(t, dir).Archive
			count := &dying{at: -1}
			o.step = count.step
			built(t, o)
			after := treeOf(t, Tree(dir))
			require.False(t, maps.Equal(before, after), "the update changed nothing")
			require.GreaterOrEqualf(t, len(count.steps), 20, "only %d steps: %q", len(count.steps), count.steps)
			seen := map[string]int{}
			for at := range count.steps {
				restore(t, dir, before)
				d := &dying{at: at}
				o.step = d.step
				_, err := Build(context.Background(), o)
				require.Truef(t, err != nil && errors.Is(err, errDead), "step %d: %v", at, err)
				switch tree, err := treeIfAny(t, dir); {
				case err != nil && !(o.twoRenames && d.steps[at] == "rename "+nextDir+" "+treeDir):
					t.Errorf("step %d, %s: no tree", at, d.steps[at])
				case err != nil:
					seen["none"]++
				case maps.Equal(tree, before):
					seen["old"]++
				case maps.Equal(tree, after):
					seen["new"]++
				default:
					t.Errorf("step %d, %s: the tree is neither", at, d.steps[at])
				}
				o.step = nil
				built(t, o)
				mustBeEqual(t, "after step "+d.steps[at], after, treeOf(t, Tree(dir)))
			}
			assert.Truef(t, seen["old"] >= 10 && seen["new"] >= 1 && o.twoRenames == (seen["none"] == 1), "deaths left %v", seen)
		})
	}
}

func treeIfAny(t *testing.T, dir string) (map[string]string, error) {
	if _, err := os.Stat(Tree(dir)); err != nil {
		return nil, err
	}
	return treeOf(t, Tree(dir)), nil
}

func restore(t *testing.T, dir string, tree map[string]string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(Tree(dir)))
	for name, octets := range tree {
		if strings.HasSuffix(name, " at") {
			continue
		}
		path := filepath.Join(Tree(dir), filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(octets), 0o644))
		if at, ok := tree[name+" at"]; ok {
			when := parseTime(t, at)
			require.NoError(t, os.Chtimes(path, when, when))
		}
	}
}

func parseTime(t *testing.T, s string) time.Time {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", s)
	require.NoError(t, err)
	return when
}

func TestABuildThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	o := options(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	o.step = func(what string) error {
		if strings.HasPrefix(what, "create") {
			cancel()
		}
		return nil
	}
	_, err := Build(ctx, o)
	assert.ErrorIsf(t, err, context.Canceled, "a cancelled build: %v", err)
	names, err := filepath.Glob(filepath.Join(dir, "mirror*"))
	require.NoError(t, err)
	assert.Empty(t, names, "it leaves files behind")
}

func TestBuild_KeepsForeignDirectory(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a file":          func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"a symbolic link": func(path string) error { return os.Symlink(t.TempDir(), path) },
		"a directory of somebody": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "thesis.tex"), []byte("mine"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			crawled(t, dir, small()...)
			if err := make(Tree(dir)); err != nil {
				t.Skip(err)
			}
			_, err := Build(t.Context(), options(t, dir))
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "move it away"), "it was replaced: %v", err)
			_, err = os.Lstat(Tree(dir))
			assert.NoError(t, err)
		})
	}
	dir := t.TempDir()
	crawled(t, dir, small()...)
	require.NoError(t, os.Mkdir(Tree(dir), 0o755))
	built(t, options(t, dir)) // an empty directory has no owner
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	crawled(t, dir, small()...)
	o := options(t, dir)
	built(t, o)
	before := treeOf(t, Tree(dir))
	precious := filepath.Join(elsewhere, "precious")
	edit(t, precious, "mine")
	for _, name := range []string{"a.test/i.png", "a.test/index.html"} {
		path := filepath.Join(Tree(dir), filepath.FromSlash(name))
		if err := errors.Join(os.Remove(path), os.Symlink(precious, path)); err != nil {
			t.Skip(err)
		}
	}
	require.NoError(t, errors.Join(os.RemoveAll(filepath.Join(Tree(dir), "a.test", "d")), os.Symlink(elsewhere, filepath.Join(Tree(dir), "a.test", "d"))))
	built(t, o)
	mustBeEqual(t, "built over links", before, treeOf(t, Tree(dir)))
	err := filepath.WalkDir(Tree(dir), func(path string, d fs.DirEntry, err error) error {
		assert.Falsef(t, err == nil && d.Type()&fs.ModeSymlink != 0, "%s is a link", path)
		return err
	})
	names, err2 := os.ReadDir(elsewhere)
	b, _ := os.ReadFile(precious)
	assert.Truef(t, err == nil && err2 == nil && len(names) == 1 && string(b) == "mine", "the targets of links changed: %q, %v, %v", b, err, err2)
}

func TestTwoSegmentsOfOneNameAreRefused(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	crawled(t, a, small()...)
	crawled(t, b, small()...)
	o := options(t, a)
	o.Archive.Segments = slices.Concat(o.Archive.Segments, options(t, b).Archive.Segments)
	_, err := Build(t.Context(), o)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "rename one"), "two segments of one name: %v", err)
}
