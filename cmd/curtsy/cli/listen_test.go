package cli

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// For 0.0.0.0 and :: the printed address can be opened.
func TestServeAtAllAddressesNamesOneThatCanBeOpened(t *testing.T) {
	for listen, want := range map[string][2]string{
		"0.0.0.0:0":   {"tcp4", "127.0.0.1:8299"},
		"127.0.0.1:0": {"tcp4", "127.0.0.1:8299"},
		"[::]:0":      {"tcp", "localhost:8299"},
		"[::1]:0":     {"tcp", "[::1]:8299"},
		":0":          {"tcp", "localhost:8299"},
	} {
		assert.Equalf(t, want[0], networkOf(listen), "%s: network", listen)
		host, _, err := net.SplitHostPort(listen)
		require.NoError(t, err)
		if host == "" {
			host = "::"
		}
		at := netip.AddrPortFrom(netip.MustParseAddr(host), 8299)
		assert.Equal(t, want[1], FromHere(net.TCPAddrFromAddrPort(at)), listen)
	}
}
