package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

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
