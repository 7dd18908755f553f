package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// A mirror is not replaced by that of an archive without answers.
func TestRebuildFromNothingLeavesTheMirror(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, page := filepath.Join(dir, "empty.warc"), filepath.Join(dir, "out", "mirror", "index.html")
	if err := os.MkdirAll(filepath.Dir(page), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{empty: "", page: "<p>", filepath.Join(filepath.Dir(page), "mirror-map.jsonl"): ""} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := inside(t, "mirror", "rebuild", "-o", filepath.Join(dir, "out"), empty)
	if r.code != cli.ExitFailed || !strings.Contains(r.err, "nothing is archived in "+empty) {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(page); err != nil || string(b) != "<p>" {
		t.Errorf("the mirror before: %q, %v", b, err)
	}
}
