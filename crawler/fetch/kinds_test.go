package fetch

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestLeadsTo(t *testing.T) {
	for addr, want := range map[string]string{
		"8.8.8.8": "8.8.8.8", "::ffff:8.8.8.8": "8.8.8.8", "64:ff9b::8.8.8.8": "8.8.8.8", "2002:808:808::1": "8.8.8.8",
		"64:ff9b:1::8.8.8.8": "64:ff9b:1::808:808", "2606:2800:220:1::1": "2606:2800:220:1::1", "fe80::1%eth0": "fe80::1",
		"2001:0:4136:e378:8000:63bf:f7f7:f7f7": "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
	} {
		assert.Equal(t, want, LeadsTo(netip.MustParseAddr(addr)).String(), addr)
	}
}

// RFC 6761 6.3: localhost has two addresses without a lookup.
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
