package warc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/spool"
)

var page = time.Date(2026, 3, 4, 5, 6, 7, 89_012_345, time.FixedZone("", 3600))

func record(url, request, wire string, n int) storage.Record {
	r := storage.Record{
		URL: url, Time: page, Addr: netip.MustParseAddrPort("192.0.2.7:80"), Request: []byte(request),
	}
	if wire != "" {
		r.Response = io.NewSectionReader(strings.NewReader(wire), 0, int64(len(wire)))
		r.PayloadDigest, r.HasPayload = sha256.Sum256([]byte(wire[len(wire)-n:])), true
	}
	return r
}

func simple(i int) storage.Record {
	return record(fmt.Sprintf("http://a.test/%d", i), fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a.test\r\n\r\n", i),
		fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%04d", i), 4)
}

func open(t testing.TB, o Options) *Writer {
	t.Helper()
	if o.Name == "" {
		o.Name = "crawl"
	}
	w, err := Open(o)
	require.NoError(t, err)
	var mu sync.Mutex
	var n uint64
	w.newID = func() (id uuid.UUID) {
		mu.Lock()
		defer mu.Unlock()
		n++
		binary.BigEndian.PutUint64(id[8:], n)
		return id
	}
	w.seg = w.newSegment(w.seg.number)
	return w
}

func write(t testing.TB, w *Writer, rs ...storage.Record) (ids []string) {
	t.Helper()
	for _, r := range rs {
		id, err := w.Record(t.Context(), r)
		require.NoError(t, err)
		ids = append(ids, id.ID)
	}
	return ids
}

func closing(t testing.TB, w *Writer) {
	t.Helper()
	require.NoError(t, w.Close())
}

func ls(t testing.TB, dir string) (names []string) {
	t.Helper()
	es, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range es {
		names = append(names, e.Name())
	}
	return names
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	require.Truef(t, slices.Equal(got, want), "%s:\n got %q\nwant %q", what, got, want)
}

type entry struct {
	*Record
	block []byte
	end   int64
}

func read(t testing.TB, path string) (es []entry) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	rd, at := NewReader(bytes.NewReader(b)), int64(0)
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		block, err := io.ReadAll(rec.Block)
		require.NoError(t, err)
		end, err := rd.End()
		require.NoError(t, err)
		if rec.Offset != at || end <= at || int64(len(block)) != rec.Length {
			t.Fatalf("record at %d–%d with %d octets; want it at %d with %d", rec.Offset, end, len(block), at, rec.Length)
		}
		got, want := rec.Fields.Get("WARC-Block-Digest"), labelled(block)
		require.Truef(t, got == want, "%s %s: block digest %s, want %s", rec.Type, rec.TargetURI(), got, want)
		at = end
		es = append(es, entry{rec, block, end})
	}
	require.Equalf(t, int64(len(b)), at, "records end at %d of %d", at, len(b))
	return es
}

