package leaks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// wiretap records all outgoing bytes, and connects to a TLS server named example.com, or responds itself.
type wiretap struct {
	server *httptest.Server
	set    *fetch.Set
	wg     sync.WaitGroup
	mu     sync.Mutex
	sent   bytes.Buffer
}

type tapped struct {
	net.Conn
	tap *wiretap
}

func (c tapped) Write(p []byte) (int, error) {
	c.tap.mu.Lock()
	c.tap.sent.Write(p)
	c.tap.mu.Unlock()
	return c.Conn.Write(p)
}

func (w *wiretap) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent.String()
}

// dial is a server without TLS, and a proxy to the server with TLS.
func (w *wiretap) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if strings.HasSuffix(address, ":443") {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
		return tapped{conn, w}, err
	}
	near, far := net.Pipe()
	w.wg.Go(func() {
		defer func() { _ = far.Close() }()
		br := bufio.NewReader(far)
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if r.Method != http.MethodConnect {
			_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
			return
		}
		to, err := net.Dial("tcp", w.server.Listener.Addr().String())
		if err != nil {
			return
		}
		defer func() { _ = to.Close() }()
		_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\n\r\n")
		done := make(chan struct{})
		go func() { _, _ = io.Copy(far, to); _ = far.Close(); close(done) }()
		_, _ = io.Copy(to, br)
		_ = to.Close()
		<-done
	})
	return tapped{near, w}, nil
}

// tap returns a fetcher with credentials for https://example.com and http://example.org, whose bytes are recorded.
func tap(t *testing.T, through string) (*wiretap, *fetch.Fetcher, <-chan string) {
	t.Helper()
	got := make(chan string, 10)
	w := &wiretap{}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Authorization") }))
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	field, err := fetch.ParseAuth(user + ":" + password)
	require.NoError(t, err)
	set := &fetch.Set{}
	for _, own := range []string{"https://example.com/", "http://example.org/"} {
		require.NoError(t, set.Add(at(t, own).Authority(), field))
	}
	w.set = set
	c := fetch.Config{Identity: fetch.Identity{Contact: "crawl@library.org"}, RootCAs: roots, SpoolDir: t.TempDir(), Credentials: set, Dial: w.dial,
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}}
	if through != "" {
		p, err := fetch.Parse(through)
		require.NoError(t, err)
		c.Proxy = fetch.Always(p)
	}
	f, err := fetch.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close(); w.wg.Wait(); w.server.Close() })
	return w, f, got
}

func at(t *testing.T, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

// requestPage requests a URL whose host the caller calls its own.
func requestPage(t *testing.T, f *fetch.Fetcher, raw string, own string, want func(int, http.Header) string) *fetch.Exchange {
	t.Helper()
	r := fetch.Request{URL: at(t, raw), Want: want}
	if own != "" {
		r.Own = at(t, own).Authority()
	}
	ex, err := f.Do(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, ex.Close())
	return ex
}

func TestCredentials_GoToProvedAuthorityOnly(t *testing.T) {
	_, f, got := tap(t, "")
	if ex := requestPage(t, f, "https://example.com/", "https://example.com/", nil); ex.Failure != nil || <-got != basic() || !strings.Contains(string(ex.Request), "Authorization: (masked)\r\n") {
		t.Fatalf("%v: the host itself got no credentials: %q", ex.Failure, ex.Request)
	}
	for name, tt := range map[string]struct{ url, own string }{
		"no setting marks the host as own":            {"https://example.com/", ""},
		"another host is own":                         {"https://example.com/", "https://www.example.com/"},
		"the same host without TLS is own":            {"https://example.com/", "http://example.com/"},
		"another port is own":                         {"https://example.com/", "https://example.com:8443/"},
		"the same host without TLS":                   {"http://example.com/", "http://example.com/"},
		"the same host without TLS, and https is own": {"http://example.com/", "https://example.com/"},
		"another port":                                {"http://example.com:8080/", "https://example.com/"},
		"another host":                                {"http://www.example.com/", "https://example.com/"},
	} {
		t.Run(name, func(t *testing.T) {
			w, f, got := tap(t, "")
			ex := requestPage(t, f, tt.url, tt.own, nil)
			if ex.Failure != nil || !strings.Contains(string(ex.Request), "GET / ") {
				t.Fatalf("%v: %q", ex.Failure, ex.Request)
			}
			if strings.Contains(string(ex.Request), fetch.Masked) || leaked([]byte(w.text()), 0) != "" || strings.HasPrefix(tt.url, "https") && <-got != "" {
				t.Errorf("it got credentials: %s", w.text())
			}
		})
	}
}

func TestCredentials_ProxiesSeeNone(t *testing.T) {
	t.Run("a proxy that leads by CONNECT sees none, and the host behind it does", func(t *testing.T) {
		w, f, got := tap(t, "http://proxy.library.org:3128")
		ex := requestPage(t, f, "https://example.com/", "https://example.com/", nil)
		if ex.Failure != nil || <-got != basic() {
			t.Fatalf("%v", ex.Failure)
		}
		if !strings.Contains(w.text(), "CONNECT example.com:443") || leaked([]byte(w.text()), 0) != "" {
			t.Errorf("%.300q", w.text())
		}
	})
	t.Run("a proxy that forwards gets none", func(t *testing.T) {
		w, f, _ := tap(t, "http://proxy.library.org:3128")
		ex := requestPage(t, f, "http://example.org/", "http://example.org/", nil)
		if !strings.Contains(w.text(), "GET http://example.org/") || leaked([]byte(w.text()), 0) != "" || strings.Contains(string(ex.Request), fetch.Masked) {
			t.Errorf("%v: %q", ex.Failure, w.text())
		}
	})
	t.Run("the password of a proxy is in no stored request and in no error", func(t *testing.T) {
		w, f, _ := tap(t, "http://"+user+":Tr0ub4dor%263-zebra@proxy.library.org:3128")
		ex := requestPage(t, f, "http://example.com/", "", nil)
		if leaked([]byte(w.text()), 0) == "" || leaked(ex.Request, 0) != "" || leaked(fmt.Appendf(nil, "%v %+v %s", ex.Failure, ex, ex.Proxy), 0) != "" {
			t.Errorf("%q: %q", w.text(), ex.Request)
		}
	})
}

func TestCredentials_APanicShowsNone(t *testing.T) {
	w, f, got := tap(t, "")
	var sent []byte
	func() {
		defer func() { sent = fmt.Appendf(sent, "%v\n%s", recover(), debug.Stack()) }()
		requestPage(t, f, "https://example.com/", "https://example.com/", func(int, http.Header) string {
			panic(fmt.Sprintf("%v %+v %#v %+v %#v", f, f, f, *w.set, w.set.Of(at(t, "https://example.com/").Authority())))
		})
	}()
	if <-got != basic() || !bytes.Contains(sent, []byte("goroutine")) || leaked(sent, 0) != "" {
		t.Errorf("%.2000s", sent)
	}
}

// The errors of a closed connection and of a wrong certificate do not show the request.
func TestCredentials_AnErrorOfTheConnectionShowsNone(t *testing.T) {
	w, f, _ := tap(t, "")
	w.server.TLS.Certificates = []tls.Certificate{}
	w.server.CloseClientConnections()
	ex := requestPage(t, f, "https://example.com/", "https://example.com/", nil)
	if ex.Failure == nil || leaked(fmt.Appendf(nil, "%v %+v %#v", ex.Failure, ex, errors.Unwrap(ex.Failure)), 0) != "" {
		t.Errorf("%v", ex.Failure)
	}
}
