package gate

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/robots"
)

func TestParsedPoliciesAreBoundedAndTheLatestKept(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	g := New(nil, "libbot", robots.RFC9309)
	require.Len(t, g.tokens, 2, "tokens")
	rules := func(i int) ([32]byte, []byte) {
		b := []byte("User-agent: *\n")
		for k := range 2000 {
			b = fmt.Appendf(b, "Disallow: /%d/%d\n", i, k)
		}
		var d [32]byte
		d[0], d[1] = byte(i), byte(i>>8)
		return d, b
	}
	for i := range 200 {
		d, b := rules(i)
		g.Learn(d, b)
		first, _ := rules(0)
		require.NotNilf(t, g.known(first), "the one that is always in use was forgotten after %d", i)
		sum := 0
		for _, e := range g.parsed {
			sum += e.size
		}
		if g.size != sum || g.size > maxParsed {
			t.Fatalf("size %d, sum %d, bound %d", g.size, sum, maxParsed)
		}
	}
	assert.NotEqual(t, 200, len(g.parsed), "nothing was forgotten: the test shows nothing")
}

// What was parsed is forgotten when there is too much of it, and comes back from the frontier.
func TestGate_3_3_ParsedFilesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	t.Run("3.3 LRU in memory by bytes", func(t *testing.T) {
		g := New(nil, OurToken, robots.RFC9309)
		var digests [][32]byte
		for i := range 100 {
			file := []byte(fmt.Sprintf("User-agent: *\nDisallow: /%d\n", i) + strings.Repeat("Disallow: /a\nAllow: /b\n", 10_000))
			digests = append(digests, sha256.Sum256(file))
			g.Learn(digests[i], file)
			require.NotNilf(t, g.known(digests[0]), "the one used all the time is forgotten after %d", i)
			require.LessOrEqual(t, g.size, maxParsed, "octets are kept")
		}
		sum := 0
		for _, e := range g.parsed {
			sum += e.size
		}
		if g.known(digests[99]) == nil || g.known(digests[1]) != nil || sum != g.size {
			t.Errorf("%d of 100 files are kept, in %d octets; %d are counted", len(g.parsed), sum, g.size)
		}
	})
}

func parse(t *testing.T, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}
