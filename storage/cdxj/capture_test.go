package cdxj

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/warc"
)

func TestGoldenLine(t *testing.T) {
	l := Line{
		Key: "test,a)/", Time: time.Date(2026, 3, 4, 6, 6, 7, 999, time.FixedZone("", 3600)), URL: "http://a.test/\"\\\x01<é>", Mime: "text/html",
		Status: 200, Digest: "ab", Length: 1, Offset: 2, Filename: "x.warc.gz",
	}
	want := `test,a)/ 20260304050607 {"url":"http://a.test/\"\\\u0001<é>","mime":"text/html","status":"200","digest":"ab","length":"1","offset":"2","filename":"x.warc.gz"}` + "\n"
	got := string(l.Append(nil))
	assert.Truef(t, got == want, "got\n%swant\n%s", got, want)
	bare := Line{Key: "test,a)/", URL: "http://a.test/", Filename: "x"}
	assert.Equal(t, `test,a)/ 00010101000000 {"url":"http://a.test/","length":"0","offset":"0","filename":"x"}`+"\n", string(bare.Append(nil)))
}

func TestLinesOfOtherToolsAreRead(t *testing.T) {
	want := Line{Key: "test,a)/", Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), URL: "http://a.test/", Status: 200, Length: 1, Offset: 2, Filename: "x"}
	for _, s := range []string{
		`test,a)/ 20260304050607 {"url":"http://a.test/","status":200,"length":1,"offset":2,"filename":"x","languages":["en"]}`,
		`test,a)/ 20260304050607123 {"status":"200","url":"http://a.test/","length":"1","offset":"2","filename":"x"}` + "\r\n",
	} {
		got, err := ParseLine([]byte(s))
		assert.Truef(t, err == nil && got == want, "%s: %+v %v", s, got, err)
	}
	for _, s := range []string{"", "x", "x y", " 20260304050607 {}", "x 20260304050607 ", "x 2026 {}", "x 20261304050607 {}", `x 20260304050607 {"offset":"-1"}`, `x 20260304050607 {"offset":"1e3"}`, "x 20260304050607 []"} {
		l, err := ParseLine([]byte(s))
		assert.Errorf(t, err, "%q was read: %+v", s, l)
	}
}

func FuzzLineRoundTrip(f *testing.F) {
	f.Add("http://a.test/", "text/html", 200, "ab", int64(1), int64(2), "x.warc.gz", int64(1772600767))
	f.Add("a b\n\u2028\"\\", "", 0, "", int64(0), int64(1<<62), "", int64(0))
	f.Fuzz(func(t *testing.T, url, mime string, status int, digest string, length, offset int64, file string, at int64) {
		for _, s := range []string{url, mime, digest, file} {
			if !utf8.ValidString(s) {
				t.Skip()
			}
		}
		l := Line{
			Key: Key(url), URL: url, Mime: mime, Status: status & 0xffff, Digest: digest, Length: length & (1<<62 - 1), Offset: offset & (1<<62 - 1), Filename: file,
			Time: time.Unix(at&(1<<37-1), 0).UTC(),
		}
		b := l.Append(nil)
		require.Truef(t, strings.Count(string(b), "\n") == 1 && b[len(b)-1] == '\n', "not one line: %q", b)
		got, err := ParseLine(b)
		require.Truef(t, err == nil && got == l, "%q\n%+v\n%+v\n%v", b, l, got, err)
	})
}

func FuzzParseLine(f *testing.F) {
	f.Add(`test,a)/ 20260304050607 {"url":"http://a.test/","mime":"text/html","status":"200","digest":"ab","length":"1","offset":"2","filename":"x"}`)
	f.Add(`- 20260304050607123 {"status":"-","url":"\ud800"}`)
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLine([]byte(s))
		if err != nil {
			return
		}
		again, err := ParseLine(l.Append(nil))
		l.URL, l.Mime, l.Digest, l.Filename = valid(l.URL), valid(l.Mime), valid(l.Digest), valid(l.Filename)
		require.Truef(t, err == nil && again == l, "%+v\n%+v\n%v", l, again, err)
	})
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func TestCaptures_AreAsLinesHaveThem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	const body = "HTTP/1.1 200 OK\r\n\r\n"
	z := gzip.NewWriter(f)
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n"+
		"WARC-Date: 2026-01-01T00:00:00.5Z\r\nWARC-Target-URI: http://h.test/\xff\r\nContent-Type: application/http; msgtype=response\r\n"+
		"Content-Length: %d\r\n\r\n%s\r\n\r\n", len(body), body)
	require.NoError(t, z.Close())
	var index bytes.Buffer
	require.NoError(t, Index(t.Context(), &index, func(string, warc.Finding) {}, path))
	want, err := ParseLine(index.Bytes())
	require.NoError(t, err)
	var got []Line
	require.NoError(t, Captures(t.Context(), path, func(l *Line) error { got = append(got, *l); return nil }))
	require.Equal(t, []Line{want}, got)
}
