package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// world is a fake Internet: every name has one public address, and serve plays the far end of the n-th connection.
type world struct {
	serve func(n int, conn net.Conn)

	wg     sync.WaitGroup
	mu     sync.Mutex
	dialed []string
}

func (w *world) dial(_ context.Context, _, address string) (net.Conn, error) {
	near, far := net.Pipe()
	w.mu.Lock()
	n := len(w.dialed)
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	w.wg.Go(func() {
		defer func() { _ = far.Close() }()
		w.serve(n, far)
	})
	return near, nil
}

func (w *world) fetcher(t testing.TB, c Config) *Fetcher {
	t.Helper()
	if c.Resolve == nil {
		c.Resolve = resolveTo("93.184.215.14")
	}
	if c.Dial == nil {
		c.Dial = w.dial
	}
	if c.SpoolDir == "" {
		c.SpoolDir = t.TempDir()
	}
	f := mustNew(t, c)
	t.Cleanup(func() {
		closed(t, f)
		w.wg.Wait() // an exchange that left its connection open blocks here
	})
	return f
}

func mustNew(t testing.TB, c Config) *Fetcher {
	t.Helper()
	f, err := New(c)
	require.NoError(t, err)
	t.Cleanup(func() { closed(t, f) })
	return f
}

func closed(t testing.TB, c io.Closer) {
	assert.NoError(t, c.Close())
}

func say(w io.Writer, s string) { _, _ = io.WriteString(w, s) }
func drain(r io.Reader)         { _, _ = io.Copy(io.Discard, r) }

func resolveTo(addrs ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		var found []netip.Addr
		for _, a := range addrs {
			found = append(found, netip.MustParseAddr(a))
		}
		return found, nil
	}
}

func mustURL(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

func authority(t testing.TB, url string) canon.Authority {
	t.Helper()
	return mustURL(t, url).Authority()
}

func get(t testing.TB, f *Fetcher, url string) *Exchange {
	t.Helper()
	return do(t, f, Request{URL: mustURL(t, url)})
}

func do(t testing.TB, f *Fetcher, r Request) *Exchange {
	t.Helper()
	x, err := f.Do(t.Context(), r)
	require.NoError(t, err, "Do")
	t.Cleanup(func() { closed(t, x) })
	return x
}

func request(conn io.Reader) string {
	r := bufio.NewReader(conn)
	var b strings.Builder
	for !strings.HasSuffix(b.String(), "\r\n\r\n") {
		line, err := r.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			return ""
		}
	}
	return b.String()
}

func answering(response string) func(int, net.Conn) {
	return func(_ int, conn net.Conn) {
		if request(conn) != "" {
			say(conn, response)
		}
	}
}

func always(response string) func(int, net.Conn) {
	return func(_ int, conn net.Conn) {
		for request(conn) != "" {
			say(conn, response)
		}
	}
}

func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func zip(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		say(z, p)
		if err := z.Close(); err != nil {
			panic(err) // a bytes.Buffer takes everything
		}
	}
	return b.String()
}

func chunked(body string, n int) string {
	var b strings.Builder
	for len(body) > 0 {
		n = min(n, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func text(t testing.TB, r *io.SectionReader) string {
	t.Helper()
	if r == nil {
		return "(nil)"
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func class(x *Exchange) Class {
	if x.Failure == nil {
		return ""
	}
	return x.Failure.Class
}

func expect(t testing.TB, x *Exchange, c Class, truncated string) {
	t.Helper()
	require.Equal(t, c, class(x))
	require.Equal(t, truncated, x.Truncated)
}

func nets(ss ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, s := range ss {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}
