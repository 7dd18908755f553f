package prune_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/extract/prune"
	"curtsy/crawler/foreigntest"
)

func TestNeedsScript_DebianManuals(t *testing.T) {
	for pkg, folder := range map[string]string{"python3-doc": "doc/python3/html", "installation-guide-amd64": "doc/installation-guide-amd64"} {
		t.Run(pkg, func(t *testing.T) {
			pages := 0
			err := filepath.WalkDir(foreigntest.Corpus(t, folder, pkg), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".html") {
					return err
				}
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				if pages++; prune.NeedsScript(string(b)) {
					t.Errorf("%s is accused", path)
				}
				return nil
			})
			require.NoError(t, err)
			require.NotEqualf(t, 0, pages, "%d pages: %v", pages, err)
		})
	}
}
