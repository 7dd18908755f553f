package naive

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A Reading answers as naive.AllowedBy does, for every document, whatever it was asked before: the audit judges by it.
func TestReadingAnswersLikeAllowedBy(t *testing.T) {
	words := []string{"User-agent: a\n", "User-agent: *\n", "User-agent: other\n", "Disallow: ", "Allow: ", "/", "a", "b", "*", "$", "%62", "%2F", "?", "\n", "\r", " ", "#", "é", "\nDisallow: /a\n", "\nDisallow: /*a*b$\n"}
	paths := []string{"/", "a", "b", "*", "$", "%62", "%2f", "?", "#", "é", "robots.txt", "//", "ab", "ba"}
	draw := func(r *rand.Rand, from []string, n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(from[r.IntN(len(from))])
		}
		return b.String()
	}
	r := rand.New(rand.NewPCG(1, 2))
	forbidden := 0
	for range 10000 {
		body := []byte([]string{"", "User-agent: a\nDisallow: /a", "User-agent: *\n"}[r.IntN(3)] + draw(r, words, 30))
		for _, standard := range []string{"rfc9309", "draft1996", "std1994"} {
			reading := Read(standard, body, "a")
			for range 3 {
				target := draw(r, paths, 8)
				want, wantLine := AllowedBy(standard, body, "a", target)
				got, line := reading.Allowed(target)
				if got != want || line != wantLine {
					t.Fatalf("%s, %q, %q: a reading says %v by line %d, AllowedBy %v by line %d", standard, body, target, got, line, want, wantLine)
				}
				if !want {
					forbidden++
				}
			}
		}
	}
	assert.GreaterOrEqualf(t, forbidden, 1000, "only %d of the cases were forbidden: the test shows little", forbidden)
}

// Matching by pieces is the matching of package naive, for all sets of short patterns of a small alphabet: several at
// once, so that what one has found out of the target is used by the next.
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
	r := rand.New(rand.NewPCG(3, 4))
	patterns := every("ab*", 5)
	for _, pattern := range patterns {
		for _, end := range []string{"", "$"} {
			body := []byte("User-agent: *\nDisallow: /" + pattern + end + "\nAllow: /*" + patterns[r.IntN(len(patterns))] + "\nDisallow: /*" + patterns[r.IntN(len(patterns))])
			reading := Read("rfc9309", body, "x")
			for range 40 {
				target := "/" + targets[r.IntN(len(targets))]
				want, wantLine := Allowed(body, "x", target)
				if got, line := reading.Allowed(target); got != want || line != wantLine {
					t.Fatalf("%q on %q: by pieces %v by line %d, octet by octet %v by line %d", body, target, got, line, want, wantLine)
				}
				n++
			}
		}
	}
	assert.GreaterOrEqualf(t, n, 20000, "only %d cases", n)
}

// FuzzReading states the same of any octets.
func FuzzReading(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /*a*b$\nAllow: /ab*\n", "/aab", "/b")
	f.Add("User-agent: x\nDisallow: /%61*%2F$", "/a/", "/%61%2f")
	f.Fuzz(func(t *testing.T, body, first, second string) {
		for _, standard := range []string{"rfc9309", "draft1996", "std1994"} {
			reading := Read(standard, []byte(body), "x")
			for _, target := range []string{first, second, first} {
				want, wantLine := AllowedBy(standard, []byte(body), "x", target)
				if got, line := reading.Allowed(target); got != want || line != wantLine {
					t.Fatalf("%s, %q, %q: %v by line %d, AllowedBy %v by line %d", standard, body, target, got, line, want, wantLine)
				}
			}
		}
	})
}
