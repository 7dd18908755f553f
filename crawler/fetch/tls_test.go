package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func secure(t *testing.T) (srv *httptest.Server, roots *x509.CertPool) {
	t.Helper()
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say(w, r.TLS.ServerName+" "+r.TLS.NegotiatedProtocol+" "+r.Proto)
	}))
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots = x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv, roots
}

func TestTLS(t *testing.T) {
	srv, roots := secure(t)
	at := func(context.Context, string, string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	}
	for _, c := range []struct {
		name, url string
		roots     *x509.CertPool
		class     Class
		body      string
	}{
		{"good", "https://example.com/", roots, "", "example.com http/1.1 HTTP/1.1"},
		{"good address", "https://127.0.0.1/", roots, "", " http/1.1 HTTP/1.1"},
		{"unknown authority", "https://example.com/", x509.NewCertPool(), TLSIssuer, ""},
		{"system's authorities", "https://example.com/", nil, TLSIssuer, ""},
		{"wrong host", "https://other.test/", roots, TLSName, ""},
		{"wrong address", "https://127.0.0.2/", roots, TLSName, ""},
		{"wrong host of an unknown authority", "https://other.test/", x509.NewCertPool(), TLSName, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := mustNew(t, Config{Resolve: resolveTo("93.184.215.14"), Dial: at, RootCAs: c.roots, AllowNet: nets("127.0.0.0/8"), KeepAlive: time.Hour})
			x := get(t, f, c.url)
			expect(t, x, c.class, "")
			if c.class != "" {
				assert.Nilf(t, x.Request, "sent %q to a host that is not verified", x.Request)
				return
			}
			assert.Equal(t, c.body, text(t, x.Body))
			if got := text(t, x.Response); !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, c.body) {
				t.Errorf("response %q is not above TLS", got)
			}
			assert.Equal(t, []string{"http/1.1", "tls/1.3"}, x.Protocols, "protocols")
			if again := get(t, f, c.url); !again.Reused || text(t, again.Body) != c.body {
				t.Errorf("reused %v, %v", again.Reused, again.Failure)
			}
		})
	}
}

func TestExpiredCertificate(t *testing.T) {
	srv, roots := secure(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(srv.Certificate().NotAfter) + time.Second) // of the clock of the test
		w := &world{serve: func(_ int, conn net.Conn) {
			_ = tls.Server(conn, &tls.Config{Certificates: srv.TLS.Certificates}).HandshakeContext(t.Context())
		}}
		expect(t, get(t, w.fetcher(t, Config{RootCAs: roots}), "https://example.com/"), TLSExpired, "")
	})
}

func TestPlainAnswerToTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: func(_ int, conn net.Conn) {
			if _, err := conn.Read(make([]byte, 4096)); err == nil {
				say(conn, "HTTP/1.0 400 Bad Request\r\n\r\n")
			}
		}}
		expect(t, get(t, w.fetcher(t, Config{}), "https://a.test/"), TLS, "")
	})
}

// RFC 9112 9.8: a body that only the end of the connection delimits needs a closure alert.
func TestTLSEndWithoutClosureAlert(t *testing.T) {
	srv, roots := secure(t)
	for _, c := range []struct {
		name, response string
		alert          bool
		class          Class
		truncated      string
	}{
		{"until close, alert", "HTTP/1.0 200 OK\r\n\r\nbread", true, "", ""},
		{"until close, none", "HTTP/1.0 200 OK\r\n\r\nbread", false, Incomplete, CutDisconnect},
		{"length, none", ok("bread"), false, "", ""},
		{"length, cut, alert", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nbread", true, Incomplete, CutDisconnect},
		{"head cut, alert", "HTTP/1.1 200 OK\r\n", true, Reset, CutDisconnect},
	} {
		bubble(t, c.name, func(t *testing.T) {
			w := &world{serve: func(_ int, conn net.Conn) {
				secured := tls.Server(conn, &tls.Config{Certificates: srv.TLS.Certificates})
				request(secured)
				say(secured, c.response)
				if c.alert {
					closed(t, secured)
				}
			}}
			x := get(t, w.fetcher(t, Config{RootCAs: roots}), "https://example.com/")
			expect(t, x, c.class, c.truncated)
			assert.Equal(t, c.response, text(t, x.Response), "response")
		})
	}
}

// With TLS 1.3 a server requires a client certificate only after the client's handshake is over.
func TestLateAlertIsTLS(t *testing.T) {
	srv, roots := secure(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		w.serve = func(_ int, conn net.Conn) {
			c := &tls.Config{Certificates: srv.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert}
			assert.Error(t, tls.Server(unblocked{conn, &w.wg}, c).HandshakeContext(t.Context()), "the server asked for no certificate")
			drain(conn)
		}
		expect(t, get(t, w.fetcher(t, Config{RootCAs: roots}), "https://example.com/"), TLS, "")
	})
}

// unblocked writes while the other end writes, as a socket's buffer allows and a pipe does not.
type unblocked struct {
	net.Conn
	wg *sync.WaitGroup
}

func (c unblocked) Write(p []byte) (int, error) {
	s := string(p)
	c.wg.Go(func() { say(c.Conn, s) })
	synctest.Wait() // one after the other
	return len(p), nil
}
