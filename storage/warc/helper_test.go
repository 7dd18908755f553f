package warc

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// gunzip decompresses all members with the standard library.
func gunzip(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err, path)
	b, err = io.ReadAll(z)
	require.NoError(t, err, path)
	return b
}

func members(texts ...string) []byte {
	var b bytes.Buffer
	for _, s := range texts {
		z := gzip.NewWriter(&b)
		io.WriteString(z, s) // a bytes.Buffer never fails
		z.Close()
	}
	return b.Bytes()
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, b, 0o600))
}
