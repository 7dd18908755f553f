package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"curtsy/frontier/canon"
)

// reach returns a connection under watch over which a can be spoken to, and its address if that is known: straight to one
// of addrs, or through p. x.Addr becomes the address that was dialled last, or that a proxy was told.
func (f *Fetcher) reach(ctx context.Context, x *Exchange, a canon.Authority, p *proxy, addrs []netip.AddrPort,
	end time.Time) (*connection, error) {
	if p == nil {
		conn, err := f.dialOne(ctx, &x.Addr, addrs, end)
		if err != nil {
			return nil, err
		}
		if f.contact != nil && !loopback(conn.RemoteAddr()) {
			_ = conn.Close()
			return nil, f.contact
		}
		l := f.newLine(ctx, a, x.Addr, conn, end)
		return l, nil
	}
	if f.contact != nil { // what the far end is nobody here knows
		return nil, f.contact
	}
	x.Proxy = p.String()
	conn, err := f.dialProxy(ctx, p, end)
	if err != nil {
		return nil, err
	}
	l := f.newLine(ctx, a, netip.AddrPort{}, conn, end)
	l.proxy = p
	if !p.Blind() {
		x.Addr = addrs[0]
		l.addr = x.Addr
	}
	if err := f.tunnel(ctx, l, p); err != nil {
		l.release()
		l.abort()
		return nil, err
	}
	return l, nil
}

// newLine puts a fresh connection under watch.
func (f *Fetcher) newLine(ctx context.Context, a canon.Authority, addr netip.AddrPort, conn net.Conn, end time.Time) *connection {
	l := newLine(a, addr, conn)
	l.budget = f.budget
	l.watch(ctx, end)
	return l
}

// dialOne connects to the first of addrs that can be reached. at becomes the one that was tried last.
func (f *Fetcher) dialOne(ctx context.Context, at *netip.AddrPort, addrs []netip.AddrPort, end time.Time) (conn net.Conn, err error) {
	for _, *at = range addrs {
		conn, err = f.dial(ctx, *at, end)
		var failed *Failure
		if err == nil || ctx.Err() != nil || !errors.As(err, &failed) {
			break
		}
	}
	return conn, err
}

// dialProxy connects to a proxy. The guard does not judge it: the operator named it, and it may well be in a private net.
func (f *Fetcher) dialProxy(ctx context.Context, p *proxy, end time.Time) (net.Conn, error) {
	var found []netip.Addr
	if addr, ok := p.Addr(); ok {
		found = []netip.Addr{addr}
	} else {
		var err error
		if found, err = f.lookUp(ctx, p.Host()); err != nil {
			return nil, proxyDown(p, err)
		}
	}
	var addrs []netip.AddrPort
	for _, addr := range f.c.Family.of(found) {
		addrs = append(addrs, netip.AddrPortFrom(addr.Unmap(), p.Port()))
	}
	if len(addrs) == 0 {
		return nil, proxyDown(p, fmt.Errorf("it has no address of %s", f.c.Family))
	}
	var at netip.AddrPort
	conn, err := f.dialOne(ctx, &at, mixed(addrs), end)
	if err != nil {
		f.names.forget(p.Host())
		return nil, proxyDown(p, err)
	}
	return conn, nil
}

// proxyDown makes a failure of the proxy of what would be one of a host. A fault of our own stays one.
func proxyDown(p *proxy, err error) error {
	var failed *Failure
	if errors.As(err, &failed) {
		return &Failure{Proxy, p.Fault(Down, failed.Err)}
	}
	return err
}

// tunnel brings l to where the target of its authority is spoken to: at the proxy itself for what it forwards.
func (f *Fetcher) tunnel(ctx context.Context, l *connection, p *proxy) error {
	l.wait(proxyPatience * f.c.ConnectTimeout)
	if p.TLS() {
		c := f.tls.Clone()
		c.ServerName = p.Host()
		secured := tls.Client(l.conn, c)
		if err := secured.HandshakeContext(ctx); err != nil {
			return &Failure{Proxy, p.Fault(Down, fmt.Errorf("TLS handshake: %w", err))}
		}
		l.mu.Lock()
		l.conn = sealed{secured}
		l.mu.Unlock()
	}
	if p.Forwards() && l.authority.Scheme() != "https" {
		return nil
	}
	target := net.JoinHostPort(strings.Trim(l.authority.Host(), "[]"), l.authority.Port())
	if l.addr.IsValid() {
		target = l.addr.String()
	}
	err := p.Tunnel(l.conn, target, f.c.Identity.UserAgent())
	if err != nil {
		return &Failure{Proxy, err}
	}
	return nil
}

// proxyPatience is for how many times Config.ConnectTimeout a proxy may take to lead to a target: it makes a look-up and a
// connection of its own.
const proxyPatience = 3

// sealed is a connection to a proxy in TLS. It does not pass for one to a target in TLS.
type sealed struct{ net.Conn }

// far names the other end for an error.
func (l *connection) far() string {
	if l.proxy != nil {
		return l.authority.Host() + " through " + l.proxy.String()
	}
	return l.addr.String()
}

// guardName judges a host whose address nobody here will know, by its name alone (politeness rules 23 and 27). A name that
// leads to no public host is refused, whatever the operator typed: behind a proxy, localhost would be the proxy itself.
// An address is judged like any other.
func (f *Fetcher) guardName(a canon.Authority) error {
	if addr, ok := a.Addr(); ok {
		if a.Loopback() {
			return &Failure{PrivateAddress, fmt.Errorf("%s is loopback, where a proxy would find itself", a.Host())}
		}
		return f.guard(a, netip.AddrPortFrom(addr.Unmap(), portOf(a)))
	}
	name := strings.TrimSuffix(a.Host(), ".")
	for _, own := range []string{"localhost", "local", "internal", "home.arpa"} { // RFC 6761, RFC 6762, ICANN, RFC 8375
		if name == own || strings.HasSuffix(name, "."+own) {
			return &Failure{PrivateAddress, fmt.Errorf("%s is a name of a private network, and a proxy looks it up", a.Host())}
		}
	}
	if !strings.Contains(name, ".") {
		return &Failure{PrivateAddress, fmt.Errorf("%s has no dot: it is a name of a private network, and a proxy looks it up", a.Host())}
	}
	return nil
}

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
