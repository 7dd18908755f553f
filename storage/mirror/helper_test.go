package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/scratch"
	"curtsy/storage/warc"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func urlOf(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

var began = time.Date(2026, 3, 4, 5, 6, 7, 890_123_000, time.UTC)

type got struct {
	url    string
	head   string // status line's code and text and fields, each behind "\r\n"; empty: 200 and the type of the name
	body   string
	second int // when; 0: behind the one before
	record func(*storage.Record)
}

func (g got) made(n int) storage.Record {
	if g.head == "" {
		g.head = "200 OK\r\nContent-Type: " + typeOf(g.url)
	}
	if g.second == 0 {
		g.second = n + 1
	}
	text := "HTTP/1.1 " + g.head + "\r\nContent-Length: " + fmt.Sprint(len(g.body)) + "\r\n\r\n"
	r := storage.Record{
		URL: g.url, Time: began.Add(time.Duration(g.second) * time.Second).Add(time.Duration(n) * time.Microsecond),
		Request:  []byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
		Response: io.NewSectionReader(strings.NewReader(text+g.body), 0, int64(len(text)+len(g.body))),
		HeadSize: int64(len(text)), PayloadDigest: sha256.Sum256([]byte(g.body)), PayloadSize: int64(len(g.body)), HasPayload: true,
		Repeatable: strings.HasPrefix(g.head, "200"), Line: &storage.Line{URL: g.url, Decision: "allow", Outcome: "fetched"},
	}
	if g.record != nil {
		g.record(&r)
	}
	return r
}

func typeOf(url string) string {
	switch filepath.Ext(url) {
	case ".css":
		return "text/css"
	case ".png":
		return "image/png"
	case ".js":
		return "text/javascript"
	}
	return "text/html; charset=utf-8"
}

func noArchive(r *storage.Record) {
	r.Line.Directives, r.Truncated, r.Repeatable = "noindex, noarchive", "unspecified", false
	r.Response = io.NewSectionReader(r.Response, 0, r.HeadSize)
}

func truncated(r *storage.Record) { r.Truncated, r.Repeatable = "length", false }

func decided(decision string) func(*storage.Record) {
	return func(r *storage.Record) { r.Line.Decision = storage.Decision(decision) }
}

func crawled(t testing.TB, dir string, all ...got) {
	t.Helper()
	crawledIn(t, dir, 0, all...)
}

func crawledIn(t testing.TB, dir string, segment int64, all ...got) {
	t.Helper()
	s, err := cdxj.Open(t.Context(), dir, cdxj.Options{})
	require.NoError(t, err)
	w, err := warc.Open(warc.Options{Dir: filepath.Join(dir, "warc"), Name: "curtsy", SegmentSize: segment, Index: s, Originals: s})
	require.NoError(t, err)
	for n, g := range all {
		_, err := w.Record(t.Context(), g.made(n))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, s.Close())
}

func writeLedger(t testing.TB, dir string, lines ...storage.Line) {
	t.Helper()
	w, err := ledger.Open(ledger.Options{Dir: filepath.Join(dir, "ledger")})
	require.NoError(t, err)
	for _, l := range lines {
		if l.Time.IsZero() {
			l.Time = began
		}
		require.NoError(t, w.Append(t.Context(), l))
	}
	require.NoError(t, w.Close())
}

func options(t testing.TB, dir string) Options {
	t.Helper()
	a, err := CrawlArchive(dir)
	require.NoError(t, err)
	return Options{Archive: a, Dir: dir, hasty: true}
}

func built(t testing.TB, o Options) Summary {
	t.Helper()
	s, err := Build(t.Context(), o)
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(o.Dir, "mirror.*"))
	require.NoError(t, err)
	assert.Empty(t, left, "a build leaves files behind")
	return s
}

func treeOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if name := filepath.ToSlash(rel); !slices.Contains(layout.Reserved, name) {
			all[name+" at"] = fi.ModTime().UTC().String()
		}
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	require.NoError(t, err)
	return all
}

func mustBeEqual(t testing.TB, what string, a, b map[string]string) {
	t.Helper()
	for name, octets := range a {
		assert.Truef(t, b[name] == octets, "%s: %s is\n%.2000s\nand\n%.2000s", what, name, octets, b[name])
	}
	for name := range b {
		_, ok := a[name]
		assert.Truef(t, ok, "%s: %s is new", what, name)
	}
}

func filesOf(tree map[string]string) (names []string) {
	for name := range tree {
		if !strings.HasSuffix(name, " at") && !slices.Contains(layout.Reserved, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func missingOf(t testing.TB, dir string) map[string]Missing {
	t.Helper()
	all := map[string]Missing{}
	last := ""
	for m, err := range MissingLines(Tree(dir)) {
		require.NoError(t, err)
		assert.Greater(t, m.URL, last, "the order of missing files")
		all[m.URL], last = m, m.URL
	}
	return all
}

func mapOf(t testing.TB, dir string) map[string]Entry {
	t.Helper()
	all := map[string]Entry{}
	last := ""
	for e, err := range Map(Tree(dir)) {
		require.NoError(t, err)
		assert.Greater(t, e.URL, last, "the order of the map")
		all[e.URL], last = e, e.URL
	}
	return all
}

func brokenOf(t testing.TB, dir string) (wrong, other []Broken) {
	t.Helper()
	for b, err := range Check(t.Context(), Tree(dir)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case b.Wrong:
			wrong = append(wrong, b)
		default:
			other = append(other, b)
		}
	}
	return wrong, other
}
