package export

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const aPage = `<!doctype html><title> A  "page",
of =cmd|' /C calc'!A0 </title><meta name=Description content="About
it"><link rel="alternate canonical" href="/a?x=1"><p>Some words of a page.`

func bakery(t *testing.T) *web {
	return newWeb(t, map[string]string{
		"/robots.txt": "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /ovens/\nAllow: /\n",
		"/":           `<a href="/a?x=1&y=">a</a><a href="/latin">l</a><a href="/to">t</a><a href="/none">n</a><a href="/ovens/1">o</a><a href="/data.bin">d</a>`,
		"/a?x=1&y=":   aPage,
		"/latin":      "Content-Type: text/html; charset=ISO-8859-1\n\n<title>\xe4\x00\xff</title>",
		"/to":         "302\nLocation: /a?x=1&y=\n\n",
		"/data.bin":   "Content-Type: application/octet-stream\n\n%PDF-1.4 is what it begins with",
	})
}

func TestPages(t *testing.T) {
	w := bakery(t)
	dir := crawled(t, w, "bakery")
	m := makeTable(t, "pages", dir)
	assert.Truef(t, m.Rows == 8 && len(m.Problems) == 0 && len(m.Lefts) == 0, "%d rows, %v, %v", m.Rows, m.Problems, m.Lefts)
	at := strings.TrimPrefix(w.URL, "http://127.0.0.1")
	columns := []string{"url_path", "url_query", "fetch_status", "content_mime_type", "content_mime_detected", "subset", "title",
		"description", "canonical_link", "charset", "content_charset", "text_length", "depth", "kind", "outcome", "robots_verdict",
		"robots_rule", "attempt", "generation", "problem"}
	for path, want := range map[string]string{
		"/":           "/ | - | 200 | text/html | text/html | warc | - | - | - | utf-8 | UTF-8 | 11 | 0 | seed | fetched | allow | Allow: / | 1 | 1 | -",
		"/a?x=1&y=":   "/a | x=1&y= | 200 | text/html | text/html | warc | A \"page\", of =cmd|' /C calc'!A0 | About it | http://127.0.0.1" + at + "/a?x=1 | utf-8 | UTF-8 | 53 | 1 | link | fetched | allow | Allow: / | 1 | 1 | -",
		"/latin":      "/latin | - | 200 | text/html | text/html | warc | \u00e4\uFFFD\u00ff | - | - | windows-1252 | windows-1252 | 5 | 1 | link | fetched | allow | Allow: / | 1 | 1 | -",
		"/to":         "/to | - | 302 | text/html | - | crawldiagnostics | - | - | - | - | - | - | 1 | link | redirected | allow | Allow: / | 1 | 1 | -",
		"/none":       "/none | - | 404 | text/plain | text/plain | crawldiagnostics | - | - | - | - | - | - | 1 | link | gone | allow | Allow: / | 1 | 1 | -",
		"/data.bin":   "/data.bin | - | 200 | application/octet-stream | application/pdf | warc | - | - | - | - | - | - | 1 | link | fetched | allow | Allow: / | 1 | 1 | -",
		"/robots.txt": "/robots.txt | - | 200 | text/plain | text/plain | robotstxt | - | - | - | - | - | - | 0 | - | - | robots | - | 1 | 1 | -",
	} {
		assert.Equal(t, want, m.show(m.find(t, "url", w.URL+path), columns...), path)
	}
	r := m.find(t, "url", w.URL+"/to")
	assert.Equal(t, w.URL+"/a?x=1&y= | bakery/warc/curtsy-00000.warc.gz | curtsy-00000 | bakery | "+at[1:]+" | 127.0.0.1 | -",
		m.show(r, "fetch_redirect", "warc_filename", "warc_segment", "crawl", "url_port", "url_host_name", "url_host_tld"))
	assert.Equal(t, "1,0,0,127"+at+")/", m.show(m.rows[0], "url_surtkey"), "the first row")
}

