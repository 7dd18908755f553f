package naive

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fitsByOctets reports whether pattern matches target from its first byte. After each byte of the pattern, at[i] is
// whether its part so far can match the first i bytes of target.
func fitsByOctets(pattern, target string) bool {
	at := make([]bool, len(target)+1)
	at[0] = true
	for _, c := range []byte(pattern) {
		for i := 1; i <= len(target) && c == '*'; i++ {
			at[i] = at[i] || at[i-1]
		}
		for i := len(target); i >= 0 && c != '*'; i-- {
			at[i] = i > 0 && at[i-1] && target[i-1] == c || i == len(target) && at[i] && c == '$'
		}
	}
	for _, matched := range at {
		if matched {
			return true
		}
	}
	return false
}

// Matching by pieces equals matching byte by byte, for all short patterns of a small alphabet.
func TestMatchingByPiecesIsMatchingByOctets(t *testing.T) {
	every := func(alphabet string, n int) []string {
		all := []string{""}
		for i, from := 0, 0; i < n; i++ {
			to := len(all)
			for ; from < to; from++ {
				for _, c := range alphabet {
					all = append(all, all[from]+string(c))
				}
			}
		}
		return all
	}
	targets, n := every("ab", 6), 0
	r := Read("rfc9309", nil, "x")
	for _, pattern := range every("ab*", 5) {
		for _, end := range []string{"", "$"} {
			for _, target := range targets {
				pattern, target := "/"+pattern+end, "/"+target
				want := fitsByOctets(pattern, target)
				require.Truef(t, r.fits(pattern, target) == want, "%q on %q: octet by octet %v", pattern, target, want)
				n++
			}
		}
	}
	assert.GreaterOrEqualf(t, n, 20000, "only %d cases", n)
}

// FuzzMatchingByPieces states the same of any bytes.
func FuzzMatchingByPieces(f *testing.F) {
	f.Add("/*a*b$", "/aab")
	f.Add("/*a/$", "/a/")
	f.Fuzz(func(t *testing.T, pattern, target string) {
		if strings.Contains(strings.TrimSuffix(pattern, "$"), "$") {
			return // Read writes a "$" that is not the last octet as an escape
		}
		if want := fitsByOctets(pattern, target); Read("rfc9309", nil, "x").fits(pattern, target) != want {
			t.Fatalf("%q on %q: octet by octet %v", pattern, target, want)
		}
	})
}
