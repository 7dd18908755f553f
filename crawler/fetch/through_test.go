package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func by(t testing.TB, raw string) *Chooser {
	t.Helper()
	p, err := Parse(raw)
	require.NoError(t, err)
	return Always(p)
}

func unresolved(t testing.TB) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		assert.Equal(t, "proxy.lab.dev", host, "another name is looked up")
		return []netip.Addr{netip.MustParseAddr("10.9.8.7")}, nil // a private network: a proxy may be there
	}
}

const hidden = "am86czNjcjN0" // jo:s3cr3t

func TestProxy_ForwardsHTTP(t *testing.T) {
	var heads []string
	w := &world{serve: func(_ int, conn net.Conn) {
		for head := request(conn); head != ""; head = request(conn) {
			heads = append(heads, head)
			say(conn, ok("hello"))
		}
	}}
	f := w.fetcher(t, Config{Identity: known, Proxy: by(t, "http://jo:s3cr3t@proxy.lab.dev:3128"), Resolve: unresolved(t), KeepAlive: time.Hour})
	for _, path := range []string{"a", "b"} {
		x := get(t, f, "http://www.example.org:8080/"+path+"?q")
		if x.Status != 200 || text(t, x.Body) != "hello" || x.Addr.IsValid() || x.Proxy != "http://proxy.lab.dev:3128" {
			t.Fatalf("%+v", x)
		}
		if !strings.HasPrefix(string(x.Request), "GET http://www.example.org:8080/"+path+"?q HTTP/1.1\r\nHost: www.example.org:8080\r\n") ||
			!strings.HasSuffix(string(x.Request), "\r\n\r\n") || strings.Contains(string(x.Request), "Proxy-Authorization") {
			t.Errorf("kept: %q", x.Request)
		}
	}
	closed(t, f)
	w.wg.Wait()
	assert.Equal(t, "10.9.8.7:3128", strings.Join(w.dialed, " "))
	assert.Len(t, heads, 2)
	for _, head := range heads {
		assert.Contains(t, head, "Proxy-Authorization: Basic "+hidden+"\r\n", "the proxy gets no credentials")
	}
}

func TestProxy_LeadsToTLS(t *testing.T) {
	srv, roots := secure(t)
	for _, c := range []struct {
		name, proxy, asked string
		resolve            func(context.Context, string) ([]netip.Addr, error)
		lead               func(conn net.Conn) (asked string)
		addr               bool // of the target is known
	}{
		{"http", "http://jo:s3cr3t@proxy.lab.dev:3128", "example.com:443", nil, byCONNECT, false},
		{"socks5h", "socks5h://proxy.lab.dev", "name", nil, bySOCKS, false},
		{"socks5", "socks5://proxy.lab.dev", "address", resolveTo("93.184.215.14"), bySOCKS, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := make(chan string, 1)
			w := &world{serve: func(_ int, conn net.Conn) {
				asked <- c.lead(conn)
				target, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					return
				}
				defer func() { _ = target.Close() }()
				over := make(chan struct{})
				go func() { defer close(over); _, _ = io.Copy(target, conn); _ = target.Close() }()
				_, _ = io.Copy(conn, target)
				_ = conn.Close()
				<-over
			}}
			if c.resolve == nil {
				c.resolve = unresolved(t)
			}
			f := w.fetcher(t, Config{Identity: known, Proxy: by(t, c.proxy), Resolve: c.resolve, RootCAs: roots, KeepAlive: -1})
			x := get(t, f, "https://example.com/")
			if x.Failure != nil || text(t, x.Body) != "example.com http/1.1 HTTP/1.1" || x.Addr.IsValid() != c.addr || strings.Contains(string(x.Request), hidden) {
				t.Fatalf("%+v: %v", x, x.Failure)
			}
			assert.Equal(t, c.asked, <-asked)
		})
	}
}

func byCONNECT(conn net.Conn) string {
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return err.Error()
	}
	say(conn, "HTTP/1.1 200 OK\r\n\r\n")
	return r.Host
}

