package dashboard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a listener of unbuffered connections.
type pipes struct {
	to     chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{to: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.to:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8800} }

// ask opens an authorised connection and sends a request.
func (p *pipes) ask(t *testing.T, target, fields string) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	p.to <- there
	_, err := fmt.Fprintf(here, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:8800\r\nAuthorization: Bearer %s\r\n%s\r\n", target, testToken, fields)
	require.NoError(t, err)
	return here
}

const listens = "Accept: text/event-stream\r\n"

// counted is a crawl that counts its queries and changes each time.
type counted struct {
	fakeCrawl
	mu    sync.Mutex
	looks int64
}

func (c *counted) Look(ctx context.Context) (Look, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	l, err := c.fakeCrawl.Look(ctx)
	l.Running, l.Status.Pages = true, c.looks
	return l, err
}

func (c *counted) asked() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

// Browsers that do not read delay neither the dashboard nor other browsers, and are disconnected. They cause no queries.
func TestStalledBrowsers_DelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crawl, at := &counted{fakeCrawl: fakeCrawl{name: "news"}}, newPipes()
		s := New(Options{Sources: []Source{crawl}, Token: testToken})
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, at) }()

		var stalled []net.Conn
		for range mostStreams - 1 { // all streams, with reader
			stalled = append(stalled, at.ask(t, "/crawl/0/", listens))
		}
		reader := at.ask(t, "/crawl/0/", listens)
		events := make(chan string, 1000)
		go func() {
			defer close(events)
			for lines := bufio.NewScanner(reader); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "data: ") {
					events <- lines.Text()
				}
			}
		}()
		synctest.Wait() // the first look is over
		before := crawl.asked()
		time.Sleep(10 * time.Second) // virtual
		synctest.Wait()
		assert.EqualValues(t, 10, crawl.asked()-before, "requests to the crawl in ten seconds")
		assert.GreaterOrEqual(t, len(events), 5, "updates in ten seconds for a browser that reads")
		assert.Equal(t, mostStreams, len(s.streams), "browsers listen")
		assert.Equal(t, http.StatusServiceUnavailable, statusOf(t, at.ask(t, "/crawl/0/", listens)), "one more is answered")
		time.Sleep(writeTime)
		synctest.Wait()
		assert.Lenf(t, s.streams, 1, "browsers after %v", writeTime)
		for _, c := range append(stalled, reader) {
			c.Close()
		}
		cancel()
		assert.NoError(t, <-served)
		for range events {
		}
	})
}

func statusOf(t *testing.T, c net.Conn) int {
	t.Helper()
	defer c.Close()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
