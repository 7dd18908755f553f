package robots

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/temoto/robotstxt"

	"curtsy/robots/naive"
)

// The search over sorted rules equals a look at every rule, on rules that share prefixes and whole chains of parents.
func TestDecide_EqualsLinearSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	word := func(letters string, most int) string {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for round := range 400 {
		most := 60
		if round%20 == 0 {
			most = 2000
		}
		start := "/" + strings.Repeat("shared/", r.IntN(3))
		var all []rule
		var text string
		for i := range 1 + r.IntN(most) {
			pattern := start + strings.Repeat("aaaaaaaa", r.IntN(3)) + word("ab", 6)
			if r.IntN(6) == 0 {
				pattern = "/" + word("ab*", 8)
			}
			if r.IntN(12) == 0 {
				pattern += "$"
			}
			from := uint32(len(text))
			text += pattern
			all = append(all, rule{pattern: span{from, uint32(len(text))}, line: int32(i + 1), allow: r.IntN(2) == 0})
		}
		s := newRuleset(text, slices.Clone(all), RFC9309)
		for range 60 {
			target := start + strings.Repeat("aaaaaaaa", r.IntN(3)) + word("ab", 7)
			if r.IntN(10) == 0 {
				target = "/" + word("ab", 9)
			}
			var want *rule
			for i := range all {
				if matches(all[i].pattern.in(text), target) && (want == nil || outranks(&all[i], want)) {
					want = &all[i]
				}
			}
			best, _ := s.decide(target)
			if (best == nil) != (want == nil) || best != nil && best.line != want.line {
				t.Fatalf("round %d: %s: %+v, want %+v of %+v in %s", round, target, best, want, all, text)
			}
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	for _, b := range benchFiles(t) {
		p := Parse(b.body, Options{Token: "curtsy"})
		for _, target := range b.targets {
			n := testing.AllocsPerRun(100, func() { p.Match(target) })
			assert.Truef(t, n == 0, "%s: Match(%q) allocates %v times", b.name, target, n)
		}
	}
	p := Parse([]byte("user-agent: *\ndisallow: /a\nallow: /a*c\nallow: /%E3%83%84\n"), Options{Token: "curtsy"})
	for _, target := range []string{"/", "/abc", "/%E3%83%84?q=1&r=%2F", "/robots.txt"} {
		n := testing.AllocsPerRun(100, func() { p.Match(target) })
		assert.Truef(t, n == 0, "Match(%q) allocates %v times", target, n)
	}
}

type benchFile struct {
	name    string
	body    []byte
	targets []string // in turn; all canonical
}

// benchFiles are the files of the benchmarks: a small one, a real one, one of 500 KiB, and the worst case.
func benchFiles(tb testing.TB) []benchFile {
	google, err := os.ReadFile("../testdata/robots/real/www.google.com.txt")
	require.NoError(tb, err)
	var small, large, wild strings.Builder
	small.WriteString("User-agent: *\n")
	for _, p := range []string{"/cgi-bin/", "/tmp/", "/private/", "/admin/", "/search", "/login", "/cart/", "/api/v1/", "/feeds/"} {
		small.WriteString("Disallow: " + p + "\n")
	}
	small.WriteString("Allow: /search/about\n")
	// The same number of rules as small sites that run a shop or a blog have them, in two groups and with two patterns.
	shop := "User-agent: AhrefsBot\nDisallow: /\n\nUser-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\nDisallow: /cart/\nDisallow: /checkout/\n" +
		"Disallow: /my-account/\nDisallow: /search/\nDisallow: /*?orderby=\nDisallow: /*.pdf$\nDisallow: /feed/\n"
	r := rand.New(rand.NewPCG(1, 1))
	large.WriteString("User-agent: *\n")
	for range 10000 {
		fmt.Fprintf(&large, "Disallow: /section-%d/topic-%d/page-%06d\n", r.IntN(100), r.IntN(1000), r.IntN(1000000))
	}
	wild.WriteString("User-agent: *\n")
	for i := range 50 << 10 / 64 {
		fmt.Fprintf(&wild, "Disallow: /%s%04d\n", strings.Repeat("*a", 24), i)
	}
	line := strings.SplitN(large.String(), "\n", 5000)[4998]
	return []benchFile{
		{"small", []byte(small.String()), []string{"/", "/search/about/us?q=1", "/news/2026/03/story.html", "/private/x"}},
		{"shop", []byte(shop), []string{"/", "/product/blue-bowl/", "/shop/page/2/?orderby=price", "/wp-admin/admin-ajax.php?action=x", "/cart/"}},
		{"google", google, []string{"/", "/searchhistory/x", "/maps/place/somewhere", "/news?output=xhtml&x=1", "/m/search?q=a"}},
		{"500KiB", []byte(large.String()), []string{"/", "/section-50/topic-500/page-500000", strings.TrimPrefix(line, "Disallow: ") + "/x", "/zebra"}},
		{"stars", []byte(wild.String()), []string{"/" + strings.Repeat("a", 500)}},
	}
}

// A crawler calls Match once for each URL, with path and query. Hits and misses take turns.
func BenchmarkMatch(b *testing.B) {
	for _, f := range benchFiles(b) {
		p := Parse(f.body, Options{Token: "curtsy"})
		b.Run(f.name+"/match", func(b *testing.B) {
			benchTargets(b, f.targets, func(target string) bool { return p.Match(target).Allowed })
		})
		theirs, err := robotstxt.FromBytes(f.body)
		require.NoError(b, err)
		b.Run(f.name+"/temoto", func(b *testing.B) {
			benchTargets(b, f.targets, func(target string) bool { return theirs.TestAgent(target, "curtsy") })
		})
	}
}

func benchTargets(b *testing.B, targets []string, allowed func(string) bool) {
	b.ReportAllocs()
	n, next := 0, 0
	for range b.N {
		if allowed(targets[next]) {
			n++
		}
		if next++; next == len(targets) {
			next = 0
		}
	}
	assert.Truef(b, n != 0 && (n != b.N || b.N <= len(targets) || len(targets) <= 1), "%d of %d are allowed: hits and misses should be mixed", n, b.N)
}

// The worst case: it doubles when the target doubles, and when the pattern does.
func BenchmarkMatchStars(b *testing.B) {
	for _, size := range []struct{ pattern, target int }{{100, 1000}, {100, 2000}, {100, 4000}, {200, 4000}, {400, 4000}} {
		body := "user-agent: *\ndisallow: /" + strings.Repeat("*a", size.pattern) + "b\n"
		p := Parse([]byte(body), Options{Token: "curtsy"})
		target := "/" + strings.Repeat("a", size.target)
		b.Run(fmt.Sprintf("pattern=%d/target=%d", size.pattern, size.target), func(b *testing.B) {
			for range b.N {
				p.Match(target)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, f := range benchFiles(b) {
		b.Run(f.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(f.body)))
			for range b.N {
				Parse(f.body, Options{Token: "curtsy"})
			}
		})
		b.Run(f.name+"/temoto", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(f.body)))
			for range b.N {
				_, err := robotstxt.FromBytes(f.body)
				require.NoError(b, err)
			}
		})
	}
	for _, size := range []int{1 << 17, 1 << 18} {
		body := []byte("user-agent: *" + strings.Repeat("\rdisallow: /a", size/13))
		b.Run(fmt.Sprintf("CR-only/%d/ours", size), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for range b.N {
				Parse(body, Options{Token: "curtsy"})
			}
		})
	}
}

