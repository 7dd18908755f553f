package witness

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections stay in memory.
type pipes struct {
	conns    chan net.Conn
	accepted atomic.Int64
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn, 1000), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		p.accepted.Add(1)
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns the client's end of a connection.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// Connections on which nothing is said, or too slowly, keep out others for a while and not for ever.
func TestConnectionsAreBoundedAndSlowOnesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newPipes()
		answered := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				return
			}
			answer(w, http.StatusOK, textType, "done\n")
		})
		served := make(chan error, 1)
		go func() { served <- Serve(ctx, l, answered) }()
		var silent []net.Conn
		for range maxConnections {
			silent = append(silent, l.dial())
		}
		last := l.dial()
		synctest.Wait()
		if n := l.accepted.Load(); n != maxConnections {
			t.Errorf("%d connections are taken at once, want %d", n, maxConnections)
		}
		var asked sync.WaitGroup
		asked.Go(func() {
			_, err := io.WriteString(last, "POST / HTTP/1.1\r\nHost: w\r\nContent-Length: 2\r\n\r\nhi")
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := http.ReadResponse(bufio.NewReader(last), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil || !strings.HasPrefix(string(b), "done") {
				t.Errorf("%q %v", b, err)
			}
		})
		time.Sleep(readTimeout + time.Second) // those that say nothing are put out
		asked.Wait()
		slow := l.dial()
		asked.Go(func() {
			_, err := io.WriteString(slow, "POST / HTTP/1.1\r\nHost: w\r\nContent-Length: 9999\r\n\r\n")
			for err == nil { // an octet every second
				time.Sleep(time.Second)
				_, err = io.WriteString(slow, "x")
			}
		})
		began := time.Now()
		asked.Wait()
		if d := time.Since(began); d > readTimeout+writeTimeout {
			t.Errorf("a slow request is borne for %v", d)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		for _, c := range append(silent, last, slow) {
			_ = c.Close()
		}
	})
}

// A server that is asked to end lets the answer under way be finished.
func TestTheAnswerUnderWayIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newPipes()
		served := make(chan error, 1)
		go func() {
			served <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				cancel()
				time.Sleep(drainTimeout / 2)
				answer(w, http.StatusOK, textType, "done\n")
			}))
		}()
		c := l.dial()
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: w\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
