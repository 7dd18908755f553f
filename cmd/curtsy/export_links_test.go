package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// Every mention of a page is a row, however many there are and whatever is in them; where a page is not read to its end,
// a row says so.
func TestExportLinksOfAHostileSite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it measures memory")
	}
	const many = 10_000
	var b strings.Builder
	b.WriteString("x<a href=/huge>h</a><a href=/deep>d</a>")
	for i := range many {
		fmt.Fprintf(&b, "<a href=/n/%d rel='nofollow \"x\"'>=cmd|' /C %d\n\xff</a>", i%(many/2), i)
	}
	b.WriteString("<a href='mailto:a\"b,c'>m</a><a href='/\x01%00\n\xff?=1+1'>\x00</a><a href='http://[/'>bad</a><a href='#'>self</a>")
	const each = "<p>word <a href=/>home</a>\n" // 26 bytes
	pages := map[string]string{
		"/":     b.String(),
		"/huge": strings.Repeat(each, 800_000),
		"/deep": strings.Repeat("<table><td>", 600) + "<a href=/lost>l</a>",
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
	defer site.Close()
	dir, out := filepath.Join(t.TempDir(), "hostile"), filepath.Join(t.TempDir(), "out")
	inside(t, "crawl", "--quiet", "--delay", "0", "--max-wait", "1s", "--max-body", "100MiB", "--dir", dir, site.URL+"/").want(t, cli.ExitDone)
	cmd := curtsy(t, "export", "--tables", "links", "--format", "jsonl", "-o", out, dir)
	peak := tellingPeak(t, cmd)
	ended(t, cmd).want(t, cli.ExitDone)
	if held := peak(); held > 300<<20 && !racing {
		t.Errorf("%d MiB were resident", held>>20)
	}
	n, why, unread := map[string]int{}, map[string]int{}, map[string]string{}
	for _, row := range rowsOf(t, filepath.Join(out, "links.jsonl")) {
		from := strings.TrimPrefix(row["source_url"].(string), site.URL)
		n[from]++
		if int(row["position"].(float64)) != n[from] {
			t.Fatalf("row %d of %s has position %v", n[from], from, row["position"])
		}
		if reason, ok := row["why_not"].(string); ok && from == "/" {
			why[reason]++
		}
		if row["kind"] == "unread" {
			unread[from] = row["why_not"].(string)
		}
	}
	// The page of 20 MiB is read as far as its first 131,072 start tags go: each piece has two.
	tags := 1<<17/2 + 1
	if n["/"] != many+6 || n["/deep"] != 1 || n["/huge"] < tags-2 || n["/huge"] > tags+2 {
		t.Errorf("rows: %v", n)
	}
	if unread["/huge"] != "over 131072 tags" || unread["/deep"] != "512 open elements" || len(unread) != 2 {
		t.Errorf("unread: %v", unread)
	}
	if why["scheme"] != 1 || why["malformed"] != 1 || why["scope:nofollow"] != many {
		t.Errorf("why not: %v", why)
	}
}
