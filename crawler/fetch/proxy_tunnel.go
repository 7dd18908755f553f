package fetch

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

const (
	maxHead         = 16 << 10 // octets of the proxy's answers to CONNECT
	proxyMaxInterim = 4        // answers that only announce one
)

// Tunnel has the proxy lead conn to target, "host:port", on behalf of agent. The error is a *Fault. conn is at the first
// octet of the target then.
func (p *proxy) Tunnel(conn net.Conn, target, agent string) error {
	if p.Forwards() {
		return p.connect(conn, target, agent)
	}
	return p.socks(conn, target)
}

// connect is Tunnel over an HTTP proxy.
func (p *proxy) connect(conn net.Conn, target, agent string) error {
	head := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\nUser-Agent: " + agent + "\r\n" + p.Authorization() + "\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		return p.cut(err)
	}
	noted := &ending{Reader: conn}
	from := &io.LimitedReader{R: noted, N: maxHead}
	br := bufio.NewReader(from)
	for range proxyMaxInterim {
		// A body is none of ours, and its Close would read on to the end.
		resp, err := http.ReadResponse(br, nil) //nolint:bodyclose // see above
		switch {
		case err != nil && from.N <= 0:
			return p.fault(Odd, "the header of its response to CONNECT is over %d bytes", maxHead)
		case err != nil && noted.err != nil:
			return p.cut(noted.err) // the parser takes what came of a line for the whole
		case err != nil:
			return p.cut(err)
		case resp.StatusCode == http.StatusSwitchingProtocols || resp.StatusCode < 100:
			return p.fault(Odd, "it answered CONNECT with status %d", resp.StatusCode)
		case resp.StatusCode < 200:
			continue
		}
		if err := p.tells(resp.StatusCode); err != nil {
			return err
		}
		if br.Buffered() > 0 {
			return p.fault(Odd, "it sent bytes that are not the target's")
		}
		return nil
	}
	return p.fault(Odd, "it announced an answer to CONNECT again and again")
}

// ending notes how reading ended.
type ending struct {
	io.Reader
	err error
}

func (e *ending) Read(p []byte) (n int, err error) {
	n, e.err = e.Reader.Read(p)
	return n, e.err
}

// tells is what a status in answer to CONNECT means.
func (p *proxy) tells(status int) error {
	switch {
	case status >= 200 && status <= 299:
		return nil
	case status == http.StatusProxyAuthRequired && p.named:
		return p.fault(Down, "it does not accept your user and password (407)")
	case status == http.StatusProxyAuthRequired:
		return p.fault(Down, "it wants a user and a password (407)")
	case status >= 500 && status != http.StatusNotImplemented, status == 401, status == 403, status == 404, status == 408,
		status == 410, status == 421, status == 429, status == 451:
		return p.fault(Said, "it does not lead there: status %d", status)
	}
	return p.fault(Odd, "it answered CONNECT with status %d, which no proxy of https does", status)
}

// cut is why reading or writing ended. Where the proxy sent something that makes no sense, what it sent is not repeated.
func (p *proxy) cut(err error) error {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return p.fault(Odd, "no whole answer in time")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.fault(Odd, "it closed the connection without an answer")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return p.fault(Odd, "%w", err)
	}
	return p.fault(Odd, "its response is not that of a proxy")
}
