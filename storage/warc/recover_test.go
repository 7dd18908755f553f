package warc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func threeExchanges(t testing.TB) (segment []byte, ends []int64) {
	t.Helper()
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	write(t, w, simple(1), record("http://a.test/silent", "GET /silent HTTP/1.1\r\n\r\n", "", 0), simple(2))
	closing(t, w)
	path := filepath.Join(dir, "crawl-00000.warc.gz")
	es := read(t, path) // warcinfo, request, response, request, request, response
	segment, err := os.ReadFile(path)
	require.NoError(t, err)
	return segment, []int64{0, es[2].end, es[3].end, es[5].end}
}

func leave(t testing.TB, b []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crawl-00000.warc.gz.open"), b, 0o644))
	return dir
}

func TestReopen(t *testing.T) {
	segment, ends := threeExchanges(t)
	total := ends[3]
	for name, c := range map[string]struct{ size, keep int64 }{
		"before the first octet":    {0, 0},
		"within warcinfo":           {40, 0},
		"between records":           {ends[1] - 1, 0},
		"one exchange":              {ends[1], ends[1]},
		"within a request":          {ends[1] + 5, ends[1]},
		"without an answer":         {ends[2], ends[2]},
		"within a gzip header":      {ends[2] + 3, ends[2]},
		"within a response":         {total - 40, ends[2]},
		"within the last checksum":  {total - 8, ends[2]},
		"before the last octet":     {total - 1, ends[2]},
		"whole, but not yet closed": {total, total},
	} {
		t.Run(name, func(t *testing.T) {
			dir := leave(t, segment[:c.size])
			for _, base := range []string{"crawl.123.spool", "crawl.x.spool", "other.1.spool", "other-00007.warc.gz.open", "crawl-7.warc.gz.open"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, base), nil, 0o644))
			}
			w := open(t, Options{Dir: dir})
			want := []string{"crawl-00000.warc.gz"}
			if c.keep == 0 {
				want = nil
			}
			foreign := []string{"crawl-7.warc.gz.open", "crawl.x.spool", "other-00007.warc.gz.open", "other.1.spool"}
			equal(t, "files", ls(t, dir), append(want, foreign...))
			path := filepath.Join(dir, "crawl-00000.warc.gz")
			if c.keep > 0 {
				b, err := os.ReadFile(path)
				require.Truef(t, err == nil && bytes.Equal(b, segment[:c.keep]), "kept %d octets, want the first %d (%v)", len(b), c.keep, err)
				gunzip(t, path)
			}
			file, n := w.Cut()
			assert.Truef(t, n == c.size-c.keep && (file == path) == (n > 0), "Cut returns %q, %d; want %d", file, n, c.size-c.keep)
			write(t, w, simple(3))
			closing(t, w)
			equal(t, "files", ls(t, dir), append(append(want, "crawl-00001.warc.gz"), foreign...))
			assert.Len(t, read(t, filepath.Join(dir, "crawl-00001.warc.gz")), 3, "records after the cut")
		})
	}
}

func TestDamageIsKept(t *testing.T) {
	segment, ends := threeExchanges(t)
	for name, spoil := range map[string]func([]byte) []byte{
		"a flipped bit":   func(b []byte) []byte { b[ends[1]+60] ^= 4; return b },
		"zeros":           func(b []byte) []byte { clear(b[ends[1]:]); return b },
		"foreign octets":  func(b []byte) []byte { return append(b[:ends[1]], "not gzip at all"...) },
		"not a record":    func(b []byte) []byte { return append(b[:ends[1]], members("HTTP/1.1 200 OK\r\n\r\n")...) },
		"a record in two": func(b []byte) []byte { return append(b[:ends[1]], members("WARC/1.1\r\n", "\r\n")...) },
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := spoil(slices.Clone(segment))
			dir := leave(t, slices.Clone(spoilt))
			w := open(t, Options{Dir: dir})
			defer w.Close()
			equal(t, "files", ls(t, dir), []string{"crawl-00000.warc.gz", "crawl-00000.warc.gz.cut"})
			kept, err := os.ReadFile(filepath.Join(dir, "crawl-00000.warc.gz"))
			assert.Truef(t, err == nil && bytes.Equal(kept, spoilt[:ends[1]]), "kept %d octets, want %d (%v)", len(kept), ends[1], err)
			tail, err := os.ReadFile(filepath.Join(dir, "crawl-00000.warc.gz.cut"))
			assert.Truef(t, err == nil && bytes.Equal(tail, spoilt[ends[1]:]), "put %d octets aside, want %d (%v)", len(tail), len(spoilt)-int(ends[1]), err)
		})
	}
	t.Run("from the beginning", func(t *testing.T) {
		dir := leave(t, []byte("not gzip at all"))
		w := open(t, Options{Dir: dir})
		equal(t, "files", ls(t, dir), []string{"crawl-00000.warc.gz.cut"})
		write(t, w, simple(1))
		closing(t, w)
		w = open(t, Options{Dir: dir})
		defer w.Close()
		equal(t, "files", ls(t, dir), []string{"crawl-00000.warc.gz.cut", "crawl-00001.warc.gz"})
	})
}

func TestReadErrorCutsNothing(t *testing.T) {
	segment, ends := threeExchanges(t)
	broken := errors.New("input/output error")
	for _, n := range []int64{0, 5, ends[1], ends[1] + 30} {
		_, _, err := whole(io.MultiReader(bytes.NewReader(segment[:n]), failing{broken}))
		assert.ErrorIsf(t, err, broken, "after %d octets", n)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestNothingIsOverwritten(t *testing.T) {
	segment, _ := threeExchanges(t)
	dir := leave(t, segment)
	path := filepath.Join(dir, "crawl-00000.warc.gz")
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o644))
	_, err := Open(Options{Dir: dir, Name: "crawl"})
	require.Error(t, err, "opened")
	b, err := os.ReadFile(path)
	assert.Truef(t, err == nil && string(b) == "precious", "now holds %q, %v", b, err)
}
