//go:build peers

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/foreigntest"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// systemd reads the unit without warnings, and rates it as hardened.
func TestPeers_SystemdUnitIsHardened(t *testing.T) {
	t.Parallel()
	skipWithout(t, "systemd-analyze")
	path := filepath.Join("..", "..", "docs", "deploy", unit)
	for _, args := range [][]string{
		{"verify", "--man=no", path},
		{"security", "--offline=true", "--threshold=20", path}, // tenths
	} {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

// struck matches letters printed twice.
var struck = regexp.MustCompile(".\b")

func TestPeers_MandocReadsManualPages(t *testing.T) {
	t.Parallel()
	skipWithout(t, "mandoc")
	prefix := t.TempDir()
	inside(t, "install-docs", "--prefix", prefix).want(t, cli.ExitDone)
	man := filepath.Join(prefix, "share", "man")
	pages, err := filepath.Glob(filepath.Join(man, "man1", "*.1"))
	require.NoError(t, err)
	require.GreaterOrEqualf(t, len(pages), 50, "%d pages, %v", len(pages), err)
	lint := exec.CommandContext(t.Context(), "mandoc", append([]string{"-Tlint", "-W", "error"}, pages...)...)
	lint.Dir = filepath.Dir(pages[0])
	if out, err := lint.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "mandoc", "-Tascii", filepath.Join(man, "man1", "curtsy-crawl.1")).Output()
	require.NoError(t, err)
	text := struck.ReplaceAllString(string(out), "")
	for _, want := range []string{"curtsy-crawl - Crawl from seeds", "--max-per-domain", "Scopes, for --scope:", "EXIT STATUS", "curtsy crawl --dry-run --seeds list.txt"} {
		assert.Containsf(t, text, want, "%q is not in\n%s", want, text)
	}
}

// wgot returns a WARC file of wget and the URL of its site.
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
	out, _ := cmd.CombinedOutput() // it fails without robots.txt
	found, err := filepath.Glob(filepath.Join(dir, "w.warc*"))
	require.NoError(t, err)
	require.Lenf(t, found, 1, "wget made %q, %v: %s", found, err, out)
	return found[0], srv.URL
}

// wget writes angle brackets around URLs, which is only a note.
func TestPeers_WgetWARCPasses(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--no-warc-compression"}} {
		path, site := wgot(t, flags...)
		r := inside(t, "warc", "check", path)
		if r.code != cli.ExitDone || !strings.Contains(r.out, "note: angle brackets") || !strings.Contains(r.err, "nothing wrong") {
			t.Fatalf("exit %d: %s%s", r.code, r.out, r.err)
		}
		for line := range strings.Lines(r.out) {
			assert.Contains(t, line, "note: ", "no note")
		}
		if r = inside(t, "warc", "cat", "--payload", path, "--url", site+"/chunked"); r.out != "first second" {
			t.Errorf("the payload is %q: %s", r.out, r.err)
		}
		if r = inside(t, "warc", "cat", path, "--url", site+"/chunked"); !strings.HasPrefix(r.out, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("the block is %q: %s", r.out, r.err)
		}
	}
}

// The access log of nginx confirms each request of a crawl.
func TestPeers_NginxLogConfirmsAudit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"robots.txt": "User-agent: *\nDisallow: /no/\n",
		"index.html": `<a href="a.html">a</a> <a href="gone.html">b</a> <a href="/no/x.html">c</a> <a href="q%22&quot;.html?x=%5C">d</a>`,
		"a.html":     "a",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	s := serveFiles(t, root)
	dir := filepath.Join(t.TempDir(), "d")
	ended(t, curtsy(t, "crawl", "--delay", "0", "--quiet", "--dir", dir, "http://"+s.addr+"/")).want(t, cli.ExitDone)
	log := filepath.Join(filepath.Dir(s.log), "combined.log")
	r := clean(t, "--access-log", log, dir)
	if r.Level != audit.ConfirmedByLog || r.Logs[0].Agree != 5 || r.Logs[0].Extra+r.Logs[0].Missing+r.Logs[0].Outside != 0 {
		b, _ := os.ReadFile(log)
		t.Errorf("%s %+v\n%s", r.Level, r.Logs[0], b)
	}
	b := fileOf(t, log)
	lines := strings.SplitAfter(string(b), "\n") // the date of another line: the audit ignores lines after the crawl
	other := regexp.MustCompile(`"GET [^"]*"(.*) "[^"]*"\n$`).ReplaceAllString(lines[0], `"GET /no/x.html HTTP/1.1"$1 "Mozilla/5.0"`+"\n")
	require.NoError(t, os.WriteFile(log, append(b, other...), 0o600))
	clean(t, "--access-log", "127.0.0.1="+log, dir) // by its name, another client
	namedBy(t, finding.LogExtra, "--access-log", "127.0.0.1="+log, "--from", "127.0.0.1", dir)
}

func violated(r *audit.Result) (all []string) {
	for _, c := range r.Counts {
		if c.Found > c.Notes {
			all = append(all, string(c.Code))
		}
	}
	return all
}

// namedBy fails unless the audit finds a violation with the code, in JSON and text.
func namedBy(t *testing.T, code finding.Code, args ...string) {
	t.Helper()
	r, exit := audited(t, args...)
	if exit != cli.ExitFound || !slices.Contains(violated(r), string(code)) {
		b, _ := json.MarshalIndent(r.Findings, "", " ")
		t.Errorf("exit code %d, %v; want %s\n%.4000s", exit, violated(r), code, b)
	}
	if text := shared(t, append([]string{"audit"}, args...)...); text.code != cli.ExitFound || !strings.Contains(text.out, "  "+string(code)+": ") {
		t.Errorf("exit code %d\n%s", text.code, text.out)
	}
}