// The update does not request robots.txt again. An unchanged response has a row without a body that names the original.
func TestPagesOfAnUpdate(t *testing.T) {
	w := bakery(t)
	dir, other := crawled(t, w, "bakery"), crawled(t, w, "bakery")
	w.change("/latin", "<title>New</title>")
	updated(t, dir)
	m := makeTable(t, "pages", dir)
	assert.Truef(t, m.Rows == 15 && len(m.Problems) == 0, "%d rows, %v", m.Rows, m.Problems)
	var got []string
	for _, r := range m.rows {
		if u := m.show(r, "url"); strings.HasSuffix(u, "/latin") || strings.HasSuffix(u, "y=") {
			got = append(got, m.show(r, "url_path", "generation", "change", "revisit", "subset", "title", "refers_to_url"))
		}
	}
	want := []string{
		`/a | 1 | - | false | warc | A "page", of =cmd|' /C calc'!A0 | -`,
		`/a | 2 | unchanged | true | warc | - | ` + w.URL + `/a?x=1&y=`,
		"/latin | 1 | - | false | warc | \u00e4\uFFFD\u00ff | -",
		"/latin | 2 | changed | false | warc | New | -",
	}
	assert.Equal(t, want, got)

	both := makeTable(t, "pages", dir, other)
	crawls := map[string]int{}
	for _, r := range both.rows {
		crawls[both.show(r, "crawl")]++
	}
	of := func(dir string) string { return filepath.Base(filepath.Dir(dir)) + "/bakery" }
	assert.Truef(t, both.Rows == 23 && crawls[of(dir)] == 15 && crawls[of(other)] == 8, "%d rows: %v", both.Rows, crawls)
}

func TestPagesOfADamagedArchive(t *testing.T) {
	w := bakery(t)
	for _, c := range []struct {
		name   string
		harm   func(t *testing.T, segment string, at, length int64)
		row    string // of the record that is harmed
		others map[string]int64
	}{
		{"a byte of the record is another", func(t *testing.T, segment string, at, length int64) {
			b := read(t, segment)
			b[at+length-3] ^= 0xff // of the checksum
			write(t, segment, b)
		}, "/a | 200 | damaged", map[string]int64{"damaged": 1}},
		{"its head is gone", func(t *testing.T, segment string, at, length int64) {
			b := read(t, segment)
			clear(b[at : at+20])
			write(t, segment, b)
		}, "/a | 200 | damaged", map[string]int64{"damaged": 1}},
		{"the file ends in it", func(t *testing.T, segment string, at, length int64) {
			require.NoError(t, os.Truncate(segment, at+length/2))
		}, "/a | 200 | damaged", nil},
		{"another file has its name", func(t *testing.T, segment string, at, length int64) {
			write(t, segment, []byte("no archive"))
		}, "/a | 200 | damaged", map[string]int64{"damaged": 8}},
		{"the metadata record is gone", func(t *testing.T, segment string, at, length int64) {
			b := read(t, segment)
			clear(b[at+length : at+length+20])
			write(t, segment, b)
		}, "/a | 200 | no-metadata", map[string]int64{"no-metadata": 1}},
	} {
		dir := crawled(t, w, "bakery")
		m := makeTable(t, "pages", dir)
		r := m.find(t, "url", w.URL+"/a?x=1&y=")
		at, length := r[m.table.Index("warc_record_offset")].Number(), r[m.table.Index("warc_record_length")].Number()
		segment := filepath.Join(dir, "warc", "curtsy-00000.warc.gz")
		c.harm(t, segment, at, length)
		m = makeTable(t, "pages", dir)
		assert.Equal(t, c.row, m.show(m.find(t, "url", w.URL+"/a?x=1&y="), "url_path", "fetch_status", "problem"), c.name)
		assert.Truef(t, m.Rows == 8 && (c.others == nil || maps.Equal(m.Problems, c.others)), "%s: %d rows, %v", c.name, m.Rows, m.Problems)
	}
}

func TestAnIndexThatIsMissing(t *testing.T) {
	dir := crawled(t, bakery(t), "bakery")
	require.NoError(t, os.Remove(filepath.Join(dir, "index", "curtsy-00000.cdxj")))
	_, err := Open(t.Context(), "", dir)
	assert.Truef(t, errors.Is(err, ErrNoIndex) && strings.Contains(err.Error(), "curtsy warc index "+dir), "%v", err)
}

