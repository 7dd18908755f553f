package fetch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"

	"curtsy/frontier/canon"
)

type refused struct {
	prefix netip.Prefix
	why    string
}

// refusedIPv4 are the ranges that the IANA IPv4 Special-Purpose Address Registry (RFC 6890, updated by RFC 8190) does not
// call globally reachable, class D and E, and metadata services of clouds. The first match gives the reason.
var refusedIPv4 = []refused{
	{netip.MustParsePrefix("169.254.169.254/32"), "metadata service"},      // of most clouds, in link-local space
	{netip.MustParsePrefix("100.100.100.200/32"), "metadata service"},      // Alibaba Cloud, in shared space
	{netip.MustParsePrefix("168.63.129.16/32"), "metadata service"},        // Azure: a virtual public address of every host
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},                    // "this network", RFC 791 3.2
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},                       // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), "shared (carrier-grade NAT)"}, // RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},                     // RFC 1122 3.2.1.3
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},                // RFC 3927
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},                    // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), "IETF protocol assignment"},    // RFC 6890 2.1; also Oracle Cloud's metadata
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},               // RFC 5737
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},                // RFC 7526, deprecated
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},                   // RFC 1918
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},               // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},            // RFC 5737
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},             // RFC 5737
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},                    // RFC 1112
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved or broadcast"},        // RFC 1112 4, RFC 919
}

// refusedIPv6 is the same for IPv6. An address outside 2000::/3 is not global unicast at all (IANA IPv6 Address Space,
// RFC 4291); its rows only give better reasons.
var refusedIPv6 = []refused{
	{netip.MustParsePrefix("fd00:ec2::254/128"), "metadata service"},      // Amazon
	{netip.MustParsePrefix("fd20:ce::254/128"), "metadata service"},       // Google Cloud
	{netip.MustParsePrefix("::/128"), "unspecified"},                      // RFC 4291
	{netip.MustParsePrefix("::1/128"), "loopback"},                        // RFC 4291
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local translation"},        // RFC 8215
	{netip.MustParsePrefix("100::/64"), "discard-only"},                   // RFC 6666
	{netip.MustParsePrefix("100:0:0:1::/64"), "dummy"},                    // RFC 9780
	{netip.MustParsePrefix("2001::/23"), "IETF protocol assignment"},      // RFC 2928; Teredo is unwrapped before
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},             // RFC 3849
	{netip.MustParsePrefix("3fff::/20"), "documentation"},                 // RFC 9637
	{netip.MustParsePrefix("5f00::/16"), "segment routing"},               // RFC 9602
	{netip.MustParsePrefix("fc00::/7"), "private (unique local)"},         // RFC 4193
	{netip.MustParsePrefix("fe80::/10"), "link-local"},                    // RFC 4291
	{netip.MustParsePrefix("fec0::/10"), "private (site-local)"},          // RFC 3879, deprecated
	{netip.MustParsePrefix("ff00::/8"), "multicast"},                      // RFC 4291
	{netip.MustParsePrefix("::/3"), "reserved or not global unicast"},     // RFC 4291
	{netip.MustParsePrefix("4000::/2"), "reserved or not global unicast"}, // RFC 4291
	{netip.MustParsePrefix("8000::/1"), "reserved or not global unicast"}, // RFC 4291
}

// embedding is a range of IPv6 addresses that embed an IPv4 address.
type embedding struct {
	prefix netip.Prefix
	at     int  // byte where the IPv4 address begins
	invert bool // its bits are inverted
	public bool // the range leads to the public Internet: only the IPv4 address counts
	name   string
}

var embeddings = []embedding{
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false, true, "NAT64"},               // RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2, false, true, "6to4"},                    // RFC 3056
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false, false, "IPv4-translated"}, // RFC 2765
	{netip.MustParsePrefix("2001::/32"), 12, true, false, "Teredo client"},          // RFC 4380 4
}

// refusal returns why a may not be dialled; empty if it may. An embedded IPv4 address is judged, and unless its range is
// public also a itself.
func refusal(a netip.Addr) string {
	a = a.WithZone("").Unmap() // Prefix.Contains is false for any address with a zone
	table := refusedIPv6
	if a.Is4() {
		table = refusedIPv4
	} else {
		for _, e := range embeddings {
			if !e.prefix.Contains(a) {
				continue
			}
			if why := refusal(e.unwrap(a)); why != "" {
				return e.name + " of " + why
			}
			if e.public {
				return ""
			}
		}
	}
	for _, r := range table {
		if r.prefix.Contains(a) {
			return r.why
		}
	}
	return ""
}

func (e embedding) unwrap(a netip.Addr) netip.Addr {
	octets := a.As16()
	v := binary.BigEndian.Uint32(octets[e.at:])
	if e.invert {
		v = ^v
	}
	var four [4]byte
	binary.BigEndian.PutUint32(four[:], v)
	return netip.AddrFrom4(four)
}

// LeadsTo returns the IPv4 address that a leads to through NAT64 or 6to4; else a without a zone.
func LeadsTo(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	for _, e := range embeddings {
		if e.public && e.prefix.Contains(a) {
			return e.unwrap(a)
		}
	}
	return a
}

// guard judges one address of a's host (politeness rule 23). The error is a *Failure.
func (f *Fetcher) guard(a canon.Authority, ap netip.AddrPort) error {
	if err := f.refuse(ap.Addr()); err != nil {
		return err
	}
	why := refusal(ap.Addr())
	if why == "" || f.exempt(a, ap) {
		return nil
	}
	return &Failure{PrivateAddress, fmt.Errorf("%s is at %s, which is %s", a.Host(), ap.Addr(), why)}
}

func (f *Fetcher) exempt(a canon.Authority, ap netip.AddrPort) bool {
	bare := ap.Addr().WithZone("").Unmap()
	if slices.ContainsFunc(f.c.AllowNet, func(p netip.Prefix) bool { return p.Contains(bare) }) {
		return true
	}
	if a.Host() == "localhost" {
		return bare.IsLoopback() && slices.Contains(f.c.AllowLocalhost, ap.Port())
	}
	_, literal := a.Addr()
	return literal && slices.ContainsFunc(f.c.AllowAddr, func(allowed netip.AddrPort) bool {
		return allowed.Addr().WithZone("").Unmap() == bare && allowed.Port() == ap.Port()
	})
}

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

func (f Family) has(a netip.Addr) bool {
	return f == 0 || a.Unmap().Is4() == (f == IPv4)
}

func (f Family) of(all []netip.Addr) []netip.Addr {
	if f == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return !f.has(a) })
}

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Unmap().Is4() {
		return IPv4
	}
	return IPv6
}

// CheckLocal returns an error if connections cannot leave from a local address.
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

// unbound reports whether err means that the local address of a connection is unavailable.
func unbound(err error) bool {
	for _, no := range []syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, 10047, 10049} { // the last as Winsock has them
		if errors.Is(err, no) {
			return true
		}
	}
	var call *os.SyscallError
	return errors.As(err, &call) && call.Syscall == "bind"
}

// refuse applies Config.Refuse to an address, and to the IPv4 address in it. The error is a *Failure.
func (f *Fetcher) refuse(a netip.Addr) error {
	if f.c.Refuse == nil || !a.IsValid() { // only a proxy knows the address
		return nil
	}
	a = a.WithZone("").Unmap()
	err := f.c.Refuse(a)
	for _, e := range embeddings {
		if err == nil && e.prefix.Contains(a) {
			err = f.c.Refuse(e.unwrap(a))
		}
	}
	if err != nil {
		return &Failure{OptOut, err}
	}
	return nil
}
