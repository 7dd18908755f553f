package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// Each page is the only way to the next: crawler, mirror and WACZ read them alike, in any media type, coding and
// charset that a server sends. Packages mediatype, coding, charset and markup test each form.
func TestPages_ReadAlikeByEveryPart(t *testing.T) {
	t.Parallel()
	little, big := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	pages := []struct {
		fields string
		e      encoding.Encoding
		gzip   bool
	}{
		{"Content-Type: text/plain\r\nContent-Type: text/html", nil, false}, // the last counts
		{"Content-Type: html", nil, false},                                  // no media type: the first bytes decide
		{"Content-Type: text/html\r\nContent-Encoding: utf-8", nil, false},
		{"Content-Type: text/html\r\nContent-Encoding: gzip", nil, false},
		{"Content-Type: text/html\r\nContent-Encoding: utf-8, gzip", nil, true},
		{"Content-Type: text/html; charset=utf-16le", little, false},
		{"Content-Type: text/html; charset=utf-8", big, false}, // the mark wins
		{"Content-Type: text/html; charset=csISO2022JP", japanese.ISO2022JP, false},
	}
	say := func(fields, body string) crawltest.Page {
		answer := fmt.Sprintf("HTTP/1.1 200 OK\r\n%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", fields, len(body), body)
		return crawltest.Page{Raw: func(_ context.Context, conn net.Conn, _ *http.Request) bool {
			_, _ = io.WriteString(conn, answer) // it announces the close; otherwise the next request may miss it
			return true
		}}
	}
	site := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/": {Links: []string{"/p0"}, Embeds: []string{"/s.css"}}, "/d.png": {Type: "image/png", Body: "\x89PNG"},
		fmt.Sprintf("/p%d", len(pages)): say("Content-Type: text/html\r\nContent-Encoding: compress", "\x1f\x9d\x90"),
	}}
	for i, p := range pages {
		body := fmt.Sprintf(`<!DOCTYPE html><title>日本 p%d</title>表<a href="/p%d">on</a>`, i, i+1)
		if p.e != nil {
			var err error
			if body, err = p.e.NewEncoder().String(body); err != nil {
				t.Fatal(err)
			}
		}
		if p.gzip {
			body = gzipped(body)
		}
		site.Pages[fmt.Sprintf("/p%d", i)] = say(p.fields, body)
	}
	sheet, err := little.NewEncoder().String("a{background:url(/d.png)}")
	require.NoError(t, err)
	site.Pages["/s.css"] = say("Content-Type: text/css; charset=utf-16le", sheet)
	web := webOf(t, site)
	dir, file := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "mirror", "--delay", "0", "--quiet", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	inside(t, "export", "--format", "wacz", "-o", file, dir).want(t, cli.ExitDone)
	titles, files := unzipped(t, file)["pages/pages.jsonl"], filesOf(t, mirror.Tree(dir))
	leads := func(suffix, to string) bool {
		for name, text := range files {
			if strings.HasSuffix(name, suffix) && strings.Contains(strings.ReplaceAll(text, "\x00", ""), to) {
				return true
			}
		}
		return false
	}
	for i, p := range pages {
		assert.Containsf(t, titles, fmt.Sprintf(`"title":"日本 p%d"`, i), "%q: the WACZ does not know its title", p.fields)
		if to := fmt.Sprintf(`"p%d.html"`, i+1); i+1 < len(pages) && !leads(fmt.Sprintf("/p%d.html", i), to) {
			t.Errorf("%q: its copy does not lead to %s", p.fields, to)
		}
	}
	if !leads("/s.css", "url(d.png)") && !leads("/s.css", `url("d.png")`) {
		t.Error("the copy of the style sheet does not lead to the image")
	}
	assert.Contains(t, inside(t, "status", dir).out, "not read     1 (content coding)", "status")
	clean(t, dir)
}
