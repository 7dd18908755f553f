package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// linesIn counts lines of files, the sorted index or plain segments of a ledger.
func linesIn(t *testing.T, pattern ...string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", pattern, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += int64(bytes.Count(b, []byte("\n")))
	}
	return n
}

// The command exports any number of pages in 200 MiB of memory: a million, or as many as CURTSY_PAGES says.
func TestExportOfManyPagesStaysBelow200MiB(t *testing.T) {
	t.Parallel()
	if !full() { // a few thousand pages fit in any case
		t.Skip("it writes a large archive; CURTSY_LONG=1 runs it")
	}
	pages := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("CURTSY_PAGES")); err == nil {
		pages = n
	}
	dir := sparse(t, pages)
	octets := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if fi, err := os.Stat(f); err == nil {
			octets += fi.Size()
		}
	}
	for i, way := range []string{"parquet", "parquet --no-language", "csv --no-language", "jsonl --no-language"} {
		out := filepath.Join(t.TempDir(), "out")
		named := ownTables
		if i == 0 {
			named += ",links"
		}
		args := append([]string{"export", "--tables", named, "-o", out, dir, "--format"}, strings.Fields(way)...)
		cmd := curtsyWithin(t, 30*time.Minute, args...)
		peak := tellingPeak(t, cmd)
		r := ended(t, cmd)
		r.want(t, cli.ExitDone)
		held := peak()
		all := exportedTo(t, out)
		for _, name := range []string{"pages", "decisions", "hosts", "robots", "errors", "links"} {
			m := all[name]
			t.Logf("%s %s: %d rows, %.1f MiB, %.1f s: %.0f rows/s, %.1f MiB/s", way, name, m.Rows, float64(m.Octets)/(1<<20), m.Seconds,
				float64(m.Rows)/max(m.Seconds, 0.001), float64(m.Octets)/(1<<20)/max(m.Seconds, 0.001))
		}
		t.Logf("%s: %d pages, crawl of %d MiB, %d MiB resident at most, %.0f s of processor", way, pages, octets>>20, held>>20,
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if all["pages"].Rows != int64(pages) || all["robots"].Rows != 1000 || all["hosts"].Rows != 1000 ||
			i == 0 && all["links"].Rows != linksOfSparse*int64(pages-1000) {
			t.Errorf("%+v", all)
		}
		if limit := int64(200 << 20); (held == 0 || held > limit) && !racing {
			t.Errorf("%d octets were resident, more than %d", held, limit)
		}
	}
}

// What a site can write into titles, URLs and fields comes out whole: one row for each answer, whatever is in it.
func TestExportOfAHostileSite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it measures memory")
	}
	huge := strings.Repeat("<p>word\n\"'`;=cmd|' /C calc'!A0\x00\xff ", 1<<20) // some 30 MiB
	pages := map[string]string{
		"/":                "<a href='/title'>t</a><a href='/bytes'>b</a><a href='/huge'>h</a><a href='/%00%0A%1b?a=%0d%0a&b=\x01\xff'>c</a><a href='/\U0001F9E0?q=\"x,y\"'>u</a><a href='/deep'>d</a>",
		"/title":           "<title>a\r\nb\t\"c\",d\x00\u2028 '=1+1'</title><meta name=description content='=HYPERLINK(\"x\")\n'>",
		"/bytes":           "<meta charset=utf-8><title>\xff\xfe\xc3\x28 \xed\xa0\x80</title>",
		"/huge":            "<title>" + strings.Repeat("long ", 1<<12) + "</title>" + huge,
		"/\x00\n\x1b":      "<title>control</title>",
		"/\U0001F9E0":      "<title>unicode</title>",
		"/deep":            strings.Repeat("<div>", 5000),
		"/robots.txt":      "User-agent: *\nDisallow: /\"a\",b\nSitemap: =cmd\n\x00\xff\n",
		"/favicon.ico":     "\x00\x01",
		"/never-asked-for": "",
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Odd", "\"a\", b; =cmd \xff")
		fmt.Fprint(w, page)
	}))
	defer site.Close()
	dir := filepath.Join(t.TempDir(), "hostile")
	inside(t, "crawl", "--quiet", "--delay", "0", "--max-wait", "1s", "--max-body", "100MiB", "--dir", dir, site.URL+"/").want(t, cli.ExitDone)
	captures, out := linesIn(t, dir, crawldir.IndexName, "*.cdxj"), filepath.Join(t.TempDir(), "out")
	cmd := curtsy(t, "export", "--headers", "--format", "jsonl", "-o", out, dir)
	peak := tellingPeak(t, cmd)
	ended(t, cmd).want(t, cli.ExitDone, "2 unparsed")
	if held := peak(); held > 200<<20 && !racing {
		t.Errorf("%d MiB were resident", held>>20)
	}
	if all := exportedTo(t, out); all["pages"].Rows != captures {
		t.Errorf("%d rows of %d captures", all["pages"].Rows, captures)
	}
	titles := map[string]any{}
	for _, row := range rowsOf(t, filepath.Join(out, "pages.jsonl")) {
		titles[strings.TrimPrefix(row["url"].(string), site.URL)] = row["title"]
	}
	if got := titles["/title"]; got != "a b \"c\",d\uFFFD '=1+1'" {
		t.Errorf("%q", got)
	}
	if got, ok := titles["/huge"].(string); !ok || len(got) > 1<<10 {
		t.Errorf("%.100q", got)
	}
	if got := titles["/%00%0A%1b?a=%0d%0a&b=%01%FF"]; got != "control" {
		t.Errorf("%q", titles)
	}
}