func labelled(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func TestGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "made")
		w := open(t, Options{Dir: dir, Name: "golden", Info: Info{
			Software: "curtsy/1.0", Operator: "Jane\r\nDoe", Contact: "jane@lib.example", UserAgent: "curtsy/1.0 (+https://lib.example/bot)",
			RobotsPolicy: "rfc9309", Description: "a golden file",
			Fields: Fields{{"x-config-sha256", "00ff"}, {"x-empty", ""}},
		}})
		chunked := record("https://a.test/?q=%3C1%3E", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 0)
		chunked.PayloadDigest = sha256.Sum256([]byte("ok"))
		chunked.Protocols = []string{"http/1.1", "tls/1.3"}
		chunked.Addr = netip.MustParseAddrPort("[fe80::1%eth0]:443")
		cut := simple(1)
		cut.Truncated, cut.HasPayload = "length", false
		cut.Addr = netip.MustParseAddrPort("[::ffff:192.0.2.8]:80")
		silent := record("http://a.test/silent", "GET /silent HTTP/1.1\r\n\r\n", "", 0)
		silent.Truncated = "time"
		silent.Addr = netip.AddrPort{}
		never := record("http://never.test/", "", "", 0)
		unasked := record("http://a.test/unasked", "", "HTTP/1.1 408 Slow\r\n\r\n", 0)

		ids := write(t, w, chunked, cut, silent, never, unasked)
		u := "urn:uuid:00000000-0000-0000-0000-00000000000"
		equal(t, "ids", ids, []string{u + "3", u + "5", u + "6", "", u + "7"})
		closing(t, w)
		equal(t, "files", ls(t, dir), []string{"golden-00000.warc.gz"})

		got := gunzip(t, filepath.Join(dir, "golden-00000.warc.gz"))
		want, err := os.ReadFile("testdata/golden.warc")
		require.NoError(t, err)
		assert.Equalf(t, want, got, "got:\n%q\nwant:\n%q", got, want)
		var kinds []string
		for _, e := range read(t, filepath.Join(dir, "golden-00000.warc.gz")) {
			kinds = append(kinds, e.Type)
		}
		equal(t, "records", kinds, []string{"warcinfo", "request", "response", "request", "response", "request", "response"})
	})
}

func TestRoundTrip(t *testing.T) {
	for _, level := range []int{1, 6} {
		t.Run(fmt.Sprint("level ", level), func(t *testing.T) { roundTrip(t, level) })
	}
}

func roundTrip(t *testing.T, level int) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, Level: level})
	noise := noise(1 << 20)
	var want []storage.Record
	for _, n := range []int{1, 2, 100, 32<<10 - 1, 32 << 10, 32<<10 + 1, spool.Memory - 1, spool.Memory, spool.Memory + 1, 1 << 20} {
		wire := "HTTP/1.0 200 OK\r\n\r\n" + string(noise[:n])
		want = append(want, record(fmt.Sprintf("http://a.test/%d", n), "GET /"+strings.Repeat("text", n/4)+" HTTP/1.0\r\n\r\n", wire, n))
	}
	ids := write(t, w, want...)
	closing(t, w)
	es := read(t, filepath.Join(dir, "crawl-00000.warc.gz"))
	require.Equal(t, 1+2*len(want), len(es), "records")
	seen := map[string]bool{es[0].ID(): true}
	for i, r := range want {
		q, a := es[1+2*i], es[2+2*i]
		if q.Type != "request" || a.Type != "response" || q.TargetURI() != r.URL || a.TargetURI() != r.URL {
			t.Fatalf("%s: found %s of %s, %s of %s", r.URL, q.Type, q.TargetURI(), a.Type, a.TargetURI())
		}
		if a.ID() != ids[i] || q.ConcurrentTo() != a.ID() || a.ConcurrentTo() != q.ID() || seen[q.ID()] || seen[a.ID()] {
			t.Errorf("%s: ids %s→%s, %s→%s, returned %s", r.URL, q.ID(), q.ConcurrentTo(), a.ID(), a.ConcurrentTo(), ids[i])
		}
		seen[q.ID()], seen[a.ID()] = true, true
		wire := make([]byte, r.Response.Size())
		_, err := r.Response.ReadAt(wire, 0)
		require.False(t, err != nil && err != io.EOF, err)
		assert.Truef(t, bytes.Equal(q.block, r.Request) && bytes.Equal(a.block, wire), "%s: other octets came back", r.URL)
		_, body, _ := bytes.Cut(a.block, []byte("\r\n\r\n"))
		got := a.Fields.Get("WARC-Payload-Digest")
		assert.Truef(t, got == labelled(body) && q.Fields.Get("WARC-Payload-Digest") == "", "%s: payload digest %s", r.URL, got)
		for _, e := range []entry{q, a} {
			d, err := e.Date()
			assert.Truef(t, err == nil && d.Equal(page.Truncate(time.Microsecond)), "%s: date %v, %v", r.URL, d, err)
			assert.Equalf(t, es[0].ID(), bare(e.Fields.Get("WARC-Warcinfo-ID")), "%s: not of this segment", r.URL)
		}
	}
	equal(t, "files", ls(t, dir), []string{"crawl-00000.warc.gz"})
}

