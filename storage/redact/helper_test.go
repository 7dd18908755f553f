package redact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/scratch"
	"curtsy/storage/warc"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

type page struct {
	url, body string
	decision  storage.Decision // allow by default
	via       string           // the first page by default; none for robots.txt
}

// secret is a text that only the body of one page has.
func secret(url string) string {
	sum := sha256.Sum256([]byte(url))
	return "secret-" + hex.EncodeToString(sum[:12])
}

// shop is a crawl of three hosts: pages, robots.txt, one page that repeats another, and refusals.
func shop() (pages []page, refused []string) { return shopOf(6) }

func shopOf(n int) (pages []page, refused []string) {
	for _, host := range []string{"a.test", "b.test", "sub.a.test"} {
		pages = append(pages, page{url: "http://" + host + "/robots.txt", body: "User-agent: *\nDisallow: /no/\n# " + host, decision: storage.DecisionRobots})
		for i := range n {
			url := fmt.Sprintf("http://%s/%s/%d", host, []string{"x", "y"}[i%2], i)
			pages = append(pages, page{url: url, body: "<p>" + secret(url) + strings.Repeat(" text", 50)})
		}
		refused = append(refused, "http://"+host+"/no/1", "http://"+host+"/no/2")
	}
	pages = append(pages, page{url: "http://b.test/same", body: pages[1].body})
	return pages, refused
}

func signer(t testing.TB) *checkpoint.Signer {
	t.Helper()
	s, err := checkpoint.NewSigner(bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	return s
}

func crawled(t testing.TB, pages []page, refused []string) string {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	l, err := ledger.Open(ledger.Options{Dir: filepath.Join(dir, ledgerDir), SegmentSize: 3000, Signer: signer(t), Software: "curtsy/0"})
	require.NoError(t, err)
	require.NoError(t, l.Begin(ctx))
	finished := func(folder string) func(string, int64, [32]byte) error {
		return func(name string, octets int64, sum [32]byte) error {
			return errors.Join(l.File(ctx, folder+"/"+name, octets, hex.EncodeToString(sum[:])), l.Sync(ctx))
		}
	}
	index, err := cdxj.Open(ctx, dir, cdxj.Options{Finished: finished(indexDir)})
	require.NoError(t, err)
	archive, err := warc.Open(warc.Options{Dir: filepath.Join(dir, archiveDir), Name: "curtsy", SegmentSize: 6000,
		Info: warc.Info{Software: "curtsy/0"}, Index: index, Originals: index, Finished: finished(archiveDir)})
	require.NoError(t, err)
	at := time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)
	for i, p := range pages {
		at = at.Add(time.Second)
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n", len(p.body))
		line := storage.Line{Time: at, URL: p.url, Via: pages[0].url, Kind: storage.KindLink, Attempt: 1, Status: 200,
			Decision: storage.DecisionAllow, Outcome: "fetched", Began: at, Took: time.Millisecond}
		if p.decision != "" {
			line.Decision, line.Via = p.decision, p.via
		}
		rec := storage.Record{URL: p.url, Time: at, Addr: netip.MustParseAddrPort("192.0.2.1:80"),
			Request:  []byte("GET / HTTP/1.1\r\nHost: test\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(head+p.body), 0, int64(len(head)+len(p.body))), HeadSize: int64(len(head)),
			PayloadDigest: sha256.Sum256([]byte(p.body)), PayloadSize: int64(len(p.body)), HasPayload: true,
			Repeatable: p.decision == "", Line: &line,
			Outlinks: []storage.Outlink{{URL: pages[(i+1)%len(pages)].url, Kind: storage.KindLink}}}
		got, err := archive.Record(ctx, rec)
		require.NoError(t, err)
		line.Record, line.Blocks, line.Heads = got.ID, got.Blocks, got.Heads
		require.NoError(t, l.Append(ctx, line))
		if i < len(refused) {
			r := storage.Line{Time: at, URL: refused[i], Decision: storage.DecisionDisallow, Outcome: "disallowed"}
			if strings.Contains(refused[i], "/r") { // an opt-out kept a redirect of b.test's robots.txt from being followed
				r = storage.Line{Time: at, URL: refused[i], Decision: storage.DecisionRobots, Reason: "opt-out", Via: "http://b.test/robots.txt"}
			}
			require.NoError(t, archive.Refuse(ctx, r))
			require.NoError(t, l.Append(ctx, r))
		}
	}
	require.NoError(t, archive.Close())
	require.NoError(t, index.Close())
	require.NoError(t, l.Close())
	return dir
}

func crawledShop(t testing.TB) string {
	t.Helper()
	pages, refused := shop()
	return crawled(t, pages, refused)
}

func subject(prefix string) Subject {
	return Subject{Text: prefix, Covers: func(url string) bool { return strings.HasPrefix(url, prefix) }}
}

// site is all of a prefix, and of a host if whole is set.
func site(prefix string, whole bool) Subject {
	s := subject(prefix)
	s.Host = whole
	return s
}

func files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	require.NoError(t, err)
	return all
}

