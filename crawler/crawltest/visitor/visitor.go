// Package visitor is an HTTP client for tests that sends exactly the given requests. Only tests import it.
package visitor

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Polite is a valid User-Agent.
const Polite = "curtsy/1.0 (+https://crawler.example/about)"

// Web is a *crawltest.Web.
type Web interface {
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
	Start() error
	StartPipe()
	Close() error
}

// Client visits a web.
type Client struct {
	T     *testing.T
	HTTP  *http.Client
	Agent string // the User-Agent; Polite by default
}

// New returns a client of a web.
func New(t *testing.T, web Web) *Client {
	return &Client{T: t, Agent: Polite, HTTP: &http.Client{
		Transport:     &http.Transport{DialContext: web.Dial, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Answer is a complete response.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Do makes one exchange. fields are alternating names and values.
func (c *Client) Do(ctx context.Context, method, url string, fields ...string) (Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	require.NoError(c.T, err)
	r.Header.Set("User-Agent", c.Agent)
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "Host" {
			r.Host = fields[i+1]
		}
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, string(body)}, err
}

// Get fetches "a.test/x" and fails the test without a response.
func (c *Client) Get(url string, fields ...string) Answer {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	a, err := c.Do(c.T.Context(), http.MethodGet, url, fields...)
	require.NoErrorf(c.T, err, "GET %s", url)
	return a
}

// Bubble runs f on the web in virtual time and fails the test if the web leaves a goroutine behind.
func Bubble(t *testing.T, web Web, f func(c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		web.StartPipe()
		c := New(t, web)
		f(c)
		c.HTTP.CloseIdleConnections()
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Sockets runs f on the web over loopback.
func Sockets(t *testing.T, web Web, f func(c *Client)) {
	t.Helper()
	require.NoError(t, web.Start())
	c := New(t, web)
	f(c)
	c.HTTP.CloseIdleConnections()
	if err := web.Close(); err != nil {
		t.Error(err)
	}
}

// Aside runs fs concurrently and waits.
func (c *Client) Aside(fs ...func()) {
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(f)
	}
	wg.Wait()
}
