package fetch

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func through(t *testing.T, raw, target string, serve func(net.Conn)) (near net.Conn, err error) {
	t.Helper()
	p, perr := Parse(raw)
	require.NoError(t, perr)
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); defer far.Close(); serve(far) }()
	t.Cleanup(func() { _ = near.Close(); <-done })
	_ = near.SetDeadline(time.Now().Add(10 * time.Second))
	return near, p.Tunnel(near, target, "curtsy/0.1.0")
}

func head(conn net.Conn) *http.Request {
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return nil
	}
	return r
}

func TestConnect_LeadsToTheTarget(t *testing.T) {
	var asked *http.Request
	conn, err := through(t, "http://jo:s3cr3t@proxy.lab.dev", "www.example.org:443", func(far net.Conn) {
		asked = head(far)
		say(far, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 Connection established\r\nContent-Length: 7\r\n\r\n")
		say(far, "target")
	})
	require.NoError(t, err)
	b := make([]byte, 6)
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != "target" {
		t.Errorf("%q, %v", b, err)
	}
	if asked.Method != "CONNECT" || asked.Host != "www.example.org:443" || asked.Header.Get("Proxy-Authorization") != "Basic am86czNjcjN0" ||
		asked.UserAgent() != "curtsy/0.1.0" {
		t.Errorf("%+v", asked)
	}
}

func TestConnect_HostileProxies(t *testing.T) {
	after := func(answer string) func(net.Conn) {
		return func(far net.Conn) { head(far); say(far, answer) }
	}
	for _, c := range []struct {
		name  string
		serve func(net.Conn)
		kind  Kind
		text  string
	}{
		{"closes at once", func(net.Conn) {}, Odd, "proxy.lab.dev"},
		{"closes after the request", after(""), Odd, "closed the connection"},
		{"closes within the head", after("HTTP/1.1 200 OK\r\nA: "), Odd, "closed the connection"},
		{"garbage", after("\x00\x01\x02garbage am86czNjcjN0\r\n\r\n"), Odd, "not that of a proxy"},
		{"a header that repeats the secret", after("HTTP/1.1 200 OK\r\nbad header s3cr3t\r\n\r\n"), Odd, "not that of a proxy"},
		{"speaks SSH", after("SSH-2.0-OpenSSH_9.2\r\n"), Odd, ""},
		{"huge head", func(far net.Conn) {
			head(far)
			say(far, "HTTP/1.1 200 OK\r\n"+strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 1000))
		}, Odd, "over 16384 bytes"},
		{"one endless line", func(far net.Conn) { head(far); say(far, "HTTP/1.1 200 "+strings.Repeat("b", 1<<20)) }, Odd, "over 16384 bytes"},
		{"slow drip", func(far net.Conn) {
			head(far)
			for _, b := range strings.Repeat("HTTP/1.1 200 OK\r\nA: b\r\n", 50) {
				time.Sleep(time.Second)
				if _, err := far.Write([]byte{byte(b)}); err != nil {
					return
				}
			}
		}, Odd, "in time"},
		{"is silent", func(far net.Conn) { head(far); time.Sleep(time.Minute) }, Odd, "in time"},
		{"does not read", func(net.Conn) { time.Sleep(time.Minute) }, Odd, "in time"},
		{"wants a password", after("HTTP/1.1 407 No s3cr3t\r\nProxy-Authenticate: Basic\r\n\r\n"), Down, "407"},
		{"redirects", after("HTTP/1.1 302 Found\r\nLocation: http://portal.test/?s3cr3t\r\n\r\n"), Odd, "302"},
		{"a page instead of a way", after("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), Odd, "not the target's"},
		{"switches protocols", after("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), Odd, "101"},
		{"announces for ever", after(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100)), Odd, "again and again"},
		{"endless body of a refusal", func(far net.Conn) {
			head(far)
			say(far, "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n")
			for {
				if _, err := io.WriteString(far, "5\r\nhello\r\n"); err != nil {
					return
				}
			}
		}, Said, "403"},
		{"no such host", after("HTTP/1.1 503 Service Unavailable\r\n\r\n"), Said, "503"},
		{"bad gateway", after("HTTP/1.0 502 Bad Gateway\r\n\r\n"), Said, "502"},
		{"knows no CONNECT", after("HTTP/1.1 405 Method Not Allowed\r\n\r\n"), Odd, "405"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			began := time.Now()
			near, err := through(t, "http://jo:s3cr3t@proxy.lab.dev:3128", "www.example.org:443", c.serve)
			_ = near.Close()
			fault(t, err, c.kind, c.text)
			assert.LessOrEqual(t, time.Since(began), 10*time.Second, "it took too long")
		})
	}
}

func fault(t *testing.T, err error, k Kind, text string) {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) || f.Kind != k || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "the proxy ") ||
		!strings.Contains(err.Error(), "//proxy.lab.dev:") {
		t.Fatalf("%v (%+v), want kind %d with %q", err, f, k, text)
	}
	for _, secret := range []string{"s3cr3t", "am86czNjcjN0"} {
		assert.NotContainsf(t, err.Error(), secret, "the error has the secret: %v", err)
	}
}

