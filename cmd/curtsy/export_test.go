package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/export"
)

// Exports stay below 200 MiB for 100,000 pages, or for CURTSY_EXPORT_PAGES, at least 100.
func TestExportOfManyPagesStaysBelow200MiB(t *testing.T) {
	t.Parallel()
	if !full() { // a few thousand pages fit in any case
		t.Skip("it crawls many pages; CURTSY_LONG=1 runs it")
	}
	const hosts = 100
	perHost := 1000
	if pages := os.Getenv("CURTSY_EXPORT_PAGES"); pages != "" {
		n, err := strconv.Atoi(pages)
		require.NoError(t, err)
		require.GreaterOrEqualf(t, n, hosts, "CURTSY_EXPORT_PAGES is %q, want one page of each host at least", pages)
		perHost = n / hosts
	}
	var sites []*crawltest.Site
	for i := range hosts {
		sites = append(sites, crawltest.Tree("host"+itoa(i)+".test", perHost))
	}
	web := webOf(t, sites...)
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
		var m export.Manifest
		require.NoError(t, json.Unmarshal(fileOf(t, filepath.Join(out, export.ManifestName)), &m))
		rows := map[string]int64{}
		for _, made := range m.Tables {
			rows[made.Table] = made.Rows
			t.Logf("%s %s: %d rows, %.1f MiB, %.1f s", way, made.Table, made.Rows, float64(made.Octets)/(1<<20), made.Seconds)
			assert.Truef(t, made.Check.Agrees(), "%s: %+v", way, made)
		}
		// Each page except the first of a host links to its parent, and back.
		for table, want := range map[string]int{"pages": hosts * (perHost + 1), "hosts": hosts, "robots": hosts, "links": hosts * 2 * (perHost - 1)} {
			if rows[table] != int64(want) {
				t.Errorf("%s: table %s has %d rows, want %d", way, table, rows[table], want)
			}
		}
		held := peak()
		t.Logf("%s: %d MiB resident at most, %v of processor", way, held>>20, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if limit := int64(200 << 20); (held == 0 || held > limit) && !racing {
			t.Errorf("%d bytes were resident, more than %d", held, limit)
		}
	}
}