func bySOCKS(conn net.Conn) string {
	b := make([]byte, 300)
	_, _ = io.ReadFull(conn, b[:3])
	say(conn, "\x05\x00")
	n, _ := conn.Read(b)
	say(conn, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
	if n > 3 && b[3] == 3 {
		return "name"
	}
	return "address"
}

func TestProxy_PrivateNamesAreRefused(t *testing.T) {
	for _, url := range []string{
		"http://127.0.0.1/", "http://127.0.0.1:8080/", "http://[::1]/", "http://localhost/", "http://a.localhost/", "http://localhost./",
		"http://2130706433/", "http://0x7f.1/", "http://10.0.0.1/", "http://192.168.1.1/", "http://169.254.169.254/", "http://[fd00::1]/",
		"http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://intranet/", "http://printer.local/", "http://metadata.google.internal/",
		"http://nas.home.arpa/", "https://0.0.0.0/",
	} {
		w := &world{}
		f := w.fetcher(t, Config{
			Identity: known, Proxy: by(t, "http://proxy.lab.dev"), Resolve: unresolved(t), AllowLocalhost: []uint16{80},
			AllowAddr: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8080")},
		})
		expect(t, get(t, f, url), PrivateAddress, "")
		if _, err := f.Addresses(t.Context(), mustURL(t, url).Authority()); err == nil {
			t.Errorf("%s: there are addresses for it", url)
		}
		assert.Emptyf(t, w.dialed, "%s: dialled", url)
	}
}

func TestProxy_FailuresAreTheProxys(t *testing.T) {
	for _, c := range []struct {
		name, proxy, url string
		answer           string
		kind             Kind
	}{
		{"closed", "http://jo:s3cr3t@proxy.lab.dev", "https://www.example.org/", "", Odd},
		{"password", "http://jo:s3cr3t@proxy.lab.dev", "https://www.example.org/", "HTTP/1.1 407 No\r\n\r\n", Down},
		{"password, forwarded", "http://jo:s3cr3t@proxy.lab.dev", "http://www.example.org/", "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n", Odd},
		{"not there", "http://jo:s3cr3t@proxy.lab.dev", "https://www.example.org/", "HTTP/1.1 503 No\r\n\r\n", Said},
		{"no TLS", "https://jo:s3cr3t@proxy.lab.dev", "https://www.example.org/", "HTTP/1.1 400 No\r\n\r\n", Down},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{serve: func(_ int, conn net.Conn) {
				if _, err := conn.Read(make([]byte, 4096)); err == nil {
					say(conn, c.answer)
				}
			}}
			f := w.fetcher(t, Config{Identity: known, Proxy: by(t, c.proxy), Resolve: unresolved(t)})
			x := get(t, f, c.url)
			var fault *Fault
			if class(x) != Proxy || !errors.As(x.Failure, &fault) || fault.Kind != c.kind || strings.Contains(x.Failure.Error(), "s3cr3t") {
				t.Errorf("%v", x.Failure)
			}
		})
	}
}

func TestProxy_NotThere(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
	f := mustNew(t, Config{Identity: known, Proxy: by(t, "http://jo:s3cr3t@proxy.lab.dev"), Resolve: unresolved(t), Dial: refuse})
	x := get(t, f, "http://www.example.org/")
	var fault *Fault
	require.ErrorAs(t, x.Failure, &fault)
	assert.Equal(t, Down, fault.Kind)
	w := &world{}
	f = w.fetcher(t, Config{Proxy: by(t, "http://proxy.lab.dev"), Resolve: unresolved(t)})
	if _, err := f.Do(t.Context(), Request{URL: mustURL(t, "http://www.example.org/")}); err == nil || !strings.Contains(err.Error(), "contact") || len(w.dialed) > 0 {
		t.Errorf("without a contact: %v, dialled %q", err, w.dialed)
	}
}

func TestWire_KeepsNoPartOfASecret(t *testing.T) {
	l := &connection{authority: mustURL(t, "http://www.example.org/").Authority(), proxy: by(t, "http://jo:s3cr3t@proxy.lab.dev").For(mustURL(t, "http://www.example.org/").Authority())}
	w := l.wire([]byte("GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n"), nil)
	for n := range len(w.octets) + 1 {
		if got := string(w.kept(n)); strings.Contains(got, "Proxy") || strings.Contains(got, "am8") {
			t.Fatalf("%d octets sent: %q is kept", n, got)
		}
	}
	assert.Containsf(t, string(w.octets), hidden, "%q", w.octets)
}