// script plays a SOCKS proxy: it reads so many bytes, or writes a string.
func script(steps ...any) func(net.Conn) {
	return func(far net.Conn) {
		for _, s := range steps {
			switch s := s.(type) {
			case int:
				if _, err := io.ReadFull(far, make([]byte, s)); err != nil {
					return
				}
			case string:
				say(far, s)
			}
		}
	}
}

func TestSOCKS(t *testing.T) {
	const bound = "\x01\x00\x00\x00\x00\x00\x00"
	ask := 4 + 1 + len("www.example.org") + 2
	for _, c := range []struct {
		name, user, target string
		serve              func(net.Conn)
		kind               Kind
		text               string // of the fault; empty for none
	}{
		{"a name", "", "www.example.org:443", script(3, "\x05\x00", ask, "\x05\x00\x00"+bound), 0, ""},
		{"an IPv4 address", "", "93.184.215.14:80", script(3, "\x05\x00", 10, "\x05\x00\x00"+bound), 0, ""},
		{"an IPv6 address", "", "[2606::1]:80", script(3, "\x05\x00", 22, "\x05\x00\x00\x04"+strings.Repeat("x", 18)), 0, ""},
		{"bound to a name", "", "www.example.org:443", script(3, "\x05\x00", ask, "\x05\x00\x00\x03\x02ab\x00\x00"), 0, ""},
		{"with a password", "jo:s3cr3t@", "www.example.org:443", script(4, "\x05\x02", 11, "\x01\x00", ask, "\x05\x00\x00"+bound), 0, ""},
		{"a wrong password", "jo:s3cr3t@", "www.example.org:443", script(4, "\x05\x02", 11, "\x01\x01"), Down, "user and password"},
		{"wants a password", "", "www.example.org:443", script(3, "\x05\xff"), Down, "a user and a password, or none"},
		{"wants neither", "jo:s3cr3t@", "www.example.org:443", script(4, "\x05\xff"), Down, "a user and a password, or none"},
		{"wants none", "jo:s3cr3t@", "www.example.org:443", script(4, "\x05\x00", ask, "\x05\x00\x00"+bound), 0, ""},
		{"speaks HTTP", "", "www.example.org:443", script(3, "HTTP/1.1 400 Bad Request\r\n\r\n"), Odd, "SOCKS 5"},
		{"speaks SOCKS 4", "", "www.example.org:443", script(3, "\x05\x00", ask, "\x00\x5a\x00\x00"), Odd, "SOCKS 5"},
		{"refused", "", "www.example.org:443", script(3, "\x05\x00", ask, "\x05\x05\x00"+bound), Said, "connection refused"},
		{"an unknown reply", "", "www.example.org:443", script(3, "\x05\x00", ask, "\x05\x99\x00"+bound), Odd, "153"},
		{"an unknown kind", "", "www.example.org:443", script(3, "\x05\x00", ask, "\x05\x00\x00\x09"), Odd, "SOCKS 5"},
		{"closes", "", "www.example.org:443", script(3), Odd, "closed the connection"},
		{"is silent", "", "www.example.org:443", func(far net.Conn) { script(3)(far); time.Sleep(time.Hour) }, Odd, "in time"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			near, err := through(t, "socks5h://"+c.user+"proxy.lab.dev", c.target, c.serve)
			_ = near.Close()
			if c.text == "" {
				assert.NoError(t, err)
				return
			}
			fault(t, err, c.kind, c.text)
		})
	}
}
