package crawldir

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// everything returns the contents of a folder's files by path, compressed ones also decompressed.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		var r io.Reader
		switch {
		case strings.HasSuffix(path, ".gz"):
			r, err = gzip.NewReader(bytes.NewReader(b))
		case strings.HasSuffix(path, ".zst"):
			r, err = zstd.NewReader(bytes.NewReader(b))
		default:
			return err
		}
		if err != nil {
			return err
		}
		plain, err := io.ReadAll(r)
		all[path+" (decompressed)"] = string(plain)
		return err
	})
	require.NoError(t, err)
	return all
}
