package crawltest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
)

// Net is the prefix that all addresses of the web are in, 198.18.0.0/15. A crawler that refuses addresses which are not
// public must be told to allow it.
func (w *Web) Net() netip.Prefix { return prefix }

// Resolve returns the address of a name of the web. The error for any other name is a *net.DNSError with IsNotFound.
func (w *Web) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, ok := w.addrs[name]; ok {
		if h := w.hosts[name]; h != nil {
			addr = h.address(addr)
		}
		return []netip.Addr{addr}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Dial connects to a site by its address, "198.18.0.1:80", or by its name, "bakery.test:80" (as http.Transport asks).
// Where nothing listens the error is that of a refused connection; a name that there is not fails as in Resolve.
func (w *Web) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if network != "tcp" && network != "tcp4" {
		return fail(net.UnknownNetworkError(network))
	}
	machine, port, err := net.SplitHostPort(address)
	if err != nil {
		return fail(err)
	}
	if addr, err := netip.ParseAddr(machine); err == nil {
		machine = addr.Unmap().String()
	} else {
		addrs, err := w.Resolve(ctx, machine)
		if err != nil {
			return fail(err)
		}
		machine = addrs[0].String()
	}
	l := w.listening(net.JoinHostPort(machine, port))
	if l == nil {
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return fail(err)
	}
	return conn, nil
}

// listening returns who listens at an address of the web, or nil.
func (w *Web) listening(addr string) listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.order {
		if h.addr == addr && w.listeners != nil {
			return w.listeners[h.name]
		}
	}
	return nil
}

// Local returns the URL under which a resource is reached without a hook. A URL that is not in the web stays as it is.
func (w *Web) Local(u string) string {
	if w.local == nil {
		return u
	}
	return w.local.Replace(u)
}

// LoopbackURL returns the URL under which a site's root can be fetched without Resolve and Dial,
// "http://127.0.0.1:41234/", while the web is started with Start; otherwise, and for an unknown name, "".
func (w *Web) LoopbackURL(host string) string {
	h := w.hosts[authorityOf(host)]
	if h == nil || h.port == "" {
		return ""
	}
	return fmt.Sprintf("http://127.0.0.1:%s/", h.port)
}