func TestRotation(t *testing.T) {
	const size = 4000
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: size})
	var want []string
	for i := range 40 {
		r := simple(i)
		if i == 20 {
			r = record("http://a.test/big", "GET /big HTTP/1.1\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"+string(noise(2*size)), 2*size)
		}
		want = append(want, r.URL)
		write(t, w, r)
		n := len(ls(t, dir))
		require.Truef(t, n == w.seg.number+1, "%d files at segment %d", n, w.seg.number)
	}
	last := fmt.Sprintf("crawl-%05d.warc.gz.open", w.seg.number)
	names := ls(t, dir)
	require.Truef(t, names[len(names)-1] == last && strings.Count(strings.Join(names, " "), openSuffix) == 1, "files while open: %q", names)
	closing(t, w)
	var got []string
	for i, name := range ls(t, dir) {
		require.Equalf(t, fmt.Sprintf("crawl-%05d.warc.gz", i), name, "file %d", i)
		es := read(t, filepath.Join(dir, name))
		if es[0].Type != "warcinfo" || es[0].Fields.Get("WARC-Filename") != name || len(es) < 3 || len(es)%2 == 0 {
			t.Fatalf("%s: %d records, the first %s", name, len(es), es[0].Type)
		}
		assert.Falsef(t, es[len(es)-1].end > size && len(es) != 3, "%s has %d octets", name, es[len(es)-1].end)
		for j, e := range es[1:] {
			assert.Equalf(t, es[0].ID(), bare(e.Fields.Get("WARC-Warcinfo-ID")), "%s: a record of another segment", name)
			if j%2 == 1 {
				got = append(got, e.TargetURI())
			}
		}
	}
	equal(t, "URLs", got, want)
}

func TestRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no name": {}, "path as name": {Name: "a/b"}, "control": {Name: "a\n"}, "size": {Name: "a", SegmentSize: -1},
		"level": {Name: "a", Level: 10}, "field": {Name: "a", Info: Info{Fields: Fields{{"a b", "c"}}}},
	} {
		o.Dir = t.TempDir()
		_, err := Open(o)
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), "warc: "), "%s: %v", name, err)
	}
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	for _, change := range []func(*storage.Record){
		func(r *storage.Record) { r.URL = "" },
		func(r *storage.Record) { r.URL = "http://a.test/\r\nWARC-Type: metadata" },
		func(r *storage.Record) { r.URL = "http://a.test/a b" },
		func(r *storage.Record) { r.Truncated = "time\r\nx: y" },
		func(r *storage.Record) { r.Protocols = []string{"http/1.1\n"} },
	} {
		r := simple(1)
		change(&r)
		id, err := w.Record(t.Context(), r)
		assert.Truef(t, err != nil && id.ID == "", "took %+v", r)
	}
	short := simple(1)
	short.Response = io.NewSectionReader(strings.NewReader("four"), 0, 5)
	_, err := w.Record(t.Context(), short)
	assert.ErrorIsf(t, err, io.ErrUnexpectedEOF, "a response shorter than its size: %v", err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Record(ctx, simple(1))
	assert.ErrorIsf(t, err, context.Canceled, "cancelled: %v", err)
	assert.ErrorIs(t, w.Sync(ctx), context.Canceled, "cancelled")
	closing(t, w)
	assert.Empty(t, ls(t, dir), "an archive of nothing has files")
	_, err = w.Record(t.Context(), simple(1))
	assert.ErrorIsf(t, err, os.ErrClosed, "closed: %v", err)
	assert.ErrorIs(t, w.Close(), os.ErrClosed, "closed twice")
}
