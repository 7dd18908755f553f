package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// oddPages are pages by the fields that say what they are: their media type as it is recorded, and the codings that were
// applied. Browsers show all of them.
var oddPages = []struct {
	fields, kind string
	coded        []string
}{
	{"Content-Type: text/html", "text/html", nil},
	{"Content-Type: text/html, text/html", "text/html", nil},
	{"Content-Type: text/html;charset=utf-8,text/html", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Type: text/html; charset=utf-8", "text/html", nil},
	{"Content-Type: text/plain\r\nContent-Type: text/html", "text/html", nil}, // the last counts
	{"Content-Type: */*", "", nil},
	{"Content-Type: TEXT/HTML;;", "text/html", nil},
	{"Content-Type: html", "", nil},                    // no media type: the first octets tell
	{"Content-Type: text/html charset=utf-8", "", nil}, // neither
	{"X-Type: none", "", nil},
	{"Content-Type: application/xhtml+xml, text/html", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: utf-8", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: none", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: 8bit", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: text/html", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: gzip", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: br", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: deflate", "text/html", nil},
	{"Content-Type: text/html\r\nContent-Encoding: deflate", "text/html", []string{"deflate"}},
	{"Content-Type: text/html\r\nContent-Encoding: deflate", "text/html", []string{"bare"}},
	{"Content-Type: text/html\r\nContent-Encoding: gzip, br", "text/html", []string{"gzip", "br"}},
	{"Content-Type: text/html\r\nContent-Encoding: gzip, deflate", "text/html", []string{"gzip"}},
	{"Content-Type: text/html\r\nContent-Encoding: utf-8, gzip", "text/html", []string{"gzip"}},
	{"Content-Type: text/html\r\nContent-Encoding: gzip, gzip", "text/html", []string{"gzip"}},
	{"Content-Type: text/html\r\nContent-Encoding: X-GZIP;q=1", "text/html", []string{"gzip"}},
}

// Each page is the only way to the next: what the crawler reads, the mirror and the WACZ read as well, whatever a server calls
// its media type and its coding. Who takes one of them for something else loses the rest.
func TestAPageIsReadByEveryPartWhateverItIsCalled(t *testing.T) {
	t.Parallel()
	site := &crawltest.Site{Name: "bakery.test", Robots: crawltest.Robots{Header: map[string]string{"Content-Encoding": "utf-8"}}, Pages: map[string]crawltest.Page{"/": {Links: []string{"/p0"}}}}
	for i, odd := range oddPages {
		body := fmt.Sprintf(`<!DOCTYPE html><title>p%d</title><a href="/p%d">on</a>`, i, i+1)
		for _, coding := range odd.coded {
			body = squeezed(t, coding, body)
		}
		site.Pages[fmt.Sprintf("/p%d", i)] = crawltest.Page{Raw: octets(fmt.Sprintf("HTTP/1.1 200 OK\r\n%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", odd.fields, len(body), body))}
	}
	site.Pages[fmt.Sprintf("/p%d", len(oddPages))] = crawltest.Page{Raw: octets("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: compress\r\nContent-Length: 3\r\nConnection: close\r\n\r\n\x1f\x9d\x90")}
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
	for i, odd := range oddPages {
		page := fmt.Sprintf("p%d", i)
		name, fetched := types[page]
		switch {
		case !fetched:
			t.Errorf("%q: its link was not followed", oddPages[max(i-1, 0)].fields)
		case name != odd.kind || index[page] != odd.kind:
			t.Errorf("%q: the ledger says %q, the index %q, want %q", odd.fields, name, index[page], odd.kind)
		}
		if !strings.Contains(packed, `"title":"`+page+`"`) {
			t.Errorf("%q: no page of the WACZ", odd.fields)
		}
		mirrored := false
		for name, text := range files {
			mirrored = mirrored || strings.HasSuffix(name, "/"+page+".html") && (i+1 == len(oddPages) || strings.Contains(text, fmt.Sprintf(`"p%d.html"`, i+1)))
		}
		if !mirrored {
			t.Errorf("%q: no page of the mirror", odd.fields)
		}
	}
	// The last one is there and cannot be read: who asks is told.
	if r := inside(t, "status", dir); !strings.Contains(r.out, "not read     1 (content coding)") {
		t.Errorf("status: %s", r.out)
	}
	clean(t, dir)
}

// octets returns a sound answer of these octets. They say that the connection ends with them: of a server that closes it
// unannounced, the next request may just miss the end, and then counts as a failure of the host, which rests a minute.
func octets(answer string) crawltest.Raw {
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		_, _ = io.WriteString(conn, answer)
		return true
	}
}

// squeezed returns s in a content coding.
func squeezed(t *testing.T, coding, s string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "bare":
		w, _ = flate.NewWriter(&b, 6) // 6 is a level
	}
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
