package warc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page's record, of 20 KiB, and its metadata record with 40 links behind it.
func archived(t testing.TB) (path string, page, metadata Stretch) {
	t.Helper()
	links := strings.Repeat("outlink: http://a.test/some/page.html link\r\n", 40)
	file, at := []byte(nil), []int64{0}
	for _, r := range []struct{ kind, block string }{
		{"response", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html(20<<10)},
		{"metadata", "decision: allow\r\n" + links + "directives: noarchive\r\n" + links[:len(links)-2]},
	} {
		file = append(file, members(exchanged(r.kind, r.block))...)
		at = append(at, int64(len(file)))
	}
	path = filepath.Join(t.TempDir(), "x.warc.gz")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path, Stretch{Offset: at[0], Length: at[1]}, Stretch{Offset: at[1], Length: at[2] - at[1]}
}

func exchanged(kind, block string) string {
	h := head{kind: kind, id: "urn:uuid:1", date: decision.Began, target: "http://a.test/", media: typeResponse, length: int64(len(block))}
	return string(h.append(nil)) + block + recordEnd
}

// However much of a file is read at once, a record is the same; what is only a stretch of it gives its head and then says
// that it was cut.
func TestPlaces_AStretchDecidesOnlyHowMuchIsRead(t *testing.T) {
	path, page, _ := archived(t)
	var p Places
	defer p.Close()
	var want []byte
	for _, length := range []int64{0, 1, 600, page.Length, page.Length + 7, 1 << 20} {
		l, err := p.Lenient(path, Stretch{Offset: page.Offset, Length: length}, func(f Finding) { t.Errorf("length %d: %v", length, f) })
		require.NoError(t, err)
		rec, err := l.Next()
		require.NoErrorf(t, err, "length %d", length)
		got, err := io.ReadAll(rec.Block)
		if err != nil || want != nil && !bytes.Equal(got, want) {
			t.Errorf("length %d: %d octets, %v", length, len(got), err)
		}
		want = got
	}
	l, err := p.Lenient(path, Stretch{Offset: page.Offset, Length: 1 << 10, Only: true}, nil)
	require.NoError(t, err)
	rec, err := l.Next()
	require.NoError(t, err)
	h, err := ReadHTTP(rec.Block)
	if err != nil || !h.Complete || h.Status != 200 || h.Header.Get("Content-Type") != "text/html" {
		t.Errorf("the head is %+v, %v", h, err)
	}
	if n, err := io.Copy(io.Discard, h.Payload); err == nil || n >= 20<<10 {
		t.Errorf("%d octets of a body that was cut, %v", n, err)
	}
	if _, err := l.End(); !errors.Is(err, ErrStretch) {
		t.Errorf("the end of what was cut: %v", err)
	}
}

// What was returned before gives nothing of the record that has its buffers now, and no end that is none.
func TestPlaces_NothingIsReadOfTheRecordBefore(t *testing.T) {
	path, page, metadata := archived(t)
	var p Places
	defer p.Close()
	l, err := p.Lenient(path, page, nil)
	require.NoError(t, err)
	rec, err := l.Next()
	require.NoError(t, err)
	h, err := ReadHTTP(rec.Block)
	require.NoError(t, err)
	m, err := p.Lenient(path, metadata, nil)
	require.NoError(t, err)
	next, err := m.Next()
	require.NoError(t, err)
	for what, r := range map[string]io.Reader{"block": rec.Block, "payload": h.Payload} {
		if b, err := io.ReadAll(r); err == nil || len(b) > 0 {
			t.Errorf("the %s before gives %.20q, %v", what, b, err)
		}
	}
	if _, err := l.Next(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the reader before: %v", err)
	}
	line, links, err := next.Metadata()
	if err != nil || line.Decision != "allow" || len(links) != 80 {
		t.Errorf("the metadata is %+v with %d links, %v", line, len(links), err)
	}
}

// Links are passed over wherever they stand, and whatever lines are cut by a buffer's end.
func TestDecisionIsMetadataWithoutLinks(t *testing.T) {
	path, _, metadata := archived(t)
	var p Places
	defer p.Close()
	read := func() *Record {
		l, err := p.Lenient(path, metadata, nil)
		require.NoError(t, err)
		rec, err := l.Next()
		require.NoError(t, err)
		return rec
	}
	want, _, err := read().Metadata()
	require.NoError(t, err)
	got, err := read().Decision()
	if err != nil || got != want || got.Directives != "noarchive" {
		t.Errorf("it is %+v, %v, want %+v", got, err, want)
	}
}

// The head of a page costs a few small allocations, whatever its body: its fields' values, and what net/http makes of it.
func TestPlaces_AHeadTakesLittleMemory(t *testing.T) {
	path, page, metadata := archived(t)
	var p Places
	defer p.Close()
	allocs := testing.AllocsPerRun(50, func() { readHeads(t, &p, path, page, metadata) })
	if allocs > 60 {
		t.Errorf("%v allocations", allocs)
	}
	t.Logf("%v allocations", allocs)
}

func readHeads(t testing.TB, p *Places, path string, page, metadata Stretch) {
	l, err := p.Lenient(path, Stretch{Offset: page.Offset, Length: 1 << 10, Only: true}, nil)
	require.NoError(t, err)
	rec, err := l.Next()
	require.NoError(t, err)
	if h, err := ReadHTTP(rec.Block); err != nil || h.Status != 200 {
		t.Fatal(err)
	}
	if l, err = p.Lenient(path, metadata, nil); err != nil {
		t.Fatal(err)
	}
	if rec, err = l.Next(); err != nil {
		t.Fatal(err)
	}
	if d, err := rec.Decision(); err != nil || d.Decision != "allow" {
		t.Fatal(err)
	}
}
