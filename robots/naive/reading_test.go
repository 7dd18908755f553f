package naive

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A Reading answers as AllowedBy does, for every document: the audit judges by it.
func TestReadingAnswersLikeAllowedBy(t *testing.T) {
	words := []string{"User-agent: a\n", "User-agent: *\n", "User-agent: other\n", "Disallow: ", "Allow: ", "/", "a", "b", "*", "$", "%62", "%2F", "?", "\n", "\r", " ", "#", "é", "\nDisallow: /a\n"}
	paths := []string{"/", "a", "b", "*", "$", "%62", "%2f", "?", "#", "é", "robots.txt", "//"}
	draw := func(r *rand.Rand, from []string, n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(from[r.IntN(len(from))])
		}
		return b.String()
	}
	r := rand.New(rand.NewPCG(1, 2))
	forbidden := 0
	for range 20000 {
		body := []byte([]string{"", "User-agent: a\nDisallow: /a", "User-agent: *\n"}[r.IntN(3)] + draw(r, words, 24))
		for _, standard := range []string{"rfc9309", "draft1996", "std1994"} {
			reading := Read(standard, body, "a")
			target := draw(r, paths, 6)
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
	if forbidden < 1000 {
		t.Errorf("only %d of the cases were forbidden: the test shows little", forbidden)
	}
}

// Matching by pieces is the matching of fits, for all short patterns and URLs of a small alphabet.
func TestMatchesIsFits(t *testing.T) {
	fixed := func(alphabet string, n int) []string {
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
	urls, n := fixed("ab", 6), 0
	for _, pattern := range fixed("ab*", 5) {
		for _, p := range []string{pattern, pattern + "$"} {
			for _, url := range urls {
				if n++; matches(p, url) != fits(p, url) {
					t.Fatalf("%q on %q: by pieces %v, octet by octet %v", p, url, matches(p, url), fits(p, url))
				}
			}
		}
	}
	if n < 50000 {
		t.Errorf("only %d cases", n)
	}
}
