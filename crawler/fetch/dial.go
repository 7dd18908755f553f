package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"curtsy/frontier/canon"
)

// lookUpBySystem calls the system's resolver, except for localhost (RFC 6761 6.3).
func lookUpBySystem(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "localhost" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Addresses returns at most three addresses of a's host that the guard allows, in the resolver's order, except that the
// second is of the other family than the first if there is one. It returns none, and no error, where a proxy looks the
// name up. Lookups are bounded, shared, and kept for a minute. The error is a *Failure (the first refusal if no address
// passes), or that of ctx.
func (f *Fetcher) Addresses(ctx context.Context, a canon.Authority) ([]netip.AddrPort, error) {
	addrs, err := f.addresses(ctx, a)
	if err != nil && ctx.Err() != nil {
		return nil, over(ctx)
	}
	return addrs, err
}

// addresses is Addresses, but returns a *Failure for a lookup that ctx ended.
func (f *Fetcher) addresses(ctx context.Context, a canon.Authority) ([]netip.AddrPort, error) {
	if p := f.c.Proxy.For(a); p != nil && p.Blind() {
		return nil, f.guardName(a)
	}
	var found []netip.Addr
	var err error
	if addr, ok := a.Addr(); ok {
		found = []netip.Addr{addr}
	} else if found, err = f.lookUp(ctx, a.Host()); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &Failure{DNS, fmt.Errorf("look up %s: no addresses", a.Host())}
	}
	if found = f.c.Family.of(found); len(found) == 0 {
		class := NoIPv6
		if f.c.Family == IPv4 {
			class = NoIPv4
		}
		return nil, &Failure{class, fmt.Errorf("%s has no address of %s", a.Host(), f.c.Family)}
	}
	var passed []netip.AddrPort
	var refusal error
	for _, addr := range found {
		ap := netip.AddrPortFrom(addr.Unmap(), portOf(a.Port()))
		if err := f.guard(a, ap); err == nil {
			passed = append(passed, ap)
		} else if refusal == nil {
			refusal = err
		}
	}
	if len(passed) == 0 {
		return nil, refusal
	}
	return mixed(passed), nil
}

// portOf converts a port that has been validated.
func portOf(port string) uint16 {
	n, _ := strconv.ParseUint(port, 10, 16)
	return uint16(n)
}

// mixed returns the first maxAddrs of addrs, the second of the other family than the first if there is one (RFC 8305 4):
// a host with many addresses of a family that leads nowhere is still reached.
func mixed(addrs []netip.AddrPort) []netip.AddrPort {
	first := addrs[0].Addr().Is4()
	other := slices.IndexFunc(addrs, func(ap netip.AddrPort) bool { return ap.Addr().Is4() != first })
	if other > 1 {
		ap := addrs[other]
		addrs = slices.Insert(slices.Delete(addrs, other, other+1), 1, ap)
	}
	return addrs[:min(len(addrs), maxAddrs)]
}

// lookUp resolves a name. The error is a *Failure.
func (f *Fetcher) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := f.names.of(ctx, host)
	if err == nil {
		return found, nil
	}
	class := DNS
	var missing *net.DNSError
	if errors.As(err, &missing) && missing.IsNotFound {
		class = NXDomain
	}
	return nil, &Failure{class, fmt.Errorf("look up %s: %w", host, err)}
}

// names looks up host names, at most maxLookups at a time, each once for all callers, and caches the results: the
// crawler must dial the address that it reserved a slot for. Failures are shared, but not cached. A lookup gives its
// place to others after slowLookUp. Waiting for a place counts against no timeout.
type names struct {
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error)
	patience time.Duration // with one lookup
	places   chan struct{} // one for each lookup that is not slow

	mu    sync.Mutex
	under map[string]*lookUp // under way
	known map[string]answer
}

// lookUp is one call of the resolver. The other fields are set when done is closed.
type lookUp struct {
	done    chan struct{}
	addrs   []netip.Addr
	err     error
	settled bool // false if the caller gave up
}

type answer struct {
	addrs []netip.Addr
	until time.Time
}

const (
	nameLife   = time.Minute
	slowLookUp = time.Second

	maxNames = 1 << 14 // cached
	maxFound = 32      // addresses of one name: a DNS response may hold thousands
)

func newNames(resolve func(context.Context, string) ([]netip.Addr, error), patience time.Duration) *names {
	return &names{
		resolve: resolve, patience: patience, places: make(chan struct{}, maxLookups),
		under: map[string]*lookUp{}, known: map[string]answer{},
	}
}

