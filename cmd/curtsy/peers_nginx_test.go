//go:build peers

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/foreigntest"
)

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

// asked counts the requests since the last call by status and target.
func (s *server) asked() map[string]map[string]int {
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
	ours := s.asked()
	for status, targets := range ours {
		for target, n := range targets {
			assert.LessOrEqualf(t, n, 1, "%s was asked for %d times (status %s)", target, n, status)
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
	theirs := s.asked()
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
