package crawldir

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// recordingProxy is a proxy to the hosts of a web that records dials and requests.
type recordingProxy struct {
	web  *crawltest.Web
	down func(requests int) bool // connections to the proxy fail

	wg       sync.WaitGroup
	mu       sync.Mutex
	dialed   map[string]int
	requests []string // requests that the proxy received
	heads    []string
}

const proxyAt = "10.9.8.7:3128"

func (p *recordingProxy) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialed["look-up of "+host]++
	return []netip.Addr{netip.MustParseAddr("10.9.8.7")}, nil
}

func (p *recordingProxy) dial(ctx context.Context, _, address string) (net.Conn, error) {
	p.mu.Lock()
	p.dialed[address]++
	down := p.down != nil && p.down(len(p.requests))
	p.mu.Unlock()
	if down {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	p.wg.Go(func() {
		defer func() { _ = far.Close() }()
		br := bufio.NewReader(far)
		for {
			r, err := http.ReadRequest(br)
			if err != nil || !p.forward(far, r) {
				return
			}
		}
	})
	return near, nil
}

// forward sends a request to the web, and reports whether the connection remains open.
func (p *recordingProxy) forward(far net.Conn, r *http.Request) bool {
	p.mu.Lock()
	p.requests = append(p.requests, r.RequestURI)
	p.heads = append(p.heads, r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	addrs, err := p.web.Resolve(context.Background(), r.URL.Hostname())
	if err != nil {
		_, err = io.WriteString(far, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
		return err == nil
	}
	conn, err := p.web.Dial(context.Background(), "tcp", netip.AddrPortFrom(addrs[0], 80).String())
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	r.Header.Del("Proxy-Authorization")
	if r.Write(conn) != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	resp.Close = true // each request is a connection
	_ = resp.Write(far)
	return false
}

func crawlThrough(t *testing.T, p *recordingProxy) (dir string, lines []storage.Line, err error) {
	t.Helper()
	p.web = crawltest.New(crawltest.Tree("bakery.test", 8), crawltest.Tree("mill.test", 8))
	p.web.StartPipe()
	defer func() { p.wg.Wait(); p.web.Close() }()
	p.dialed = map[string]int{}
	secret := in(t.TempDir(), "proxy")
	require.NoError(t, os.WriteFile(secret, []byte("http://jo:s3cr3t@proxy.library.org:3128\n"), 0o600))
	s := Defaults()
	s.Contact, s.Proxy, s.Sitemaps = "crawl@library.org", "@"+secret, []string{"robots"}
	dir = created(t, &s, "http://bakery.test/", "http://mill.test/", "http://127.0.0.1:8080/", "http://localhost/")
	var mu sync.Mutex
	_, err = Run(t.Context(), dir, Options{Unheard: true, Say: func(n Note) { t.Log(n.Text) }, Resolve: p.resolve, Dial: p.dial, Line: func(l storage.Line) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, l)
	}})
	return dir, lines, err
}

func TestRule27_EveryRequestGoesThroughTheProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p recordingProxy
		dir, lines, err := crawlThrough(t, &p)
		require.NoError(t, err)
		for at := range p.dialed {
			assert.Truef(t, at == proxyAt || at == "look-up of proxy.library.org", "%s", at)
		}
		got := strings.Join(p.requests, " ")
		assert.Truef(t, len(p.requests) >= 18 && strings.Contains(got, "http://mill.test/robots.txt"), "%d requests: %s", len(p.requests), got)
		for _, r := range p.requests {
			assert.Truef(t, strings.HasPrefix(r, "http://bakery.test/") || strings.HasPrefix(r, "http://mill.test/"), "the proxy received a request for %s", r)
		}
		for i, h := range p.heads {
			assert.Equal(t, "Basic am86czNjcjN0", h, p.requests[i])
		}
		fetched := 0
		for _, l := range lines {
			if l.Outcome == storage.OutcomeFetched {
				fetched++
			}
			assert.Truef(t, (l.Status == 0 || l.Proxy == "http://proxy.library.org:3128") && !l.Addr.IsValid(), "%+v", l)
		}
		assert.GreaterOrEqual(t, fetched, 16, "pages")
		audited(t, dir)
		nowhere(t, dir, "s3cr3t", "am86czNjcjN0")
	})
}

// nowhere checks that no file of a crawl directory contains the secrets, also after decompression.
func nowhere(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	files := 0
	for path, b := range everything(t, dir) {
		files++
		for _, s := range secrets {
			assert.NotContains(t, b, s, path)
		}
	}
	assert.GreaterOrEqual(t, files, 5, "files")
}

func TestRule27_ProxyOutageFailsNoURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := recordingProxy{down: func(n int) bool { return n >= 6 && time.Since(began) < time.Minute }}
		_, lines, err := crawlThrough(t, &p)
		require.NoError(t, err)
		fetched := 0
		for _, l := range lines {
			switch {
			case l.Outcome == storage.OutcomeFetched:
				fetched++
			case l.Reason == storage.ReasonProxy || l.Attempt > 1:
				t.Errorf("%+v", l)
			}
		}
		assert.Truef(t, fetched >= 16 && time.Since(began) >= time.Minute, "%d pages in %v", fetched, time.Since(began))
	})
}

func TestRule27_AProxyThatIsGoneEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []int{0, 6} {
			p := recordingProxy{down: func(n int) bool { return n >= after }}
			dir, _, err := crawlThrough(t, &p)
			require.Truef(t, err != nil && strings.Contains(err.Error(), "the proxy http://proxy.library.org:3128") && !strings.Contains(err.Error(), "s3cr3t"), "%v", err)
			of, _, _ := stored(t, dir)
			for path, e := range of {
				assert.Truef(t, e.Outcome != frontier.Failed && e.Attempts <= 0, "%s: %v after %d attempts", path, e.Outcome, e.Attempts)
			}
		}
	})
}