// of returns the addresses of a host name. The first caller makes the lookup; the others wait for it, and one of them
// repeats it if the first gave up.
func (n *names) of(ctx context.Context, host string) ([]netip.Addr, error) {
	for {
		n.mu.Lock()
		if a, ok := n.known[host]; ok && time.Now().Before(a.until) {
			n.mu.Unlock()
			return slices.Clone(a.addrs), nil
		}
		l := n.under[host]
		if l == nil {
			l = &lookUp{done: make(chan struct{})}
			n.under[host] = l
			n.mu.Unlock()
			n.make(ctx, host, l)
			return l.addrs, l.err
		}
		n.mu.Unlock()
		select {
		case <-l.done:
			if l.settled {
				return slices.Clone(l.addrs), l.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// make calls the resolver and wakes the waiting callers.
func (n *names) make(ctx context.Context, host string, l *lookUp) {
	defer func() { // also when the resolver panics
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.under, host)
		close(l.done)
		if l.settled && l.err == nil && len(l.addrs) > 0 {
			n.remember(host, l.addrs)
		}
	}()
	select {
	case n.places <- struct{}{}:
		leave := time.AfterFunc(slowLookUp, func() { <-n.places })
		defer func() {
			if leave.Stop() {
				<-n.places
			}
		}()
	case <-ctx.Done():
		l.err = ctx.Err()
		return
	}
	patient, cancel := context.WithTimeout(ctx, n.patience)
	defer cancel()
	l.addrs, l.err = n.resolve(patient, host)
	l.addrs = l.addrs[:min(len(l.addrs), maxFound)]
	l.settled = l.err == nil || ctx.Err() == nil
}

// remember is called with mu held.
func (n *names) remember(host string, addrs []netip.Addr) {
	now := time.Now()
	if len(n.known) >= maxNames {
		for name, a := range n.known {
			if !now.Before(a.until) {
				delete(n.known, name)
			}
		}
		for name := range n.known { // all are fresh: drop some
			if len(n.known) < maxNames/2 {
				break
			}
			delete(n.known, name)
		}
	}
	n.known[host] = answer{addrs: slices.Clone(addrs), until: now.Add(nameLife)}
}

// forget drops a name of which no address could be reached.
func (n *names) forget(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, host)
}

// reach returns a connection under watch to one of addrs, or through p. x.Addr becomes the address dialled last, or the
// one given to the proxy.
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
		return f.newLine(ctx, a, x.Addr, conn, end), nil
	}
	if f.contact != nil { // the far end is not known to be loopback
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

func (f *Fetcher) newLine(ctx context.Context, a canon.Authority, addr netip.AddrPort, conn net.Conn, end time.Time) *connection {
	l := newLine(a, addr, conn)
	l.budget = f.budget
	l.watch(ctx, end)
	return l
}

// dialOne connects to the first reachable of addrs. at becomes the one tried last.
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

// dialProxy connects to a proxy without the guard: the operator named it, and it may be in a private network.
func (f *Fetcher) dialProxy(ctx context.Context, p *proxy, end time.Time) (net.Conn, error) {
	var found []netip.Addr
	if addr, err := netip.ParseAddr(p.host); err == nil {
		found = []netip.Addr{addr}
	} else {
		var err error
		if found, err = f.lookUp(ctx, p.host); err != nil {
			return nil, proxyDown(p, err)
		}
	}
	var addrs []netip.AddrPort
	for _, addr := range f.c.Family.of(found) {
		addrs = append(addrs, netip.AddrPortFrom(addr.Unmap(), portOf(p.port)))
	}
	if len(addrs) == 0 {
		return nil, proxyDown(p, fmt.Errorf("it has no address of %s", f.c.Family))
	}
	var at netip.AddrPort
	conn, err := f.dialOne(ctx, &at, mixed(addrs), end)
	if err != nil {
		f.names.forget(p.host)
		return nil, proxyDown(p, err)
	}
	return conn, nil
}

// proxyDown turns a host's failure into one of the proxy. Other errors stay.
func proxyDown(p *proxy, err error) error {
	var failed *Failure
	if errors.As(err, &failed) {
		return &Failure{Proxy, p.Fault(Down, failed.Err)}
	}
	return err
}

// tunnel connects l to its authority through p, except for requests that p forwards.
func (f *Fetcher) tunnel(ctx context.Context, l *connection, p *proxy) error {
	l.wait(proxyPatience * f.c.ConnectTimeout)
	if p.scheme == https {
		c := f.tls.Clone()
		c.ServerName = p.host
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
	if err := p.Tunnel(l.conn, target, f.c.Identity.UserAgent()); err != nil {
		return &Failure{Proxy, err}
	}
	return nil
}

// proxyPatience is in units of Config.ConnectTimeout: the proxy makes a lookup and a connection itself.
const proxyPatience = 3

// sealed is a TLS connection to a proxy. It is not a *tls.Conn, so that it does not pass for TLS to the target.
type sealed struct{ net.Conn }

func (l *connection) far() string {
	if l.proxy != nil {
		return l.authority.Host() + " through " + l.proxy.String()
	}
	return l.addr.String()
}

// guardName judges a host that a proxy looks up, by its name (politeness rules 23 and 27). It refuses names of private
// networks, even as seeds: behind a proxy, localhost is the proxy itself.
func (f *Fetcher) guardName(a canon.Authority) error {
	if addr, ok := a.Addr(); ok {
		if a.Loopback() {
			return &Failure{PrivateAddress, fmt.Errorf("%s is loopback, where a proxy would find itself", a.Host())}
		}
		return f.guard(a, netip.AddrPortFrom(addr.Unmap(), portOf(a.Port())))
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

// connect returns a fresh connection to a under watch, at only unless that is zero. x.Addr becomes the address dialled
// last.
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

// noRoute reports whether err means that the host is unreachable rather than refusing.
func noRoute(err error) bool {
	for _, no := range []syscall.Errno{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EHOSTDOWN, syscall.EADDRNOTAVAIL,
		10049, 10050, 10051, 10064, 10065, // the same of Winsock
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

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

// loopback reports whether far is this machine, or not a network address at all (from a dial hook).
func loopback(far net.Addr) bool {
	tcp, ok := far.(*net.TCPAddr)
	return !ok || tcp.AddrPort().Addr().Unmap().IsLoopback()
}
