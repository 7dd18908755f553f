package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
)

// Family is a kind of addresses. Zero means any.
type Family uint8

// The families.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

func (f Family) String() string {
	switch f {
	case IPv4:
		return "IPv4"
	case IPv6:
		return "IPv6"
	}
	return "any family"
}

// has reports whether a is of f.
func (f Family) has(a netip.Addr) bool {
	return f == 0 || a.Unmap().Is4() == (f == IPv4)
}

// of are those addresses that are of f.
func (f Family) of(all []netip.Addr) []netip.Addr {
	if f == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return !f.has(a) })
}

// missing is the class of a host that has no address of f.
func (f Family) missing() Class {
	if f == IPv4 {
		return NoIPv4
	}
	return NoIPv6
}

// FamilyOf is the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Unmap().Is4() {
		return IPv4
	}
	return IPv6
}

// CheckLocal reports whether connections can leave from a local address: an error where this machine does not have it.
func CheckLocal(a netip.Addr) error {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	switch {
	case err == nil:
		return l.Close()
	case unbound(err):
		return fmt.Errorf("%s is not an address of this machine", a)
	}
	return fmt.Errorf("%s cannot be used as a local address: %w", a, err)
}

// unbound reports whether err says that the local address of a connection cannot be had, which is no fault of its host.
func unbound(err error) bool {
	for _, no := range []syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, 10047, 10049} { // the last as Winsock has them
		if errors.Is(err, no) {
			return true
		}
	}
	var call *os.SyscallError
	return errors.As(err, &call) && call.Syscall == "bind"
}
