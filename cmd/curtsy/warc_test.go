package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/crawler/crawldir"
)

// The archive says what the crawl keeps to.
func TestWARCInfoSaysWhatTheCrawlKeepsTo(t *testing.T) {
	home(t, "")
	key := strings.TrimSpace(atHome(t, "ledger", "key").out)
	s, _ := given(t, "--agent", "bot", "--delay", "10ms", "--ip-delay", "700ms", "--own-site", "none")
	path := filepath.Join(t.TempDir(), crawldir.ConfigName)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := s.ArchiveInfo(filepath.Dir(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"product-token": "bot", "pace-floor-ms": "1000", "ip-delay-ms": "700", "max-crawl-delay-ms": "300000", "own-sites": "none",
		"keep-noarchive": "false", "ledger-key": key, "config-sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
	} {
		if got := info.Fields.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if other, err := s.ArchiveInfo("", []byte("y")); err != nil || other.Fields.Get("config-sha256") == info.Fields.Get("config-sha256") {
		t.Errorf("other settings have the same digest: %v", err)
	}
}
