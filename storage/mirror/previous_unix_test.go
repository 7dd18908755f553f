//go:build unix

package mirror

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPipesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, small()...)
	o := options(t, dir)
	built(t, o)
	before := treeOf(t, Tree(dir))
	pipe := func(name string) {
		t.Helper()
		path := filepath.Join(Tree(dir), name)
		if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
			t.Skip(err)
		}
	}
	pipe("a.test/i.png")
	pipe("a.test/index.html")
	if wrong, _ := brokenOf(t, dir); len(wrong) < 2 {
		t.Errorf("a check finds %v", wrong)
	}
	built(t, o)
	mustBeEqual(t, "built over pipes", before, treeOf(t, Tree(dir)))
	pipe(MissingFile)
	for _, err := range MissingLines(Tree(dir)) {
		if err == nil || !strings.Contains(err.Error(), "it is a named pipe") {
			t.Errorf("a list that is a pipe: %v", err)
		}
	}
	pipe(MapFile)
	for _, err := range Map(Tree(dir)) {
		if err == nil || !strings.Contains(err.Error(), "it is a named pipe") {
			t.Errorf("a map that is a pipe: %v", err)
		}
	}
	if _, err := Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a build over a map that is a pipe: %v", err)
	}
}
