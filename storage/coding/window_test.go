package coding

import (
	"bytes"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWindow_ReadsTheStream(t *testing.T) {
	for bits := 10; bits <= 24; bits++ {
		var b bytes.Buffer
		w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 5, LGWin: bits})
		_, err := w.Write([]byte(strings.Repeat("bread and butter ", 10_000)))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		got := Window([]string{"br"}, b.Bytes()[0])
		assert.Truef(t, got == 1<<bits, "a window of %d bits is taken for one of %d octets", bits, got)
	}
	for _, c := range []struct {
		undo string
		want int64
	}{{"gzip", 32 << 10}, {"zstd", 8 << 20}, {"gzip deflate", 64 << 10}, {"br gzip", 16<<20 + 32<<10}, {"br br br br", 64 << 20}} {
		assert.Equal(t, c.want, Window(strings.Fields(c.undo), 0), c.undo)
	}
}
