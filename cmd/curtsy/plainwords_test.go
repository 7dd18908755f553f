package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/fetch"
	"curtsy/storage/plainly"
)

// Each class of failure has plain words, which a command takes for the class, too.
func TestEachClassOfFailureHasPlainWords(t *testing.T) {
	t.Parallel()
	for _, class := range []fetch.Class{
		fetch.DNS, fetch.NXDomain, fetch.PrivateAddress, fetch.Connect, fetch.NoRoute, fetch.TLS, fetch.TLSIssuer, fetch.TLSName, fetch.TLSExpired, fetch.Timeout, fetch.Reset,
		fetch.Protocol, fetch.Incomplete, fetch.Coding, fetch.Stopped,
	} {
		name := string(class)
		w := plainly.Reason(name)
		if w == name || !strings.Contains(w, " ") {
			t.Errorf("%s: %q", name, w)
		}
		if plainly.Name(w) != name || plainly.Name(name) != name || plainly.Name("robots.txt: "+w) != "robots.txt: "+name {
			t.Errorf("%q does not lead back to %q", w, name)
		}
	}
}

// raw is what no text for people may say: names of classes that are no plain words, of packages, of system calls.
var raw = regexp.MustCompile(`nxdomain|\bconnect\b|\breset\b|\bdns\b|dial tcp|lookup |\bEOF\b|syscall|bbolt|frontier/bolt|\bfetch: |crawler: |\bstat /|mkdir /|open /|read tcp`)

// Whatever goes wrong with a host, the commands that speak of it say so in plain words.
func TestWhateverFailsIsSaidInPlainWords(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	noise, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer noise.Close()
	go func() {
		for {
			c, err := noise.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "SSH-2.0-none\r\n")
			c.Close()
		}
	}()
	there, _ := small(t)
	for name, seed := range map[string]string{
		"connect": deadPort(t), "reset": mute(t), "tls": "https" + strings.TrimPrefix(plain.URL, "http") + "/",
		"tls unknown issuer": secure.URL + "/", "tls wrong name": strings.Replace(secure.URL, "127.0.0.1", "localhost", 1) + "/", "protocol": "http://" + noise.Addr().String() + "/",
	} {
		dir := filepath.Join(t.TempDir(), "d")
		r := shared(t, "crawl", "--delay", "0", "--max-wait", "1s", "-v", "--dir", dir, seed, there)
		if r.code != cli.ExitIncomplete {
			t.Errorf("%s: exit code %d", name, r.code)
		}
		texts := []string{r.err}
		for _, args := range [][]string{{"status", dir}, {"frontier", "ls", dir}, {"frontier", "ls", "--urls", dir}, {"explain", dir, seed}, {"robots", "check", seed}} {
			one := shared(t, args...)
			texts = append(texts, one.out, one.err)
		}
		said := strings.Join(texts, "\n")
		if m := raw.FindString(said); m != "" {
			t.Errorf("%s: %q is said:\n%s", name, m, said)
		}
		if strings.Count(said, plainly.Reason(name)) < 5 {
			t.Errorf("%s: %q is not said everywhere:\n%s", name, plainly.Reason(name), said)
		}
		if one := shared(t, "frontier", "ls", "--reason", "robots.txt: "+plainly.Reason(name), dir); strings.Count(one.out, "\n") != 2 {
			t.Errorf("%s: its words do not find it: %q", name, one.out)
		}
	}
}

// What is wrong with files and directories is said without the names of calls and packages.
func TestWrongFilesAreSaidInPlainWords(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	shared(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed)
	if err := os.WriteFile(inDir(dir, crawldir.FrontierName), []byte(strings.Repeat("no frontier", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{
		{"status", dir}, {"resume", dir}, {"frontier", "ls", dir}, {"frontier", "export", dir}, {"frontier", "repair", "--dry-run", dir}, {"explain", dir, seed},
		{"status", none}, {"audit", none}, {"robots", "lint", none}, {"crawl", "--seeds", none}, {"crawl", "--config", none, seed}, {"crawl", "--ca-file", none, "--dir", none, seed},
		{"warc", "ls", none}, {"warc", "index", none}, {"frontier", "import", dir, none}, {"crawl", "--dedup", none, "--dir", none, seed}, {"mirror", "serve", none}, {"report", none},
		{"crawl", "--dir", filepath.Join(dir, crawldir.ConfigName, "x"), seed}, {"export", "--format", "wacz", "-o", filepath.Join(none, "x.wacz"), dir},
	} {
		r := shared(t, args...)
		if m := raw.FindString(r.err + r.out); m != "" || r.code == cli.ExitDone {
			t.Errorf("curtsy %s: exit code %d, %q is said: %s%s", strings.Join(args, " "), r.code, m, r.err, r.out)
		}
	}
}