// Here every octet is one that has several spellings, or nearly.
func TestMatchEqualsNaiveOnOddSpellings(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	odd := []string{"/", "a", "b", "%", "2", "5", "F", "f", "%2F", "%2f", "%61", "%25", "%", "\x00", "#", "$", "?", " ", "\xE9", "robots.txt", "%72obots.txt", "abcdefgh"}
	spell := func(n int) string {
		s := "/"
		for range r.IntN(n) {
			s += odd[r.IntN(len(odd))]
		}
		return s
	}
	for range 4000 {
		body := "user-agent: *\n"
		for range 1 + r.IntN(12) {
			body += []string{"allow: ", "disallow: "}[r.IntN(2)] + spell(5) + "\n"
		}
		for _, s := range Standards() {
			p := Parse([]byte(body), Options{Token: "curtsy", Standard: s})
			for range 8 {
				target := spell(6)
				v := p.Match(target)
				if allowed, line := naive.Read(s.String(), []byte(body), "curtsy").Allowed(target); v.Allowed != allowed || v.Line != line {
					t.Fatalf("%v: %q in %q: %v by line %d; naive: %v by line %d", s, target, body, v.Allowed, v.Line, allowed, line)
				}
			}
		}
	}
}

func TestRFC9309_2_5_LineEndsAtLimit(t *testing.T) {
	t.Parallel()
	const head, rule = "User-agent: *\nCrawl-delay: 3\n", "Disallow: /xyz"
	pad := strings.Repeat("#", MaxBody-len(head)-len(rule)-1) + "\n"
	whole := head + pad + rule
	for _, c := range []struct {
		name, body string
		allowed    bool
	}{
		{"the file ends at the limit", whole, false},
		{"LF follows", whole + "\n", false},
		{"CR follows", whole + "\r", false},
		{"CRLF and more text follow", whole + "\r\nAllow: /xyz\n", false},
		{"LF and more text follow", whole + "\nAllow: /xyz\n", false},
		{"the rule continues", whole + "z\n", true},
		{"a space follows", whole + " \n", true},
		{"the end of the line is the last byte", head + pad[1:] + rule + "\n" + rule, false},
		{"its CR is the last byte", head + pad[1:] + rule + "\r\nAllow: /xyz\n", false},
		{"UTF-16", utf16LE(head + pad[:1] + strings.Repeat("\n", MaxBody/2-len(head)-len(rule)-1) + rule + "\nx"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range Standards() {
				for _, body := range []string{c.body, c.body[:min(len(c.body), MaxBody+1)]} { // as a file has it, and as a fetch reads it
					p := Parse([]byte(body), Options{Token: "curtsy", Standard: s})
					naively, line := naive.Read(s.String(), []byte(body), "curtsy").Allowed("/xyz")
					if v := p.Match("/xyz"); v.Allowed != c.allowed || naively != c.allowed || v.Line != line {
						t.Errorf("%v, %d bytes: allowed %v (line %d), naively %v (line %d), want %v", s, len(body), v.Allowed, v.Line, naively, line, c.allowed)
					}
				}
			}
			rules := len(ParseAll([]byte(c.body)).Groups[0].Rules)
			assert.Truef(t, (rules == 0) == c.allowed, "ParseAll has %d rules", rules)
		})
	}
}

// utf16LE returns ASCII text in UTF-16 without a byte order mark.
func utf16LE(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		b.WriteByte(0)
	}
	return b.String()
}

func TestUTF16_NeedsItsWholeMark(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /a\n"
	for body, want := range map[string]bool{
		rules:                                false,
		"\xFFx\n" + rules:                    false,
		"x\xFE\n" + rules:                    false,
		"\xFEx\n" + rules:                    false,
		"x\x00x\n" + rules:                   false,
		"\x00xx\n" + rules:                   false,
		"\xFF\xFE" + utf16LE(rules):          true,
		utf16LE(rules):                       true,
		"\xFE\xFF" + "\x00" + utf16LE(rules): true, // the same bytes read as big-endian, with one more at the end
	} {
		got := utf16Order([]byte(body)) != nil
		assert.Truef(t, got == want, "%q is UTF-16: %v, want %v", body, got, want)
		assert.Truef(t, !Parse([]byte(body), Options{Token: "curtsy"}).Match("/a").Allowed, "%q: /a is allowed", body)
	}
}
