package prune_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/crawler/extract/prune"
)

// No page of the documentation that Debian's packages bring is accused, but for examples of a library that draws: their
// charts are nowhere else. CURTSY_HTML names another folder, whose pages are
// told with -v: there a page may be a shell.
func TestPagesOfDebiansPackagesAreNotAccused(t *testing.T) {
	root := os.Getenv("CURTSY_HTML")
	mine := root != ""
	if !mine {
		root = "/usr/share/doc"
	}
	pages, accused := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".html") {
			return nil //nolint:nilerr // what cannot be read is not of interest
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) > 512<<10 {
			return nil //nolint:nilerr // likewise
		}
		pages++
		if prune.NeedsScript(string(b)) {
			if accused++; mine || strings.Contains(path, "/libjs-rickshaw/examples/") {
				t.Logf("empty without JavaScript: %s", path)
			} else {
				t.Errorf("%s is accused", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages == 0 && !mine {
		t.Skip("no package with pages is installed")
	}
	t.Logf("%d pages, %d empty without JavaScript", pages, accused)
}
