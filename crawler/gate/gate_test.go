package gate

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/robots"
)

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
