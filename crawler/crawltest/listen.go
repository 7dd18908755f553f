package crawltest

import (
	"context"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// quiet is where the servers' own complaints about clients go: nowhere, the log has what matters.
var quiet = log.New(io.Discard, "", 0)

// socketListener listens on a port of loopback.
type socketListener struct{ net.Listener }

func (l socketListener) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp4", l.Addr().String())
}

// pipeListener listens inside the process. Accept and dial block on channels alone, which is durable in a bubble of
// testing/synctest.
type pipeListener struct {
	addr  pipeAddr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener(addr string) *pipeListener {
	return &pipeListener{addr: pipeAddr(addr), conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return l.addr }

// pipeAddr is the address in the web that a pipe leads to.
type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// timed is a listener whose connections tell the referee when bytes cross them.
type timed struct {
	listener
	referee *Referee
}

func (t timed) Accept() (net.Conn, error) {
	c, err := t.listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c, referee: t.referee}, nil
}

// wire is the server's end of a connection. The referee's mutex guards what is below Conn.
type wire struct {
	net.Conn
	referee *Referee

	arrived time.Time // of the first byte since the last request was taken; zero when none came
	latest  time.Time // of the latest byte
	taken   *Exchange // the request that bytes written belong to; nil before the first
}

func (c *wire) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.referee.arrived(c, time.Now())
	}
	return n, err
}

// Write notes the time before the bytes go: the client cannot have had them earlier.
func (c *wire) Write(p []byte) (int, error) {
	x, wrote, ended := c.referee.wrote(c, time.Now())
	n, err := c.Conn.Write(p)
	if n == 0 && err != nil {
		c.referee.unwrote(x, wrote, ended)
	}
	return n, err
}

type wireKey struct{}

func withWire(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, wireKey{}, c)
}
