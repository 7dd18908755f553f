package warc

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// gunzip decompresses with the standard library, as one stream of many members.
func gunzip(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	b, err = io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b
}

// members compresses each text as one member.
func members(texts ...string) []byte {
	var b bytes.Buffer
	for _, s := range texts {
		z := gzip.NewWriter(&b)
		io.WriteString(z, s) // a bytes.Buffer never fails
		z.Close()
	}
	return b.Bytes()
}

// noise is n octets that do not compress, always the same.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