func pythonDocs(t *testing.T) string {
	t.Helper()
	return foreigntest.Corpus(t, "doc/python3/html", "python3-doc")
}

// server is nginx on a loopback port with an access log.
type server struct {
	t    *testing.T
	addr string
	log  string
	stop func() // may be called more than once
}

// serveFiles serves a folder, with more directives.
func serveFiles(t *testing.T, root string, directives ...string) *server {
	t.Helper()
	skipWithout(t, "nginx")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	inherited, err := l.(*net.TCPListener).File()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	defer inherited.Close()
	dir := t.TempDir()
	s := &server{t: t, addr: addr, log: filepath.Join(dir, "access.log")}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	config := fmt.Sprintf(`daemon off; %s pid %[2]s/pid; error_log %[2]s/error.log;
events {}
http {
  include /etc/nginx/mime.types;
  log_format target '$status $request_uri';
  access_log %[2]s/access.log target;
  access_log %[2]s/combined.log combined;
  client_body_temp_path %[2]s/b; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
  server { listen %[3]s; root %[4]s; absolute_redirect on; %[5]s }
}
`, user, dir, addr, root, strings.Join(directives, "\n"))
	path := filepath.Join(dir, "nginx.conf")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	cmd := exec.Command("nginx", "-p", dir, "-c", path)
	// It takes over the socket, as on an upgrade of its binary: no other test can get the port.
	cmd.ExtraFiles, cmd.Env = []*os.File{inherited}, append(os.Environ(), "NGINX=3;")
	require.NoError(t, cmd.Start())
	s.stop = sync.OnceFunc(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() })
	t.Cleanup(s.stop)
	eventually(t, "nginx answers at "+addr, func() bool { return answers("tcp", addr) })
	return s
}

// answers reports whether a server listens at an address.
func answers(network, address string) bool {
	c, err := net.Dial(network, address)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// logged is requested last, so that its line follows all others: nginx logs after the response.
const logged = "/all-is-logged"

// counts counts the requests since the last call by status and target.
func (s *server) counts() map[string]map[string]int {
	s.t.Helper()
	answer, err := http.Get("http://" + s.addr + logged)
	require.NoError(s.t, err)
	answer.Body.Close()
	eventually(s.t, "the log of nginx is whole", func() bool {
		b, err := os.ReadFile(s.log)
		return err == nil && strings.Contains(string(b), logged)
	})
	f, err := os.Open(s.log)
	require.NoError(s.t, err)
	defer f.Close()
	out := map[string]map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		status, target, _ := strings.Cut(lines.Text(), " ")
		if target == logged {
			continue
		}
		if out[status] == nil {
			out[status] = map[string]int{}
		}
		out[status][target]++
	}
	require.NoError(s.t, os.Truncate(s.log, 0))
	return out
}

// The documentation of Python under nginx: curtsy fetches each page once, and the same pages as wget (docs/dev/contributing.md).
func TestPeers_PythonDocsAsWget(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("a real server and a whole site")
	}
	s := serveFiles(t, pythonDocs(t))
	dir := filepath.Join(t.TempDir(), "d")
	r := ended(t, curtsy(t, "crawl", "--delay", "0", "--json", "--dir", dir, "http://"+s.addr+"/"))
	r.want(t, cli.ExitDone)
	var summary crawler.Summary
	require.NoError(t, json.Unmarshal([]byte(r.out), &summary))
	ours := s.counts()
	for status, targets := range ours {
		for target, n := range targets {
			assert.LessOrEqualf(t, n, 1, "%s was requested %d times (status %s)", target, n, status)
		}
	}
	if n := int64(len(ours["200"])); n != summary.Status.Fetched || n < 500 {
		t.Errorf("the server answered %d targets with 200, we count %d fetched", n, summary.Status.Fetched)
	}
	for target, where := range sheets {
		assert.Equalf(t, 1, ours["200"][target], "%s was not fetched: %s", target, where)
	}
	reopened(t, dir)

	skipWithout(t, "wget")
	if out, err := exec.Command("wget", "-q", "-r", "-l", "inf", "-p", "-P", t.TempDir(), "http://"+s.addr+"/").CombinedOutput(); err != nil && len(out) > 0 {
		t.Fatalf("wget: %v: %s", err, out)
	}
	theirs := s.counts()
	onlyOurs, onlyTheirs := difference(ours["200"], theirs["200"]), difference(theirs["200"], ours["200"])
	t.Logf("%d fetched; only by curtsy: %q; only by wget: %q", len(ours["200"]), onlyOurs, onlyTheirs)
	for _, target := range onlyOurs {
		t.Errorf("%s was fetched by curtsy only, and no reason is known", target)
	}
	for _, target := range onlyTheirs {
		t.Errorf("%s was fetched by wget only, and no reason is known", target)
	}
}

// sheets are the files that only style sheets name. docs/dev/contributing.md has the table.
var sheets = map[string]string{
	"/_static/default.css":    "@import of pydoctheme.css",
	"/_static/classic.css":    "@import of default.css",
	"/_static/basic.css":      "@import of classic.css",
	"/_static/file.png":       "url() in basic.css",
	"/_static/caret-down.svg": "url() in pydoctheme.css",
}

// difference returns the targets of a that b lacks.
func difference(a, b map[string]int) []string {
	var out []string
	for target := range a {
		if _, ok := b[target]; !ok {
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return out
}
