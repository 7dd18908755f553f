package main

import (
	"bytes"
	"encoding/json"
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

// What ls prints leads to the records: each offset, and each id, with the block that it says.
func TestWARCListLeadsToTheRecords(t *testing.T) {
	t.Parallel()
	path, site := wgot(t)
	r := inside(t, "warc", "ls", "--json", path)
	if r.code != cli.ExitDone {
		t.Fatal(r.err)
	}
	statuses := map[string]int{}
	n := 0
	for line := range strings.Lines(r.out) {
		var l listed
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		n++
		if l.Type == "response" {
			statuses[strings.TrimPrefix(l.URL, site)] = l.Status
		}
		at := inside(t, "warc", "cat", path, fmt.Sprint(l.Offset))
		by := inside(t, "warc", "cat", path, "--id", l.ID)
		if at.code != cli.ExitDone || int64(len(at.out)) != l.Length || at.out != by.out {
			t.Errorf("%+v: %d octets at its offset, %d by its id, %s", l, len(at.out), len(by.out), at.err)
		}
	}
	if n < 8 || statuses["/"] != 200 || statuses["/robots.txt"] != 404 || statuses["/chunked"] != 200 {
		t.Errorf("%d records, %v", n, statuses)
	}
	if r := inside(t, "warc", "ls", path); strings.Count(r.out, "\n") != n || !strings.Contains(r.out, "\t404\ttext/plain\t") {
		t.Errorf("%s", r.out)
	}
}

// What is wrong ends check with 3, what cannot be read with 1, and a wrong call with 2.
func TestWARCCheckExitCodes(t *testing.T) {
	t.Parallel()
	path, _ := wgot(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	torn, zst := filepath.Join(dir, "torn.warc.gz"), filepath.Join(dir, "x.warc.zst")
	empty, none := filepath.Join(dir, "empty.warc.gz"), filepath.Join(dir, "text.warc")
	for p, b := range map[string][]byte{torn: whole[:len(whole)-9], zst: []byte("\x28\xb5\x2f\xfd\x00\x00"), empty: nil, none: []byte("text\n")} {
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"check", torn}, cli.ExitFound, "(torn)"},
		{[]string{"check", path, torn}, cli.ExitFound, "(same-id)"},
		{[]string{"check", zst}, cli.ExitFailed, ".warc.zst"},
		{[]string{"check", filepath.Join(dir, "none")}, cli.ExitUsage, "there is no file"},
		{[]string{"check", empty}, cli.ExitFound, "(no-record)"},
		{[]string{"check", torn}, cli.ExitFound, ": 1 finding\n"},
		{[]string{"ls", torn}, 0, "one thing is wrong"},
		{[]string{"ls", empty}, cli.ExitFailed, "no WARC record in " + empty},
		{[]string{"ls", path, none}, cli.ExitFailed, "no WARC record in " + none},
		{[]string{"check"}, cli.ExitUsage, "takes WARC files"},
		{[]string{"ls", zst}, cli.ExitFailed, ".warc.zst"},
		{[]string{"cat", path}, cli.ExitUsage, "OFFSET"},
		{[]string{"cat", path, "0", "--id", "x"}, cli.ExitUsage, "one of OFFSET"},
		{[]string{"cat", path, "x"}, cli.ExitUsage, "no offset"},
		{[]string{"cat", path, "1"}, cli.ExitFailed, "no record at offset 1"},
		{[]string{"cat", path, "--id", "x"}, cli.ExitFailed, "no such record"},
	} {
		r := inside(t, append([]string{"warc"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("%q: exit %d, want %d: %s%s", c.args, r.code, c.code, r.out, r.err)
		}
	}
}

// What an archive says reaches a terminal only in printable form.
func TestWARCListIsSafeForATerminal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.warc")
	evil := "WARC/1.1\r\nWARC-Type: re\x1b[2Jsponse\r\nWARC-Target-URI: http://a.test/\x1b]0;x\x07\u202e\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	if err := os.WriteFile(path, []byte(evil), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"ls", "check"} {
		if r := inside(t, "warc", verb, path); bytes.ContainsAny([]byte(r.out+r.err), "\x1b\x07\u202e") || r.out == "" {
			t.Errorf("%s: %q", verb, r.out+r.err)
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
