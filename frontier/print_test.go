package frontier_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// The vectors are documented values for engines, and programs in other languages. They were made with OpenSSL, for the
// secret 6b, the letter k:
//
//	printf %s http://example.com/ | openssl dgst -sha256 -mac HMAC -macopt hexkey:6b
//
// They are the first sixteen digits of its output.
func TestPrintVectors(t *testing.T) {
	const long = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	for _, v := range []struct {
		secret, url string
		want        frontier.Fingerprint
	}{
		{"6b", "http://example.com/", 0x4eb5f904f9a4a82d},
		{long, "http://example.com/", 0xbe743eacd8cc0d03},
		{long, "https://example.com:8443/a?b=1&a=2", 0xa4a59fa161c118df},
		{long, "https://xn--bcher-kva.example/%C3%A4?q=%C3%BC", 0xd2665364c583ae75},
		// Other spellings of the same keys.
		{long, "HTTP://Example.COM:80", 0xbe743eacd8cc0d03},
		{long, "https://user@bücher.example:443/x/../ä?q=ü#top", 0xd2665364c583ae75},
	} {
		secret, err := hex.DecodeString(v.secret)
		require.NoError(t, err)
		u, err := canon.Parse(v.url)
		require.NoError(t, err)
		if got := frontier.Print(secret, u); got != v.want {
			t.Errorf("Print(%s, %s) = %016x, want %016x (key %s)", v.secret, v.url, uint64(got), uint64(v.want), u.Key())
		}
	}
}
