package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// wgot mirrors a small site with wget into a WARC file and returns its path and the site's URL.
func wgot(t *testing.T, flags ...string) (path, site string) {
	t.Helper()
	skipWithout(t, "wget")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/chunked">x</a>`)
		case "/chunked":
			fmt.Fprint(w, "first ")
			_ = http.NewResponseController(w).Flush()
			fmt.Fprint(w, "second")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "wget", append([]string{"-q", "-r", "-e", "use_proxy=off", "--warc-file=w"}, append(flags, srv.URL+"/")...)...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // it fails because there is no robots.txt
	found, err := filepath.Glob(filepath.Join(dir, "w.warc*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("wget made %q, %v: %s", found, err, out)
	}
	return found[0], srv.URL
}

// What wget writes has angle brackets around its URLs: that is said, and nothing is wrong with it.
func TestWARCOfWgetPassesWithNotes(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--no-warc-compression"}} {
		path, site := wgot(t, flags...)
		r := inside(t, "warc", "check", path)
		if r.code != cli.ExitDone || !strings.Contains(r.out, "note: angle brackets") || !strings.Contains(r.err, "nothing wrong") {
			t.Fatalf("exit %d: %s%s", r.code, r.out, r.err)
		}
		for line := range strings.Lines(r.out) {
			if !strings.Contains(line, "note: ") {
				t.Errorf("no note: %s", line)
			}
		}
		if r = inside(t, "warc", "cat", "--payload", path, "--url", site+"/chunked"); r.out != "first second" {
			t.Errorf("the payload is %q: %s", r.out, r.err)
		}
		if r = inside(t, "warc", "cat", path, "--url", site+"/chunked"); !strings.HasPrefix(r.out, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("the block is %q: %s", r.out, r.err)
		}
	}
}

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
