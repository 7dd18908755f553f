package leaks

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The secrets; none appears anywhere by chance.
const (
	user     = "jo"
	password = "Tr0ub4dor&3-zebra"
	token    = "k3y-0f-th3-0perat0r-x91"
	session  = "s3ss10n-77c1f0aa"
)

// forms are the spellings of the secrets.
func forms() (all []string) {
	for _, s := range []string{password, user + ":" + password, token, session} {
		all = append(all, s, url.QueryEscape(s), hex.EncodeToString([]byte(s)), strings.ReplaceAll(s, "&", "&amp;"), strings.ReplaceAll(s, "&", `\u0026`),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="), strings.Trim(fmt.Sprint([]byte(s)), "[]"))
	}
	return all
}

// leaked returns a secret in b, or in the content packed in b; "" for none.
func leaked(b []byte, depth int) string {
	for _, form := range forms() {
		if at := bytes.Index(b, []byte(form)); at >= 0 {
			return fmt.Sprintf("%q, in %q", form, b[max(0, at-80):min(len(b), at+len(form)+20)])
		}
	}
	if depth == 0 {
		return ""
	}
	for _, part := range unpacked(b) {
		if found := leaked(part, depth-1); found != "" {
			return found
		}
	}
	return ""
}

func unpacked(b []byte) (parts [][]byte) {
	take := func(r io.Reader, err error) {
		if err == nil {
			part, _ := io.ReadAll(io.LimitReader(r, 64<<20))
			parts = append(parts, part)
		}
	}
	switch {
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		take(gzip.NewReader(bytes.NewReader(b)))
	case bytes.HasPrefix(b, []byte("\x28\xb5\x2f\xfd")):
		take(zstd.NewReader(bytes.NewReader(b)))
	case bytes.HasPrefix(b, []byte("\xff\x06\x00\x00S2sTwO")):
		take(s2.NewReader(bytes.NewReader(b)), nil)
	case bytes.HasPrefix(b, []byte("PK")):
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil
		}
		for _, f := range z.File {
			take(f.Open())
		}
	}
	return parts
}

func has(b []byte, mark string, depth int) bool {
	if bytes.Contains(b, []byte(mark)) {
		return true
	}
	for _, part := range unpacked(b) {
		if depth > 0 && has(part, mark, depth-1) {
			return true
		}
	}
	return false
}

// below returns the content of all files below a folder, with their paths.
func below(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "\n%s\n", path)
		b.Write(content)
		for _, part := range unpacked(content) {
			b.Write(part)
			for _, inner := range unpacked(part) {
				b.Write(inner)
			}
		}
		return err
	})
	require.NoError(t, err)
	return b.Bytes()
}

// The search finds each secret; otherwise the other tests prove nothing.
func TestTheSearchFindsSecretsWhereverTheyArePacked(t *testing.T) {
	pack := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
		"s2":   func(w io.Writer) io.WriteCloser { return s2.NewWriter(w) },
	}
	for _, form := range forms() {
		assert.NotEmptyf(t, leaked([]byte("x"+form+"y"), 2), "%q is not found", form)
	}
	for name, by := range pack {
		var packed, zipped bytes.Buffer
		w := by(&packed)
		_, _ = io.WriteString(w, strings.Repeat("a page ", 1000)+password)
		require.NoError(t, w.Close())
		z := zip.NewWriter(&zipped)
		f, err := z.Create("x")
		if err == nil {
			_, err = f.Write(packed.Bytes())
		}
		if err == nil {
			err = z.Close()
		}
		require.NoError(t, err)
		if leaked(packed.Bytes(), 2) == "" || leaked(zipped.Bytes(), 2) == "" || leaked([]byte("nothing"), 2) != "" {
			t.Errorf("%s: not found", name)
		}
	}
}
