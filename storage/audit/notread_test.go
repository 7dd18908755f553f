package audit

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIsWARC_ByItsBeginning(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte("WARC/1.1\r\nContent-Length: x\r\n"))
	require.NoError(t, err)
	require.NoError(t, z.Flush())
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"only the version", "WARC/", true},
		{"a wrong length", "WARC/1.1\r\nContent-Length: x\r\n", true},
		{"a member of gzip that is cut", b.String(), true},
		{"a record behind a text", "See:\n\nWARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n", false},
		{"nothing", "", false},
	} {
		path := filepath.Join(t.TempDir(), "x.bin")
		require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
		assert.Equal(t, tt.want, isWARC(path), tt.name)
	}
}
