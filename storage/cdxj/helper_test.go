package cdxj

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/scratch"
	"curtsy/storage/warc"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

var began = time.Date(2026, 3, 4, 5, 6, 7, 890_123_000, time.UTC)

func answer(second int, url, head, body string) storage.Record {
	text := "HTTP/1.1 " + head + "\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n\r\n"
	r := storage.Record{
		URL: url, Time: began.Add(time.Duration(second) * time.Second),
		Request:  []byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
		Response: io.NewSectionReader(bytes.NewReader([]byte(text+body)), 0, int64(len(text)+len(body))),
		HeadSize: int64(len(text)), PayloadDigest: sha256.Sum256([]byte(body)), PayloadSize: int64(len(body)), HasPayload: true,
		Repeatable: true,
	}
	return r
}

func page(second int, url, body string) storage.Record {
	return answer(second, url, "200 OK\r\nContent-Type: text/html; charset=utf-8", body)
}

type crawl struct {
	dir   string
	store *Store
	warc  *warc.Writer
}

func crawling(t testing.TB, dir string, segment int64, earlier ...string) *crawl {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{Earlier: earlier})
	require.NoError(t, err)
	w, err := warc.Open(warc.Options{Dir: filepath.Join(dir, warcDir), Name: "curtsy", SegmentSize: segment, Index: s, Originals: s})
	require.NoError(t, err)
	return &crawl{dir, s, w}
}

func (c *crawl) record(t testing.TB, rs ...storage.Record) {
	t.Helper()
	for _, r := range rs {
		_, err := c.warc.Record(t.Context(), r)
		require.NoError(t, err)
	}
}

func (c *crawl) close(t testing.TB) {
	t.Helper()
	require.NoError(t, c.warc.Close())
	require.NoError(t, c.store.Close())
}

func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	paths, err := Files(filepath.Join(dir, indexDir))
	require.NoError(t, err)
	all := map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		all[filepath.Base(path)] = string(b)
	}
	return all
}

func rebuilt(t testing.TB, dir string) map[string]string {
	t.Helper()
	into := t.TempDir()
	require.NoError(t, Rebuild(context.Background(), filepath.Join(dir, warcDir), filepath.Join(into, indexDir), nil))
	return contents(t, into)
}

func captures(t testing.TB, dir, url string) (ls []Line) {
	t.Helper()
	paths, err := Files(filepath.Join(dir, indexDir))
	require.NoError(t, err)
	for l, err := range Lookup(paths, url) {
		require.NoError(t, err)
		ls = append(ls, l)
	}
	return ls
}

func readerOf(s string) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader([]byte(s)), 0, int64(len(s)))
}

func digestOf(body string) [32]byte { return sha256.Sum256([]byte(body)) }

func mustReferToWhatIsThere(t testing.TB, dir string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, warcDir, "*"+warcSuffix))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, path := range segments {
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		rd := warc.NewReader(f)
		for rec, err := rd.Next(); err != io.EOF; rec, err = rd.Next() {
			require.NoError(t, err)
			if rec.Type == "response" {
				seen[rec.ID()] = true
			}
			id := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>")
			assert.Falsef(t, id != "" && id != "urn:uuid:0" && !seen[id], "%s: %s refers to %s, which is not there", path, rec.TargetURI(), id)
		}
	}
}
