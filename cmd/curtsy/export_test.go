package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
)

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
