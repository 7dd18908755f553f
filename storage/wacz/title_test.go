package wacz

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	unicode16 "golang.org/x/text/encoding/unicode"

	"curtsy/storage/answer"
	"curtsy/storage/mediatype"
	"curtsy/storage/warc"
)

func TestTheTitleIsThePagesOwn(t *testing.T) {
	for _, c := range []struct{ body, head, want string }{
		{"<title>Bread</title>", "text/html", "Bread"},
		{"<TITLE lang=en>  Rye\n &lt;b&gt; &amp;\t more </TITLE>", "text/html", "Rye <b> & more"},
		{"<svg><title>a loaf</title></svg><title>Page</title>", "text/html", "Page"},
		{"<svg><g><title>a loaf</title></g></svg>", "text/html", ""},
		{"<!-- <title>no</title> --><script>'<title>no</title>'</script><title>yes</title>", "text/html", "yes"},
		{"<title></title><title>second</title>", "text/html", ""},
		{"<title>B\xe4cker</title>", "text/html; charset=iso-8859-1", "Bäcker"},
		{"<meta charset=windows-1252><title>B\xe4cker</title>", "text/html", "Bäcker"},
		{"<title>\x1b[2Jclear\x00\u0085</title>", "text/html; charset=utf-8", "[2Jclear\ufffd"},
		{"<title>" + strings.Repeat("ä", 1000) + "</title>", "text/html; charset=utf-8", strings.Repeat("ä", maxTitle)},
		{strings.Repeat(" ", maxDecoded) + "<title>late</title>", "text/html", ""},
		{"<title>" + strings.Repeat("x", 2*maxToken), "text/html", ""},
		{"no title", "text/html", ""},
		{utf16(unicode16.LittleEndian, unicode16.UseBOM, "<title>日本</title>"), "text/html; charset=utf-8", "日本"},
		{utf16(unicode16.BigEndian, unicode16.IgnoreBOM, "<title>日本</title>"), "text/html; charset=utf-16be", "日本"},
		{utf16(unicode16.BigEndian, unicode16.IgnoreBOM, `<?xml version="1.0"?><title>日本</title>`), "text/html", "日本"},
		{utf16(unicode16.LittleEndian, unicode16.IgnoreBOM, `<?xml version="1.0"?><title>日本</title>`), "application/xhtml+xml", "日本"},
		{"<meta charset=utf-16><title>日本</title>", "text/html", "日本"},
		{"<meta charset=iso-2022-jp><title>\x1b$BF|K\\\x1b(B</title>", "text/html", "日本"},
		{"<title>\x1b$BF|K\\\x1b(B</title>", "text/html; charset=csISO2022JP", "日本"},
		{`<?xml version="1.0" encoding="iso-2022-jp"?>` + "<title>\x1b$BF|K\\\x1b(B</title>", "application/xhtml+xml", "日本"},
		{`<?xml version="1.0" encoding="koi8-r"?>` + "<title>\xE4</title>", "text/html", "ä"}, // which has no effect in HTML
		{"", "text/html", ""},
	} {
		assert.Equalf(t, c.want, titled(t, []byte(c.body), "Content-Type: "+c.head), "the title of %.60q", c.body)
	}
}

func TestTitle_EveryRequestedCoding(t *testing.T) {
	page := []byte("<title>Bread</title>")
	var g, b bytes.Buffer
	gz := gzip.NewWriter(&g)
	gz.Write(page)
	gz.Close()
	br := brotli.NewWriter(&b)
	br.Write(page)
	br.Close()
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for coding, body := range map[string][]byte{"gzip": g.Bytes(), "X-Gzip": g.Bytes(), "br": b.Bytes(), "zstd": z.EncodeAll(page, nil), "identity": page} {
		head := "Content-Type: text/html\r\nContent-Encoding: " + coding
		assert.Equal(t, "Bread", titled(t, body, head), coding)
		for n := range body { // any cut gives the same title or none
			got := titled(t, body[:n], head)
			assert.Falsef(t, got != "" && got != "Bread", "%s cut at %d: %q", coding, n, got)
		}
	}
	assert.Empty(t, titled(t, page, "Content-Encoding: compress"), "an unknown coding")
}

func utf16(order unicode16.Endianness, mark unicode16.BOMPolicy, s string) string {
	b, err := unicode16.UTF16(order, mark).NewEncoder().String(s)
	if err != nil {
		panic(err) // none of a text in UTF-8
	}
	return b
}

func titled(t *testing.T, body []byte, head string) string {
	t.Helper()
	block := io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\n"+head+"\r\n\r\n"), bytes.NewReader(body))
	a, err := answer.Read(&warc.Record{Type: "response", Block: block}, 0)
	require.NoError(t, err)
	text := bodyOf(a)
	first, _ := text.Peek(mediatype.MaxSniff)
	return titleOf(text, a.Charset(first))
}

// Any page has a title that is a short printable line.
func FuzzTitleIsAShortLine(f *testing.F) {
	f.Add([]byte("<title>Bread</title>"), "text/html", "")
	f.Add([]byte("\xff\xfe<\x00t\x00"), "text/html; charset=utf-16", "gzip")
	f.Add([]byte("\x28\xb5\x2f\xfd\x00"), "text/html", "zstd")
	f.Add([]byte("\x0b\x02\x80"), "text/html", "br")
	f.Fuzz(func(t *testing.T, body []byte, media, coding string) {
		got := titled(t, body, "Content-Type: "+media+"\r\nContent-Encoding: "+coding)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxTitle || strings.ContainsFunc(got, unicode.IsControl) || got != strings.TrimSpace(got) {
			t.Errorf("%q", got)
		}
	})
}
