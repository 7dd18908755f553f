package fetch

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// RFC 8305 4: a host with many addresses of both kinds is reached where one kind leads nowhere, whether the network
// refuses at once or swallows what is sent.
func TestBothKindsOfAddressesAreTried(t *testing.T) {
	six := []string{"2606:2800:220:1::1", "2606:2800:220:1::2", "2606:2800:220:1::3", "2606:2800:220:1::4"}
	four := []string{"8.8.8.1", "8.8.8.2", "8.8.8.3", "8.8.8.4"}
	for _, c := range []struct {
		name   string
		found  []string
		works  func(netip.Addr) bool
		dialed []string
	}{
		{"IPv6 leads nowhere", slices.Concat(six, four), netip.Addr.Is4, []string{six[0], four[0]}},
		{"IPv4 leads nowhere", slices.Concat(four, six), netip.Addr.Is6, []string{four[0], six[0]}},
		{"IPv6 alone", six, netip.Addr.Is6, six[:1]},
		{"the resolver's order", []string{six[0], four[0], six[1]}, netip.Addr.Is6, six[:1]},
		{"one IPv4 address last", slices.Concat(six, four[:1]), netip.Addr.Is4, []string{six[0], four[0]}},
		{"the third", slices.Concat(six, four), func(a netip.Addr) bool { return a.String() == six[1] }, []string{six[0], four[0], six[1]}},
	} {
		for _, swallowed := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &world{serve: answering(ok("bread"))}
					var dialed []string
					x := get(t, w.fetcher(t, Config{
						Resolve: resolveTo(c.found...),
						Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
							to := netip.MustParseAddrPort(address).Addr()
							dialed = append(dialed, to.String())
							if c.works(to) {
								return w.dial(ctx, network, address)
							}
							if swallowed {
								<-ctx.Done()
								return nil, ctx.Err()
							}
							return nil, &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}
						},
						ConnectTimeout: 5 * time.Second,
					}), "http://a.test/")
					if expect(t, x, "", ""); !slices.Equal(dialed, c.dialed) {
						t.Errorf("dialled %v, want %v", dialed, c.dialed)
					}
				})
			})
		}
	}
}

// What a network without IPv4 makes of the address of a host is that host's address: for paces, and for who opted out.
func TestLeadsTo(t *testing.T) {
	for addr, want := range map[string]string{
		"8.8.8.8": "8.8.8.8", "::ffff:8.8.8.8": "8.8.8.8", "64:ff9b::8.8.8.8": "8.8.8.8", "2002:808:808::1": "8.8.8.8",
		"64:ff9b:1::8.8.8.8": "64:ff9b:1::808:808", "2606:2800:220:1::1": "2606:2800:220:1::1", "fe80::1%eth0": "fe80::1",
		"2001:0:4136:e378:8000:63bf:f7f7:f7f7": "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
	} {
		if got := LeadsTo(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("%s leads to %s, want %s", addr, got, want)
		}
	}
}

// A server on [::1] is found by the name localhost, whose two addresses no resolver is asked for (RFC 6761 6.3).
func TestLocalhostIsFoundOnIPv6Only(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: answering(ok("bread"))}
		var dialed []string
		x := get(t, w.fetcher(t, Config{
			AllowLocalhost: []uint16{80}, Resolve: lookUpBySystem,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				if dialed = append(dialed, address); address != "[::1]:80" {
					return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
				}
				return w.dial(ctx, network, address)
			},
		}), "http://localhost/")
		if expect(t, x, "", ""); !slices.Equal(dialed, []string{"127.0.0.1:80", "[::1]:80"}) {
			t.Errorf("dialled %q", dialed)
		}
	})
}
