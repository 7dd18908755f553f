package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/export"
)

// The command exports any number of pages in 200 MiB of memory: 100,000, or as many as CURTSY_PAGES says.
func TestExportOfManyPagesStaysBelow200MiB(t *testing.T) {
	t.Parallel()
	if !full() { // a few thousand pages fit in any case
		t.Skip("it crawls many pages; CURTSY_LONG=1 runs it")
	}
	const hosts = 100
	perHost := 1000
	if n, err := strconv.Atoi(os.Getenv("CURTSY_PAGES")); err == nil {
		perHost = n / hosts
	}
	var sites []*crawltest.Site
	for i := range hosts {
		sites = append(sites, crawltest.Tree("host"+itoa(i)+".test", perHost))
	}
	web := crawltest.New(sites...)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	crawl := []string{"crawl", "--quiet", "--delay", "0", "--dir", dir}
	for _, s := range sites {
		crawl = append(crawl, web.LoopbackURL(s.Name))
	}
	ended(t, curtsyWithin(t, 30*time.Minute, crawl...)).want(t, cli.ExitDone)
	for _, way := range []string{"parquet", "parquet --no-language", "csv --no-language", "jsonl --no-language"} {
		out := filepath.Join(t.TempDir(), "out")
		args := append([]string{"export", "--tables", "pages,robots,decisions,hosts,errors,links", "-o", out, dir, "--format"}, strings.Fields(way)...)
		cmd := curtsyWithin(t, 30*time.Minute, args...)
		peak := tellingPeak(t, cmd)
		ended(t, cmd).want(t, cli.ExitDone)
		b, err := os.ReadFile(filepath.Join(out, export.ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		var m export.Manifest
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		for _, made := range m.Tables {
			t.Logf("%s %s: %d rows, %.1f MiB, %.1f s", way, made.Table, made.Rows, float64(made.Octets)/(1<<20), made.Seconds)
			if !made.Check.Agrees() || made.Table == "pages" && made.Rows != int64(hosts*(perHost+1)) || made.Table == "hosts" && made.Rows != hosts {
				t.Errorf("%s: %+v", way, made)
			}
		}
		held := peak()
		t.Logf("%s: %d MiB resident at most, %v of processor", way, held>>20, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if limit := int64(200 << 20); (held == 0 || held > limit) && !racing {
			t.Errorf("%d bytes were resident, more than %d", held, limit)
		}
	}
}
