package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"curtsy/frontier/canon"
)

// connect returns a fresh connection to a, at only unless that is zero, under watch. Failure of the world is a
// *Failure. x.Addr becomes the address that was dialled last.
func (f *Fetcher) connect(ctx context.Context, x *Exchange, a canon.Authority, only netip.AddrPort,
	end time.Time) (*connection, error) {
	addrs := []netip.AddrPort{only}
	var err error
	if only.IsValid() {
		err = f.guard(a, only)
	} else {
		addrs, err = f.addresses(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	l, err := f.reach(ctx, x, a, f.c.Proxy.For(a), addrs, end)
	if err != nil {
		f.names.forget(a.Host())
		return nil, err
	}
	if a.Scheme() != "https" {
		return l, nil
	}
	if err := l.handshake(ctx, f.tls, f.c.ConnectTimeout); err != nil {
		l.release()
		l.abort()
		return nil, err
	}
	return l, nil
}

// dial connects to one address.
func (f *Fetcher) dial(ctx context.Context, ap netip.AddrPort, end time.Time) (net.Conn, error) {
	until := time.Now().Add(f.c.ConnectTimeout)
	if end.Before(until) {
		until = end
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	conn, err := f.c.Dial(ctx, "tcp", ap.String())
	if err == nil {
		return conn, nil
	}
	var timeout net.Error
	switch {
	case f.c.Bind.IsValid() && unbound(err):
		return nil, fmt.Errorf("dial %s: %w; no connection can leave from %s (--bind)", ap, err, f.c.Bind)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return nil, fmt.Errorf("dial %s: %w; raise the limit on open files or use fewer workers", ap, err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return nil, &Failure{Timeout, fmt.Errorf("dial %s: no connection within %v", ap, f.c.ConnectTimeout)}
	case noRoute(err):
		return nil, &Failure{NoRoute, fmt.Errorf("dial %s: %w", ap, err)}
	default:
		return nil, &Failure{Connect, fmt.Errorf("dial %s: %w", ap, err)}
	}
}

// noRoute reports whether err says that no packet came to the host, or none back, rather than that it refused.
func noRoute(err error) bool {
	for _, no := range []syscall.Errno{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EHOSTDOWN, syscall.EADDRNOTAVAIL,
		10049, 10050, 10051, 10064, 10065, // the same as Winsock numbers them, which no other system has
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// handshake puts TLS on l, the server's certificate verified for the host of the URL.
func (l *connection) handshake(ctx context.Context, c *tls.Config, patience time.Duration) error {
	c = c.Clone()
	if addr, ok := l.authority.Addr(); ok {
		c.ServerName = addr.String()
	} else {
		c.ServerName = l.authority.Host()
	}
	l.socket = &socket{Conn: l.conn}
	secured := tls.Client(l.socket, c)
	l.mu.Lock()
	l.conn = secured
	l.mu.Unlock()
	l.wait(patience)
	err := secured.HandshakeContext(ctx)
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &timeout) && timeout.Timeout():
		return &Failure{Timeout, fmt.Errorf("TLS handshake with %s: not done within %v", l.far(), patience)}
	default:
		return &Failure{classOfTLS(err), fmt.Errorf("TLS handshake with %s: %w", l.far(), err)}
	}
}

// loopback reports whether the far end of a connection is this machine. A dial hook may return no network
// connection at all, which asks nobody anything.
func loopback(far net.Addr) bool {
	tcp, ok := far.(*net.TCPAddr)
	return !ok || tcp.AddrPort().Addr().Unmap().IsLoopback()
}
