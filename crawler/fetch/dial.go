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

// lookUpBySystem asks the resolver of the system. The name localhost is never asked for (RFC 6761 6.3).
func lookUpBySystem(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "localhost" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Addresses returns the addresses that an exchange with a may go to: those of its host that the guard lets pass, at
// most three, in the resolver's order, but that the second is of the other kind than the first if there is one. There are
// none, and no error, where a proxy leads to a that looks the name up itself, and the guard has nothing against the name.
// Look-ups are bounded in number, shared, and remembered for a minute. The error is a *Failure (the first refusal when
// no address passes), or that of ctx.
func (f *Fetcher) Addresses(ctx context.Context, a canon.Authority) ([]netip.AddrPort, error) {
	addrs, err := f.addresses(ctx, a)
	if err != nil && ctx.Err() != nil {
		return nil, over(ctx)
	}
	return addrs, err
}

// addresses is Addresses, but that a look-up which ctx ended is a *Failure, too.
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
		return nil, &Failure{f.c.Family.missing(), fmt.Errorf("%s has no address of %s", a.Host(), f.c.Family)}
	}
	var passed []netip.AddrPort
	var refusal error
	for _, addr := range found {
		ap := netip.AddrPortFrom(addr.Unmap(), portOf(a))
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

// portOf is the port of an authority, which canon has read.
func portOf(a canon.Authority) uint16 {
	n, _ := strconv.ParseUint(a.Port(), 10, 16)
	return uint16(n)
}

// mixed returns the first maxAddrs of addrs. If they come of both kinds, of IPv4 and of IPv6, the second is of the
// other kind than the first (RFC 8305 4): where one kind leads nowhere, a host with many addresses of that kind is
// still reached.
func mixed(addrs []netip.AddrPort) []netip.AddrPort {
	first := addrs[0].Addr().Is4()
	other := slices.IndexFunc(addrs, func(ap netip.AddrPort) bool { return ap.Addr().Is4() != first })
	if other > 1 {
		ap := addrs[other]
		addrs = slices.Insert(slices.Delete(addrs, other, other+1), 1, ap)
	}
	return addrs[:min(len(addrs), maxAddrs)]
}

// lookUp resolves a name. Its error is a *Failure.
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

// names looks host names up, at most maxLookups at a time, each once for all who want it now, and remembers answers for
// a while: a host's robots.txt and its first pages should not cost a look-up each, and what the crawler reserves a slot
// for must be what it dials. Failures are shared, but not remembered.
//
// A look-up that takes long is waiting for somebody's name server, and does not keep others from theirs: its place is
// free again after slowLookUp. Waiting for a place is nobody's failure, and no part of the patience with a look-up.
type names struct {
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error)
	patience time.Duration // with one look-up
	places   chan struct{} // one for each look-up under way that is not slow

	mu    sync.Mutex
	under map[string]*lookUp // under way
	known map[string]answer
}

// lookUp is one question to the resolver. The fields behind done are set when that is closed.
type lookUp struct {
	done    chan struct{}
	addrs   []netip.Addr
	err     error
	settled bool // the resolver answered; otherwise it was given up
}

// answer is what a name led to.
type answer struct {
	addrs []netip.Addr
	until time.Time
}

const (
	nameLife   = time.Minute
	slowLookUp = time.Second

	maxNames = 1 << 14 // remembered at once; a crawl of more hosts looks some of them up more often
	maxFound = 32      // addresses of one name: an answer of the DNS may hold thousands
)

func newNames(resolve func(context.Context, string) ([]netip.Addr, error), patience time.Duration) *names {
	return &names{
		resolve: resolve, patience: patience, places: make(chan struct{}, maxLookups),
		under: map[string]*lookUp{}, known: map[string]answer{},
	}
}

// of returns the addresses of a host name. The first to ask makes the look-up; the others wait for it, and one of them
// makes its own when that was given up.
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

// make asks the resolver and tells those who wait what it answered.
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

// remember keeps an answer. The caller holds mu.
func (n *names) remember(host string, addrs []netip.Addr) {
	now := time.Now()
	if len(n.known) >= maxNames {
		for name, a := range n.known {
			if !now.Before(a.until) {
				delete(n.known, name)
			}
		}
		for name := range n.known { // all of them are young: some have to go
			if len(n.known) < maxNames/2 {
				break
			}
			delete(n.known, name)
		}
	}
	n.known[host] = answer{addrs: slices.Clone(addrs), until: now.Add(nameLife)}
}

// forget drops what is known of a name: none of its addresses could be reached.
func (n *names) forget(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, host)
}

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
