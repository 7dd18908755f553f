package tree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// A ledger may come from somebody else: what is written for it never lands behind a link that was put into it.
func TestTilesAreNotWrittenBehindALink(t *testing.T) {
	for _, at := range []string{tileFolder, filepath.Join(tileFolder, "0")} {
		dir, outside := t.TempDir(), t.TempDir()
		tiles, err := NewTiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		var g Growing
		for i := range 3 {
			h := tlog.RecordHash([]byte{byte(i)})
			g.Append(h)
			if err := tiles.Append(h); err != nil {
				t.Fatal(err)
			}
		}
		if err := tiles.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, at), filepath.Join(outside, "x")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, "x"), filepath.Join(dir, at)); err != nil {
			t.Skip(err)
		}
		if err := tiles.Append(tlog.RecordHash(nil)); err != nil {
			t.Fatal(err)
		}
		if err := tiles.Flush(); err == nil {
			t.Errorf("%s: written behind a link", at)
		}
		if _, err := OpenTiles(dir, 3, g.Root()); !errors.Is(err, ErrTiles) {
			t.Errorf("%s: gone on with: %v", at, err)
		}
		if _, err := NewTiles(dir); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(outside, "x", "*")); err != nil || len(left) == 0 {
			t.Errorf("%s: what is outside was removed: %v, %v", at, left, err)
		}
	}
}
