//go:build peers

package main

import (
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/foreigntest"
)

// Real input in full size (.ci/long): documentation under nginx. There are as many rows as records and lines, in 200 MiB of
// memory but for the table of texts.
func TestPeers_ExportOfDocumentation(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("it crawls ten thousand pages: CURTSY_LONG runs it")
	}
	for name, folder := range map[string]string{"python3-doc": "doc/python3/html", "openjdk-17-doc": "doc/openjdk-17-jre-headless/api"} {
		s := serveFiles(t, foreigntest.Corpus(t, folder, name))
		dir := filepath.Join(t.TempDir(), name)
		begin := time.Now()
		crawl := curtsyWithin(t, time.Hour, "crawl", "--quiet", "--delay", "0", "--per-host", "8", "--dir", dir, "http://"+s.addr+"/index.html")
		if r := ended(t, crawl); r.code != cli.ExitDone && r.code != cli.ExitIncomplete {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
		t.Logf("%s: crawled in %.0f s", name, time.Since(begin).Seconds())
		s.stop()
		out := filepath.Join(t.TempDir(), "out")
		// Texts are megabytes each; how much of them the format holds is the matter of package sink.
		for _, tables := range []string{ownTables + ",links,duplicates,headers", "text"} {
			cmd := curtsyWithin(t, time.Hour, "export", "--tables", tables, "-o", out, dir)
			peak := tellingPeak(t, cmd)
			r := ended(t, cmd)
			r.want(t, cli.ExitDone)
			held := peak()
			t.Logf("%s, %s: %d MiB resident at most; processor %.1f s\n%s", name, tables, held>>20,
				(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), r.err)
			if limit := int64(200 << 20); tables != "text" && held > limit && !racing {
				t.Errorf("%d MiB were resident", held>>20)
			}
		}
		all := exportedTo(t, out)
		if captures := linesIn(t, dir, crawldir.IndexName, "*.cdxj"); all["pages"].Rows != captures || all["pages"].Rows < 400 {
			t.Errorf("%d rows of %d captures", all["pages"].Rows, captures)
		}
		for _, m := range all {
			t.Logf("%s %s: %d rows, %.1f MiB, %.1f s: %.0f rows/s, %.2f MiB/s", name, m.Table, m.Rows, float64(m.Octets)/(1<<20), m.Seconds,
				float64(m.Rows)/max(m.Seconds, 0.001), float64(m.Octets)/(1<<20)/max(m.Seconds, 0.001))
		}
	}
}
