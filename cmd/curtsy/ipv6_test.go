package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/mirror"
)

// sixSite is a site on the IPv6 loopback, with its requests and its access log.
type sixSite struct {
	port string

	mu  sync.Mutex
	got []string // host and target
	log strings.Builder
}

func newSixSite(t *testing.T) *sixSite {
	t.Helper()
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6 loopback: %v", err)
	}
	s := &sixSite{}
	srv := httptest.NewUnstartedServer(s)
	srv.Listener.Close()
	srv.Listener = listener
	srv.Start()
	t.Cleanup(srv.Close)
	_, s.port, _ = net.SplitHostPort(listener.Addr().String())
	return s
}

func (s *sixSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, status := "", http.StatusOK
	switch r.URL.Path {
	case "/robots.txt":
		body = "User-agent: *\nDisallow: /private\n"
	case "/":
		body = fmt.Sprintf(`<!DOCTYPE html><title>six</title><a href="a">a</a><a href="http://[0:0:0:0:0:0:0:1]:%[1]s/b">b</a><a href="//[::1]:%[1]s/c">c</a>
<a href="/private">p</a><a href="http://127.0.0.1:%[1]s/out">o</a><a href="http://[::2]:%[1]s/out">o</a><a href="http://[::1%%25lo]:%[1]s/zone">z</a>`, s.port)
	case "/a", "/b", "/c":
		body = "<!DOCTYPE html><title>leaf</title>"
	default:
		status = http.StatusNotFound
	}
	s.mu.Lock()
	s.got = append(s.got, r.Host+r.URL.Path)
	fmt.Fprintf(&s.log, "::1 - - [%s] \"GET %s HTTP/1.1\" %d %d \"-\" %q\n", time.Now().Format("02/Jan/2006:15:04:05 -0700"), r.URL.Path, status, len(body), r.UserAgent())
	s.mu.Unlock()
	if w.Header().Set("Content-Type", "text/html"); r.URL.Path == "/robots.txt" {
		w.Header().Set("Content-Type", "text/plain")
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// A literal IPv6 address is a host: in scope in each spelling, own on loopback, with robots.txt, archive, mirror, audit and log.
func TestAnIPv6AddressIsAHost(t *testing.T) {
	t.Parallel()
	s := newSixSite(t)
	dir := filepath.Join(t.TempDir(), "d")
	host := "[::1]:" + s.port
	inside(t, "mirror", "--quiet", "--delay", "0", "--dir", dir, "http://[0:0::0:1]:"+s.port+"/").want(t, cli.ExitDone)
	want := []string{host + "/", host + "/a", host + "/b", host + "/c", host + "/robots.txt"}
	got := slices.Sorted(slices.Values(s.got))
	if !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	for _, l := range ledgerLinesIn(t, dir) {
		if l.Attempt > 0 && (!l.Own || l.Addr.Addr().String() != "::1") {
			t.Errorf("%s: own %v, at %v", l.URL, l.Own, l.Addr)
		}
	}
	for name, text := range filesOf(t, mirror.Tree(dir)) {
		if strings.HasSuffix(name, "index.html") && !strings.Contains(text, `href="a.html"`) || strings.Contains(name, ":") {
			t.Errorf("%s: %q", name, text)
		}
	}
	log := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(log, []byte(s.log.String()), 0o600))
	for want, args := range map[string][]string{
		"1 of 1 host": {"audit", "--access-log", host + "=" + log, dir},
		"disallow":    {"explain", dir, "http://" + host + "/private"},
		"scope":       {"explain", dir, "http://[::2]:" + s.port + "/out"},
	} {
		if r := inside(t, args...); r.code != cli.ExitDone || !strings.Contains(r.out, want) {
			t.Errorf("%q: %d, %s %s; want %q", args, r.code, r.out, r.err, want)
		}
	}
}
