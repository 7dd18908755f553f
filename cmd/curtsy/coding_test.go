package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// Each page is the only way to the next: what the crawler reads, the mirror and the WACZ read as well, whatever a server
// calls the coding of a body, and whether it applied it.
func TestABodyIsReadByEveryPartWhateverItsCodingIsCalled(t *testing.T) {
	t.Parallel()
	said := []struct {
		name  string
		apply []string
	}{
		{"utf-8", nil}, {"none", nil}, {"binary", nil}, {"8bit", nil}, {"text/html", nil}, {"gzip", nil}, {"br", nil}, {"deflate", nil},
		{"deflate", []string{"deflate"}}, {"deflate", []string{"bare"}}, {"gzip, br", []string{"gzip", "br"}}, {"gzip, deflate", []string{"gzip"}},
		{"utf-8, gzip", []string{"gzip"}}, {"gzip, gzip", []string{"gzip"}}, {"X-GZIP;q=1", []string{"gzip"}},
	}
	site := &crawltest.Site{Name: "bakery.test", Robots: crawltest.Robots{Header: map[string]string{"Content-Encoding": "utf-8"}}, Pages: map[string]crawltest.Page{"/": {Links: []string{"/p0"}}}}
	for i, c := range said {
		body := fmt.Sprintf(`<!DOCTYPE html><title>p%d</title><a href="/p%d">on</a>`, i, i+1)
		for _, coding := range c.apply {
			body = squeezed(t, coding, body)
		}
		site.Pages[fmt.Sprintf("/p%d", i)] = crawltest.Page{Raw: octets(fmt.Sprintf(
			"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", c.name, len(body), body))}
	}
	last := fmt.Sprintf("/p%d", len(said))
	site.Pages[last] = crawltest.Page{Raw: octets("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: compress\r\nContent-Length: 3\r\nConnection: close\r\n\r\n\x1f\x9d\x90")}
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir, seed := filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test")
	inside(t, "mirror", "--contact", "crawl@library.org", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", "-o", file, dir).want(t, cli.ExitDone)
	pages, files := unzipped(t, file)["pages/pages.jsonl"], filesOf(t, mirror.Tree(dir))
	for i, c := range said {
		if !strings.Contains(pages, fmt.Sprintf(`"title":"p%d"`, i)) {
			t.Errorf("%d %q: the WACZ does not know its title", i, c.name)
		}
		read := false
		for name, text := range files {
			read = read || strings.HasSuffix(name, fmt.Sprintf("/p%d.html", i)) && (i+1 == len(said) || strings.Contains(text, fmt.Sprintf(`"p%d.html"`, i+1)))
		}
		if !read {
			t.Errorf("%d %q: the mirror does not read it", i, c.name)
		}
	}
	// The last one is there and cannot be read: who asks is told.
	if r := inside(t, "status", dir); !strings.Contains(r.out, "not read     1 (1 content coding)") {
		t.Errorf("status: %s", r.out)
	}
	if r := inside(t, "status", "--json", dir); !strings.Contains(r.out, `"content coding": 1`) {
		t.Errorf("status: %s", r.out)
	}
	clean(t, dir)
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
