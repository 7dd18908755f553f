package warc

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		assert.Falsef(t, err != nil || want != nil && !bytes.Equal(got, want), "length %d: %d octets, %v", length, len(got), err)
		want = got
	}
	l, err := p.Lenient(path, Stretch{Offset: page.Offset, Length: 1 << 10, Only: true}, nil)
	require.NoError(t, err)
	rec, err := l.Next()
	require.NoError(t, err)
	h, err := ReadHTTP(rec.Block)
	assert.Truef(t, err == nil && h.Complete && h.Status == 200 && h.Header.Get("Content-Type") == "text/html", "the head is %+v, %v", h, err)
	n, err := io.Copy(io.Discard, h.Payload)
	assert.Truef(t, err != nil && n < 20<<10, "%d octets of a body that was cut, %v", n, err)
	_, err = l.End()
	assert.ErrorIsf(t, err, ErrStretch, "the end of a cut record: %v", err)
}

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
		b, err := io.ReadAll(r)
		assert.Truef(t, err != nil && len(b) <= 0, "the %s before gives %.20q, %v", what, b, err)
	}
	_, err = l.Next()
	assert.ErrorIsf(t, err, os.ErrClosed, "the reader before: %v", err)
	line, links, err := next.Metadata()
	assert.Truef(t, err == nil && line.Decision == "allow" && len(links) == 80, "the metadata is %+v with %d links, %v", line, len(links), err)
}

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
	assert.Truef(t, err == nil && got == want && got.Directives == "noarchive", "it is %+v, %v, want %+v", got, err, want)
}

func TestPlaces_AHeadTakesLittleMemory(t *testing.T) {
	path, page, metadata := archived(t)
	var p Places
	defer p.Close()
	allocs := testing.AllocsPerRun(50, func() { readHeads(t, &p, path, page, metadata) })
	assert.Truef(t, allocs <= 60, "%v allocations", allocs)
	t.Logf("%v allocations", allocs)
}

func readHeads(t testing.TB, p *Places, path string, page, metadata Stretch) {
	l, err := p.Lenient(path, Stretch{Offset: page.Offset, Length: 1 << 10, Only: true}, nil)
	require.NoError(t, err)
	rec, err := l.Next()
	require.NoError(t, err)
	h, err := ReadHTTP(rec.Block)
	require.True(t, err == nil && h.Status == 200, err)
	l, err = p.Lenient(path, metadata, nil)
	require.NoError(t, err)
	rec, err = l.Next()
	require.NoError(t, err)
	d, err := rec.Decision()
	require.True(t, err == nil && d.Decision == "allow", err)
}
