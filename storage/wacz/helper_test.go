package wacz

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
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

var began = time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)

type exchange struct {
	url, head, body string // head without the status line and the empty line; empty means HTML
	status          int    // zero means 200
	line            storage.Line
	earlier         bool // another crawl has the same
}

type crawled struct {
	dir   string
	lines []storage.Line
	first map[[32]byte]storage.Original
}

func (c *crawled) Add(e warc.Entry) error {
	if _, ok := c.first[e.Payload]; !ok && e.Repeatable {
		c.first[e.Payload] = storage.Original{URL: e.URL, Date: e.Date, ID: e.ID}
	}
	return nil
}

func (c *crawled) Complete(string) error                    { return nil }
func (c *crawled) Mended(string, string, int64, bool) error { return nil }

func (c *crawled) Original(payload [32]byte) (storage.Original, bool, error) {
	o, ok := c.first[payload]
	return o, ok, nil
}

func crawl(t testing.TB, size int64, all ...exchange) *crawled {
	t.Helper()
	c := &crawled{dir: t.TempDir(), first: map[[32]byte]storage.Original{}}
	w, err := warc.Open(warc.Options{Dir: c.dir, Name: "curtsy", SegmentSize: size, Index: c, Originals: c, Info: warc.Info{Software: "test"}})
	require.NoError(t, err)
	for i, x := range all {
		if x.status == 0 {
			x.status = 200
		}
		if x.head == "" {
			x.head = "Content-Type: text/html; charset=utf-8"
		}
		if x.earlier {
			c.first[sha256.Sum256([]byte(x.body))] = storage.Original{URL: x.url, Date: began.Add(-24 * time.Hour), ID: "urn:uuid:00000000-0000-4000-8000-000000000001"}
		}
		at := began.Add(time.Duration(i) * time.Second)
		head := fmt.Sprintf("HTTP/1.1 %d OK\r\n%s\r\n\r\n", x.status, x.head)
		answer := strings.NewReader(head + x.body)
		l := x.line
		l.Time, l.URL, l.Began = at, x.url, at
		id, err := w.Record(t.Context(), storage.Record{
			URL: x.url, Time: at, Addr: netip.MustParseAddrPort("127.0.0.1:80"), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Response: io.NewSectionReader(answer, 0, answer.Size()), HeadSize: int64(len(head)),
			PayloadDigest: sha256.Sum256([]byte(x.body)), PayloadSize: int64(len(x.body)), HasPayload: true, Repeatable: x.body != "", Line: &l,
		})
		require.NoError(t, err)
		l.Record, l.Blocks, l.Heads = id.ID, id.Blocks, id.Heads
		c.lines = append(c.lines, l)
	}
	require.NoError(t, w.Close())
	return c
}

func (c *crawled) options(t testing.TB) Options {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(c.dir, "*.warc.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	return Options{
		Segments: segments, Software: "curtsy", Version: "0.0.0", TempDir: t.TempDir(),
		Lines: func(yield func(storage.Line, error) bool) {
			for _, l := range c.lines {
				if !yield(l, nil) {
					return
				}
			}
		},
		Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32)),
	}
}

type file struct {
	t      testing.TB
	octets []byte
	zip    *zip.Reader
	Result
}

func packedBy(t testing.TB, o Options) *file {
	t.Helper()
	var b bytes.Buffer
	r, err := Write(context.Background(), &b, o)
	require.NoError(t, err)
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	left, err := os.ReadDir(o.TempDir)
	assert.Truef(t, err == nil && len(left) <= 0, "temporary files are left: %v, %v", left, err)
	return &file{t, b.Bytes(), z, r}
}

func (f *file) read(name string) []byte {
	f.t.Helper()
	r, err := f.zip.Open(name)
	require.NoError(f.t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
	return b
}

func (f *file) entry(name string) *zip.File {
	for _, e := range f.zip.File {
		if e.Name == name {
			return e
		}
	}
	return nil
}

func (f *file) manifest() (m manifest) {
	f.t.Helper()
	require.NoError(f.t, json.Unmarshal(f.read("datapackage.json"), &m))
	return m
}

func (f *file) pages(name string) (all []page) {
	f.t.Helper()
	for i, line := range bytes.Split(bytes.TrimSuffix(f.read(name), []byte("\n")), []byte("\n")) {
		var p page
		if err := json.Unmarshal(line, &p); err != nil {
			f.t.Fatalf("%s line %d: %v", name, i+1, err)
		}
		if i > 0 {
			all = append(all, p)
		}
	}
	return all
}

func small(t testing.TB) *crawled {
	t.Helper()
	return crawl(t, 0,
		exchange{url: "http://bakery.test/robots.txt", head: "Content-Type: text/plain", body: "User-agent: *\nDisallow:\n"},
		exchange{url: "http://bakery.test/", body: "<title>Bread &amp; more</title><p>Rye</p>", line: storage.Line{Kind: "seed"}},
		exchange{url: "http://bakery.test/about", body: "<html><head><title>\n About\tus </title>", line: storage.Line{Kind: "link"}},
		exchange{url: "http://bakery.test/loaf.png", head: "Content-Type: image/png", body: "\x89PNG", line: storage.Line{Kind: "embed"}},
		exchange{url: "http://bakery.test/none", status: 404, body: "<title>Not here</title>"},
		exchange{url: "http://bakery.test/copy", body: "<html><head><title>\n About\tus </title>", line: storage.Line{Kind: "link"}},
	)
}
