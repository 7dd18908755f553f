package cli

import (
	"context"
	"net"
	"net/netip"
	"strconv"
)

// Listen listens at what --listen gives, an address with a port. What it cannot listen at is a usage error.
func Listen(ctx context.Context, at string) (net.Listener, error) {
	return ListenFor(ctx, "--listen", at)
}

// ListenFor is Listen at what another flag gives.
func ListenFor(ctx context.Context, flag, at string) (net.Listener, error) {
	if err := mayListen(flag, at); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, networkOf(at), at)
	if err != nil {
		return nil, Usagef("%s %s: %w", flag, at, err)
	}
	return l, nil
}

// mayListen refuses what is no address with a port.
func mayListen(flag, at string) error {
	const like = "write it like 127.0.0.1:8080, with port 0 for any that is free"
	_, port, err := net.SplitHostPort(at)
	if _, e := strconv.ParseUint(at, 10, 16); err != nil && e == nil {
		return Usagef("%s %s is a port without an address; write 127.0.0.1:%s", flag, at, at)
	}
	if err != nil {
		return Usagef("%s %s is not an address with a port; %s", flag, at, like)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Usagef("%s %s: the port is not a number up to 65535; %s", flag, at, like)
	}
	return nil
}

// networkOf is where to listen: at an IPv4 address with IPv4 alone, else as the system has it.
func networkOf(listen string) string {
	if at, err := netip.ParseAddrPort(listen); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Elsewhere reports whether other machines may reach an address that is listened at.
func Elsewhere(listened net.Addr) bool {
	at, err := netip.ParseAddrPort(listened.String())
	return err != nil || !at.Addr().Unmap().IsLoopback()
}

// FromHere is an address that can be opened on this machine, where that at which is listened means all it has.
func FromHere(listened net.Addr) string {
	at, err := netip.ParseAddrPort(listened.String())
	switch a := at.Addr(); {
	case err != nil || !a.IsUnspecified():
		return listened.String()
	case a.Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(int(at.Port())))
}
