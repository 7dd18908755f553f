package fetch

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// The octets of SOCKS 5 (RFC 1928, RFC 1929).
const (
	version    = 5
	byNobody   = 0    // method: no authentication
	byPassword = 2    // method: user and password
	noMethod   = 0xff // none of those that were offered
	signIn     = 1    // version of RFC 1929
	connectTo  = 1
	kindIPv4   = 1
	kindName   = 3
	kindIPv6   = 4
)

// socks is Tunnel over a SOCKS proxy. target has an address where the name was looked up here, else a name.
func (p *proxy) socks(conn net.Conn, target string) error {
	method := byte(byNobody)
	if p.named {
		method = byPassword
	}
	got, err := p.exchange(conn, []byte{version, 1, method}, 2)
	switch {
	case err != nil:
		return err
	case got[0] != version:
		return p.fault(Odd, "it does not speak SOCKS 5")
	case got[1] == noMethod && p.named:
		return p.fault(Down, "it takes no user and password")
	case got[1] == noMethod:
		return p.fault(Down, "it wants a user and a password")
	case got[1] != method:
		return p.fault(Odd, "it chose a way to sign in that was not offered")
	}
	if p.named {
		b := append([]byte{signIn, byte(len(p.user))}, p.user...)
		b = append(append(b, byte(len(p.password))), p.password...)
		if got, err = p.exchange(conn, b, 2); err != nil {
			return err
		}
		if got[1] != 0 {
			return p.fault(Down, "it does not accept your user and password")
		}
	}
	ask, err := proxyRequest(target)
	if err != nil {
		return err
	}
	if got, err = p.exchange(conn, ask, 4); err != nil {
		return err
	}
	if got[0] != version {
		return p.fault(Odd, "it does not speak SOCKS 5")
	}
	if got[1] != 0 {
		return p.fault(kindOfReply(got[1]), "it does not lead there: %s", replyOf(got[1]))
	}
	return p.skipBound(conn, got[3])
}

// exchange sends octets and reads so many.
func (p *proxy) exchange(conn net.Conn, b []byte, answer int) ([]byte, error) {
	if _, err := conn.Write(b); err != nil {
		return nil, p.cut(err)
	}
	got := make([]byte, answer)
	if _, err := io.ReadFull(conn, got); err != nil {
		return nil, p.cut(err)
	}
	return got, nil
}

// proxyRequest asks for a connection to target.
func proxyRequest(target string) ([]byte, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("socks: %w", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("socks: %w", err)
	}
	b := []byte{version, connectTo, 0}
	switch addr, err := netip.ParseAddr(host); {
	case err != nil && len(host) > 255:
		return nil, fmt.Errorf("socks: the name of the host has %d bytes", len(host))
	case err != nil:
		b = append(append(b, kindName, byte(len(host))), host...)
	case addr.Is4():
		b = append(append(b, kindIPv4), addr.AsSlice()...)
	default:
		b = append(append(b, kindIPv6), addr.WithZone("").AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(b, uint16(n)), nil
}

// skipBound reads the rest of a reply: from where the proxy connects, which is of no use.
func (p *proxy) skipBound(conn net.Conn, kind byte) error {
	size := map[byte]int{kindIPv4: 4, kindIPv6: 16}[kind]
	if kind == kindName {
		var n [1]byte
		if _, err := io.ReadFull(conn, n[:]); err != nil {
			return p.cut(err)
		}
		size = int(n[0])
	} else if size == 0 {
		return p.fault(Odd, "it does not speak SOCKS 5")
	}
	if _, err := io.ReadFull(conn, make([]byte, size+2)); err != nil {
		return p.cut(err)
	}
	return nil
}

// kindOfReply says whom a reply blames: one that the proxy does not know what it was asked for is no target's fault.
func kindOfReply(code byte) Kind {
	if code >= 1 && code <= 6 {
		return Said
	}
	return Odd
}

func replyOf(code byte) string {
	replies := []string{"", "general failure", "not allowed", "network unreachable", "host unreachable",
		"connection refused", "it took too long", "command not supported", "kind of address not supported"}
	if int(code) < len(replies) {
		return replies[code]
	}
	return "reply " + strconv.Itoa(int(code))
}