func unfolded(t testing.TB, name string, b []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(b)
	var err error
	switch {
	case strings.HasSuffix(name, ".gz"):
		r, err = gzip.NewReader(r)
	case strings.HasSuffix(name, ".s2"):
		r = s2.NewReader(r)
	case strings.HasSuffix(name, ".zst"):
		var z *zstd.Decoder
		z, err = zstd.NewReader(r)
		r = z
	}
	if err == nil {
		b, err = io.ReadAll(r)
	}
	require.NoError(t, err, name)
	return b
}

func holding(t testing.TB, dir, text string) (names []string) {
	t.Helper()
	for name, b := range files(t, dir) {
		if bytes.Contains(unfolded(t, name, b), []byte(text)) || strings.Contains(name, text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type member struct {
	*warc.Record
	raw, block []byte
}

func members(t testing.TB, dir string) (all []member) {
	t.Helper()
	names, err := segments(dir)
	require.NoError(t, err)
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, archiveDir, name))
		require.NoError(t, err)
		rd := warc.NewReader(bytes.NewReader(b))
		for {
			rec, err := rd.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err, name)
			block, err := io.ReadAll(rec.Block)
			require.NoError(t, err, name)
			end, err := rd.End()
			require.NoError(t, err, name)
			all = append(all, member{rec, b[rec.Offset:end], block})
		}
	}
	return all
}

func entries(t testing.TB, dir string) (all []ledger.Entry) {
	t.Helper()
	for e, err := range ledger.Scan(filepath.Join(dir, ledgerDir)) {
		require.NoError(t, err)
		require.Nil(t, e.Problem, "the ledger")
		e.Text = bytes.Clone(e.Text)
		all = append(all, e)
	}
	return all
}

func entriesWhere(t testing.TB, dir string, is func(e ledger.Entry) bool) []ledger.Entry {
	t.Helper()
	return slices.DeleteFunc(entries(t, dir), func(e ledger.Entry) bool { return !is(e) })
}

func sound(t *testing.T, dir string) {
	t.Helper()
	names, err := segments(dir)
	require.NoError(t, err)
	c := warc.NewChecker()
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, archiveDir, name))
		require.NoError(t, err)
		_, err = c.File(f, func(f warc.Finding) {
			assert.Truef(t, f.Note(), "%s: %s", name, f)
		})
		f.Close()
		require.NoError(t, err)
		var want bytes.Buffer
		require.NoError(t, cdxj.Index(t.Context(), &want, func(_ string, f warc.Finding) { t.Errorf("index of %s: %s", name, f) }, filepath.Join(dir, archiveDir, name)))
		got, err := os.ReadFile(filepath.Join(dir, indexDir, strings.TrimSuffix(name, segmentSuffix)+indexSuffix))
		require.NoError(t, err)
		assert.Equalf(t, want.String(), string(got), "the index of %s is not of it", name)
	}
	c.Finish(func(file int, f warc.Finding) {
		assert.Truef(t, f.Note(), "%s: %s", names[file], f)
	})
	marks, err := Marks(t.Context(), dir)
	require.NoError(t, err)
	for _, e := range entries(t, dir) {
		if e.Mark == nil || e.Mark.Kind != ledger.KindFile {
			continue
		}
		_, is, err := durable.Digest(t.Context(), filepath.Join(dir, filepath.FromSlash(e.Mark.Name)))
		if want := latestDigest(marks, e.Mark.Name, e.Mark.SHA256); err != nil || hex.EncodeToString(is[:]) != want {
			t.Errorf("%s is %x, and the marks have %s: %v", e.Mark.Name, is, want, err)
		}
	}
}

func forget(t *testing.T, r Request) *Journal {
	t.Helper()
	j, err := Prepare(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, j.Finish(t.Context(), r.Dir, hands(t, r.Dir)))
	return j
}

func hands(t testing.TB, dir string) Hands {
	return Hands{Ledger: func() (*ledger.Writer, error) {
		return ledger.Open(ledger.Options{Dir: filepath.Join(dir, ledgerDir), Signer: signer(t), Software: "curtsy/0"})
	}}
}

// latestDigest returns the present digest of a file whose mark states another, by all redactions that rewrote it; the
// mark's if there were none.
func latestDigest(r *Redactions, name, sha256 string) string {
	next := map[string]string{}
	for _, t := range r.All {
		for _, f := range t.Files {
			if f.Name == name {
				next[f.Before] = f.SHA256
			}
		}
	}
	for range len(next) {
		if to, ok := next[sha256]; ok {
			sha256 = to
		}
	}
	return sha256
}
