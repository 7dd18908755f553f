package crawltest_test

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
)

func TestBombs(t *testing.T) {
	size := 3 * crawltest.BombBlock
	if !testing.Short() {
		size = 1 << 30
	}
	zipped, err := crawltest.GzipBomb(size)
	require.NoError(t, err)
	for _, tc := range []struct {
		name   string
		body   string
		size   int
		decode func(io.Reader) (io.Reader, error)
	}{
		{"gzip", string(zipped), size, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"zstd", crawltest.ZstdBomb(size, crawltest.UsualWindow), size, func(r io.Reader) (io.Reader, error) {
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		}},
		{"br", crawltest.BrotliBomb, crawltest.BrotliBombSize, func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.LessOrEqual(t, len(tc.body), 2<<20, "bytes on the wire")
			if testing.Short() && tc.size > size {
				t.Skip("it goes off in the long run")
			}
			r, err := tc.decode(strings.NewReader(tc.body))
			require.NoError(t, err)
			if n, err := io.Copy(io.Discard, r); n != int64(tc.size) || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}
