package tree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
)

func TestTiles_DoNotFollowLinks(t *testing.T) {
	for _, at := range []string{tileFolder, filepath.Join(tileFolder, "0")} {
		dir, outside := t.TempDir(), t.TempDir()
		tiles, err := NewTiles(dir)
		require.NoError(t, err)
		var g Growing
		for i := range 3 {
			h := tlog.RecordHash([]byte{byte(i)})
			g.Append(h)
			require.NoError(t, tiles.Append(h))
		}
		require.NoError(t, tiles.Flush())
		require.NoError(t, os.Rename(filepath.Join(dir, at), filepath.Join(outside, "x")))
		if err := os.Symlink(filepath.Join(outside, "x"), filepath.Join(dir, at)); err != nil {
			t.Skip(err)
		}
		require.NoError(t, tiles.Append(tlog.RecordHash(nil)))
		assert.Errorf(t, tiles.Flush(), "%s: written behind a link", at)
		if _, err := OpenTiles(dir, 3, g.Root()); !errors.Is(err, ErrTiles) {
			t.Errorf("%s: gone on with: %v", at, err)
		}
		if _, err := NewTiles(dir); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(outside, "x", "*")); err != nil || len(left) == 0 {
			t.Errorf("%s: a file outside was removed: %v, %v", at, left, err)
		}
	}
}
