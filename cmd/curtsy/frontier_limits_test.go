package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
)

// A list as people make them, large: every bad line is in a list, the rest is used, each once.
func TestALongSeedListIsReadInPieces(t *testing.T) {
	t.Parallel()
	n := 10_000
	if full() {
		n = 1_000_000
	}
	// A host that answers: of a crawl that reached nobody the directory is withdrawn.
	web := crawltest.New(&crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {}}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	base := strings.TrimSuffix(web.LoopbackURL("a.test"), "/")
	var b strings.Builder
	b.WriteString("\ufeff# a list\r\n")
	bad := 0
	for i := range n {
		switch i % 10 {
		case 3:
			b.WriteString("garbage\r\n")
			bad++
		case 5:
			b.WriteString(base + "/0\r\n")
		case 7:
			b.WriteString("# nothing\r\n")
		default:
			fmt.Fprintf(&b, "%s/%d\ttag\r\n", base, i)
		}
	}
	b.WriteString(base + "/" + strings.Repeat("x", 1<<20) + "\r\n")
	bad++
	dir := filepath.Join(t.TempDir(), "d")
	r := inside(t, "crawl", "--max-bytes", "1B", "--max-time", "1ms", "--quiet", "--json", "--dir", dir, "--seeds", write(t, b.String()))
	if lines := strings.Count(r.err, "ignored"); lines != config.MaxComplaints+1 || !strings.Contains(r.err, itoa(bad)+" lines ignored in total; "+inDir(dir, crawldir.BadSeedsName)) {
		t.Errorf("%d lines; %.3000s", lines, r.err)
	}
	if !strings.Contains(r.err, itoa(n/10)+" seeds given more than once") {
		t.Errorf("%.3000s", r.err)
	}
	list, err := os.ReadFile(inDir(dir, crawldir.BadSeedsName))
	if err != nil || strings.Count(string(list), "\n") != bad || len(list) > 300*bad {
		t.Errorf("%v: %d lines and %d octets, want %d lines", err, strings.Count(string(list), "\n"), len(list), bad)
	}
	var s status.Status
	if err := json.Unmarshal([]byte(inside(t, "status", "--json", dir).out), &s); err != nil {
		t.Fatal(err)
	}
	if want := int64(n / 10 * 7); s.Discovered != want {
		t.Errorf("%d URLs, want %d", s.Discovered, want)
	}
	inside(t, "frontier", "add", "--seeds", write(t, "garbage\n"+base+"/new\n"), dir).want(t, cli.ExitDone, ":1: seed")
}
