package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
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
