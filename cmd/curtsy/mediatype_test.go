package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// oddTypes are Content-Types of pages that browsers show as pages, and what is written down of each.
var oddTypes = []struct{ head, name string }{
	{"Content-Type: text/html\r\n", "text/html"},
	{"Content-Type: text/html, text/html\r\n", "text/html"},
	{"Content-Type: text/html;charset=utf-8,text/html\r\n", "text/html"},
	{"Content-Type: text/html\r\nContent-Type: text/html; charset=utf-8\r\n", "text/html"},
	{"Content-Type: text/plain\r\nContent-Type: text/html\r\n", "text/html"}, // the last counts
	{"Content-Type: */*\r\n", ""},
	{"Content-Type: TEXT/HTML;;\r\n", "text/html"},
	{"Content-Type: html\r\n", ""},                    // no media type: the first octets tell
	{"Content-Type: text/html charset=utf-8\r\n", ""}, // neither
	{"X-Type: none\r\n", ""},
	{"Content-Type: application/xhtml+xml, text/html\r\n", "text/html"},
}

// Each page is the only way to the next. Who takes one of them for something else loses the rest.
func TestWhatIsAPageIsOneForEveryPart(t *testing.T) {
	t.Parallel()
	site := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{"/": {Links: []string{"/p0"}}}}
	for i, odd := range oddTypes {
		body := fmt.Sprintf(`<!DOCTYPE html><title>p%d</title><a href="/p%d">on</a>`, i, i+1)
		site.Pages[fmt.Sprintf("/p%d", i)] = crawltest.Page{Raw: octets(fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", odd.head, len(body), body))}
	}
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir, seed := filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test")
	inside(t, "mirror", "--contact", "crawl@library.org", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	types := map[string]string{}
	for _, l := range ledgerLinesIn(t, dir) {
		if l.Status == 200 {
			types[strings.TrimPrefix(l.URL, seed)] = l.Type
		}
	}
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", "-o", file, dir).want(t, cli.ExitDone)
	packed, index := unzipped(t, file)["pages/pages.jsonl"], map[string]string{}
	for line := range strings.Lines(unzipped(t, file)["indexes/index.cdxj"]) {
		var l struct{ URL, Mime string }
		if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &l); err != nil {
			t.Fatal(err)
		}
		index[strings.TrimPrefix(l.URL, seed)] = l.Mime
	}
	files := filesOf(t, mirror.Tree(dir))
	for i, odd := range oddTypes {
		page := fmt.Sprintf("p%d", i)
		name, fetched := types[page]
		switch {
		case !fetched:
			t.Errorf("%q: its link was not followed", oddTypes[max(i-1, 0)].head)
		case name != odd.name || index[page] != odd.name:
			t.Errorf("%q: the ledger says %q, the index %q, want %q", odd.head, name, index[page], odd.name)
		}
		if !strings.Contains(packed, `"title":"`+page+`"`) {
			t.Errorf("%q: no page of the WACZ", odd.head)
		}
		mirrored := false
		for name, text := range files {
			mirrored = mirrored || strings.HasSuffix(name, "/"+page+".html") && (i+1 == len(oddTypes) || strings.Contains(text, fmt.Sprintf(`"p%d.html"`, i+1)))
		}
		if !mirrored {
			t.Errorf("%q: no page of the mirror", odd.head)
		}
	}
}

// octets returns a sound answer of these octets. They say that the connection ends with them: of a server that closes it
// unannounced, the next request may just miss the end, and then counts as a failure of the host, which rests a minute.
func octets(answer string) crawltest.Raw {
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		_, _ = io.WriteString(conn, answer)
		return true
	}
}