func TestPagesOfAStrangeIndex(t *testing.T) {
	dir := crawled(t, bakery(t), "bakery")
	path := filepath.Join(dir, "index", "curtsy-00000.cdxj")
	b := read(t, path)
	first, _, _ := strings.Cut(string(b), "\n")
	write(t, path, append([]byte("no line\n"+first+"\n"+ // one twice
		"0)/ 20260101000000 {\"url\":5}\n"+
		`a,b)/`+"\xff\x00"+` 20260101000000 {"url":"http://b.a/\u0000\ud800","status":"99999","length":"1","offset":"7","filename":"../../secret"}`+"\n"+
		`a,c)/ 20260101000000 {"url":"http://c.a/","status":"200","length":"4294967296","offset":"4294967296","filename":"curtsy-00000.warc.gz"}`+"\n"), b...))
	m := makeTable(t, "pages", dir)
	assert.Truef(t, m.Rows == 10 && m.Lefts[badLine] == 2 && m.Lefts[sameLine] == 1, "%d rows, %v", m.Rows, m.Lefts)
	for url, want := range map[string]string{
		"http://b.a/\x00\uFFFD": "a,b)/\uFFFD\uFFFD | -1 | bakery/warc/../../secret | 7 | no-file",
		"http://c.a/":           "a,c)/ | 200 | bakery/warc/curtsy-00000.warc.gz | -1 | damaged",
	} {
		assert.Equal(t, want, m.show(m.find(t, "url", url), "url_surtkey", "fetch_status", "warc_filename", "warc_record_offset", "problem"), url)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

func TestLanguage_SameInPagesAndText(t *testing.T) {
	t.Parallel()
	english := "<p>" + strings.Repeat("The ferry leaves the old harbour at seven in the morning, and whoever misses it waits a day for the next one. ", 4) + "</p>"
	german := strings.Repeat("<li>Fähre und Hafen</li><li>Über die Inseln</li><li>Wetter für morgen</li>", 30)
	french := "<p>" + strings.Repeat("Le bateau quitte le vieux port à sept heures du matin, et celui qui le manque attend le lendemain. ", 5) + "</p>"
	w := newWeb(t, map[string]string{
		"/robots.txt": "Content-Type: text/plain\n\n# Everybody is welcome to read all of the pages of this small site.\nUser-agent: *\nAllow: /\n",
		"/":           `<a href="/menu">m</a><a href="/late">l</a><a href="/large">g</a><a href="/plain">p</a><a href="/none">n</a>`,
		"/menu":       "<ul>" + german + "</ul>" + english,
		"/late":       strings.Repeat(french, 80) + strings.Repeat(english, 200),
		"/large":      strings.Repeat(french, 100) + strings.Repeat(english, 2000),
		"/plain":      "Content-Type: text/plain; charset=utf-8\n\n" + strings.TrimSpace(french),
	})
	dir := crawled(t, w, "bakery")
	pages, texts := makeTable(t, "pages", dir), makeTable(t, "text", dir)
	for path, want := range map[string]string{"/menu": "en | eng", "/late": "en | eng,fra", "/large": "en | eng", "/plain": "fr | fra"} {
		inPages := pages.show(pages.find(t, "url", w.URL+path), "language", "content_languages")
		inText := texts.show(texts.find(t, "url", w.URL+path), "language", "content_languages")
		assert.Truef(t, inPages == want && inText == want, "%s: pages %s, text %s, want %s", path, inPages, inText, want)
	}
	assert.Equal(t, "- | -", pages.show(pages.find(t, "url", w.URL+"/robots.txt"), "language", "content_languages"), "robots.txt")
}

func TestText_SmallMainTextIsNamed(t *testing.T) {
	t.Parallel()
	p := "<p>" + strings.Repeat("The ferry leaves the old harbour at seven in the morning, and whoever misses it waits a day. ", 4) + "</p>"
	article, aside := "<article class=post>"+strings.Repeat(p, 4)+"</article>", "<div class=sidebar>"+p+"</div>"
	w := newWeb(t, map[string]string{
		"/":      `<a href="/all">a</a><a href="/half">h</a><a href="/plain">p</a>`,
		"/all":   article,
		"/half":  article + strings.Repeat(aside, 4),
		"/plain": "Content-Type: text/plain\n\nA line of text.",
	})
	m := makeTable(t, "text", crawled(t, w, "bakery"))
	for path, want := range map[string]string{
		"/all": "1 | -", "/half": "0.5 | less than three quarters of the text", "/plain": "- | not a page",
	} {
		assert.Equal(t, want, m.show(m.find(t, "url", w.URL+path), "main_share", "main_missing"), path)
	}
}
