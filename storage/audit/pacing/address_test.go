package pacing

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBlock_SharesOnePace(t *testing.T) {
	for addr, want := range map[string]string{
		"8.8.8.8": "8.8.8.8", "::ffff:8.8.8.8": "8.8.8.8", "64:ff9b::808:808": "8.8.8.8", "64:ff9b::808:809": "8.8.8.9",
		"2002:808:808::1": "8.8.8.8", "2002:808:808:5::2": "8.8.8.8", "64:ff9b:1::808:808": "64:ff9b:1::/64",
		"2606:2800:220:1::1": "2606:2800:220:1::/64", "2606:2800:220:1:ffff::2": "2606:2800:220:1::/64", "2606:2800:220:2::1": "2606:2800:220:2::/64",
	} {
		assert.Equalf(t, want, block(netip.MustParseAddr(addr)), "the block of %s", addr)
	}
}
