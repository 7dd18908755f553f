package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

var (
	little       = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	littleMarked = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	big          = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	bigMarked    = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
)

// written is a text in an encoding, behind a head of the answer that names the type. Without an encoding it is in UTF-8.
func written(t *testing.T, e encoding.Encoding, contentType, text string) crawltest.Page {
	t.Helper()
	if e != nil {
		var err error
		if text, err = e.NewEncoder().String(text); err != nil {
			t.Fatal(err)
		}
	}
	return crawltest.Page{Raw: octets(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", contentType, len(text), text))}
}

// Each page is the only way to the next, and each style sheet to an image: what the crawler reads, the mirror and the WACZ
// read as well, in encodings in which a link's octets are none of its letters, or look like others.
func TestPagesAndStyleSheetsAreReadByEveryPartWhateverTheirEncoding(t *testing.T) {
	t.Parallel()
	const (
		html  = `<!DOCTYPE html><html><head>%s<title>日本 p%d</title></head><body>表<a href="/表/p%d">on</a></body></html>`
		xhtml = `<?xml version="1.0" encoding="%s"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>日本 p%d</title></head><body>表<a href="/表/p%d">on</a></body></html>`
		xml   = "application/xhtml+xml"
	)
	pages := []struct {
		form, says, contentType string
		e                       encoding.Encoding
	}{
		{html, "", "text/html", littleMarked},
		{html, "", "text/html", bigMarked},
		{html, "", "text/html; charset=utf-8", bigMarked}, // the mark wins
		{html, "", "text/html; charset=utf-16", little},
		{html, "", "text/html; charset=UTF-16LE", little},
		{html, "", "text/html; charset=utf-16be", big},
		{html, "<meta charset=utf-16>", "text/html", nil}, // which says UTF-8, since it could be read
		{html, `<meta http-equiv=content-type content="text/html; charset=utf-16be">`, "text/html", nil},
		{html, "", "text/html; charset=iso-2022-jp", japanese.ISO2022JP},
		{html, "", "text/html; charset=csISO2022JP", japanese.ISO2022JP},
		{html, "<meta charset=iso-2022-jp>", "text/html", japanese.ISO2022JP},
		{xhtml, "UTF-16", xml, littleMarked},
		{xhtml, "UTF-16", xml, bigMarked},
		{xhtml, "UTF-16", xml, little}, // by its first letters
		{xhtml, "UTF-16", xml, big},
		{xhtml, "UTF-16", "text/html", big},
		{xhtml, "UTF-16", xml + "; charset=utf-16be", big},
		{xhtml, "UTF-16", xml, nil},
		{xhtml, "ISO-2022-JP", xml, japanese.ISO2022JP},
	}
	sheets := []struct {
		says, contentType string
		e                 encoding.Encoding
	}{
		{"", "text/css", littleMarked}, {"", "text/css", bigMarked}, {"", "text/css; charset=utf-16le", little}, {"", "text/css; charset=utf-16be", big},
		{`@charset "utf-16";`, "text/css", nil}, {"", "text/css; charset=iso-2022-jp", japanese.ISO2022JP}, {`@charset "iso-2022-jp";`, "text/css", japanese.ISO2022JP},
	}
	root := `<!DOCTYPE html><title>root</title><a href="/%E8%A1%A8/p0">on</a>`
	site := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{}}
	for i, c := range pages {
		site.Pages[fmt.Sprintf("/%%E8%%A1%%A8/p%d", i)] = written(t, c.e, c.contentType, fmt.Sprintf(c.form, c.says, i, i+1))
	}
	site.Pages[fmt.Sprintf("/%%E8%%A1%%A8/p%d", len(pages))] = written(t, nil, "text/html", "<!DOCTYPE html><title>last</title>")
	for i, c := range sheets {
		root += fmt.Sprintf(`<link rel=stylesheet href="/s%d.css">`, i)
		site.Pages[fmt.Sprintf("/s%d.css", i)] = written(t, c.e, c.contentType, fmt.Sprintf("%sa{background:url(/表/%d.png)}", c.says, i))
		site.Pages[fmt.Sprintf("/%%E8%%A1%%A8/%d.png", i)] = written(t, nil, "image/png", "\x89PNG")
	}
	site.Pages["/"] = written(t, nil, "text/html", root)
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir, seed := filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test")
	inside(t, "mirror", "--contact", "crawl@library.org", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", "-o", file, dir).want(t, cli.ExitDone)
	titles, files := unzipped(t, file)["pages/pages.jsonl"], filesOf(t, mirror.Tree(dir))
	find := func(suffix string) string {
		for name, text := range files {
			if strings.HasSuffix(name, suffix) {
				return text
			}
		}
		t.Errorf("the mirror has no %s", suffix)
		return ""
	}
	for i, c := range pages {
		if !strings.Contains(titles, fmt.Sprintf(`"title":"日本 p%d"`, i)) {
			t.Errorf("%d, %s: the WACZ does not know its title", i, c.contentType)
		}
		ext := ".html"
		if strings.HasPrefix(c.contentType, xml) {
			ext = ".xhtml"
		}
		to := fmt.Sprintf(`"p%d.`, i+1)
		if text := find(fmt.Sprintf("/p%d%s", i, ext)); !strings.Contains(strings.ReplaceAll(text, "\x00", ""), to) {
			t.Errorf("%d, %s: its copy does not lead on: %q", i, c.contentType, text)
		}
	}
	for i, c := range sheets {
		if text := find(fmt.Sprintf("/s%d.css", i)); strings.Contains(strings.ReplaceAll(text, "\x00", ""), "url(/") {
			t.Errorf("%d, %s: its copy does not lead to the image: %q", i, c.contentType, text)
		}
		find(fmt.Sprintf("/%d.png", i))
	}
}
