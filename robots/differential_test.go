package robots

import (
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

// sample is a random file, by lines, and a target.
type sample struct {
	lines  []sampleLine
	eol    string
	ended  bool // the last line has its end
	bom    bool
	odd    bool // with something of a class whose exclusion is of all odd files
	target string
}

type sampleLine struct{ key, colon, value, comment string }

func (s sample) body() []byte {
	var b strings.Builder
	if s.bom {
		b.WriteString(byteOrderMark)
	}
	for i, l := range s.lines {
		b.WriteString(l.key + l.colon + l.value + l.comment)
		if i < len(s.lines)-1 || s.ended {
			b.WriteString(s.eol)
		}
	}
	return []byte(b.String())
}

type boundRule struct {
	pattern string
	allow   bool
}

// binding returns the rules that bind the sample's crawler, and those of them that match.
func (s sample) binding() (all, matching []boundRule) {
	p := parser{token: sampleToken, text: string(s.body())}
	p.parse()
	text := p.text + string(p.spelled)
	for _, r := range p.rules {
		pattern := r.pattern.in(text)
		all = append(all, boundRule{pattern, r.allow})
		if matches(pattern, canonicalTarget(s.target, RFC9309)) {
			matching = append(matching, boundRule{pattern, r.allow})
		}
	}
	return all, matching
}

const sampleToken = "curtsy"

// exclusion is a class of input on which temoto/robotstxt v1.1.2 differs from RFC 9309, so that it cannot be an oracle
// there. The numbers are those of table 1.1 of the policy. Each has an example. Files of a class are compared with
// package naive only.
type exclusion struct {
	name    string
	reason  string
	applies func(s sample) bool // nil if only odd files have the class
	file    string              // the example, for the crawler sampleToken
	target  string
}

func exclusions() []exclusion {
	lead := func(pattern string) string { return pattern[:strings.IndexAny(pattern, "*$")] }
	return []exclusion{
		{"1 a name that our name begins with", "it matches names by prefix", nil, "user-agent: curt\ndisallow: /\n", "/a"},
		{"2 a name with something behind it", "it compares the whole line", nil, "user-agent: curtsy/1.0\ndisallow: /\n", "/a"},
		{"3 a last group without rules", "it does not register its names, and falls back to *", func(s sample) bool {
			open := false
			for i, l := range s.lines {
				switch fieldOf(strings.TrimSpace(l.key)) {
				case userAgent:
					open = true
				case allow, disallow, crawlDelay:
					// It does not see an empty value if at most a comment comes between it and the end.
					last := !slices.ContainsFunc(s.lines[i+1:], func(l sampleLine) bool { return l != sampleLine{} })
					open = open && l.value == "" && last && (!s.ended || strings.Contains(l.comment, "#"))
				}
			}
			return open
		}, "user-agent: *\ndisallow: /\nuser-agent: curtsy\n", "/a"},
		{"4 a rule outside groups, or a bad Crawl-delay", "it rejects the whole file", nil, "allow: /x\nuser-agent: *\ndisallow: /\n", "/a"},
		{"5 a Crawl-delay between agents", "it ends the list of agents", nil, "user-agent: curtsy\ncrawl-delay: 1\nuser-agent: other\ndisallow: /\n", "/a"},
		{"6 white space before the colon or in a value, a comment glued to a value", "it splits only at white space", nil, "user-agent : *\ndisallow: /\n", "/a"},
		{"7 a misspelled field", "it knows only Useragent and Crawldelay", nil, "user-agent: *\ndissallow: /\n", "/a"},
		{"8 a path that begins with neither / nor *", "it adds a slash", nil, "user-agent: *\ndisallow: a\n", "/a"},
		{"9 an Allow and a Disallow of one length", "the first in the file wins", func(s sample) bool {
			_, matching := s.binding()
			for _, a := range matching {
				for _, b := range matching {
					if a.allow && !b.allow && len(a.pattern) == len(b.pattern) {
						return true
					}
				}
			}
			return false
		}, "user-agent: *\ndisallow: /a\nallow: /a\n", "/a"},
		{"10 a pattern whose first piece occurs later in the target", "its patterns are not anchored at the start, not even those with only $", func(s sample) bool {
			all, _ := s.binding()
			for _, r := range all {
				if isWild(r.pattern) && lead(r.pattern) != "" && strings.LastIndex(s.target, lead(r.pattern)) > 0 {
					return true
				}
			}
			return false
		}, "user-agent: *\ndisallow: /x$\n", "/a/x"},
		{"11 two matches, one of them with * or $", "the length is that of its regular expression, or of the path without a last *", func(s sample) bool {
			_, matching := s.binding()
			for _, r := range matching {
				if len(matching) > 1 && isWild(r.pattern) {
					return true
				}
			}
			return false
		}, "user-agent: *\nallow: /a*d$\ndisallow: /ab/cd\n", "/ab/cd"},
		{"12 nothing but stars, or a $ that is not last", "it drops the one and never matches the other", nil, "user-agent: *\ndisallow: *\n", "/a"},
		{"13 an escape, an octet beyond ASCII, a * or $ in the target", "it compares octets as they are", nil, "user-agent: *\ndisallow: /%61\n", "/a"},
		{"14 /robots.txt itself, a fragment", "both are left to the caller", func(s sample) bool {
			return s.target == ownPath || strings.Contains(s.target, "#")
		}, "user-agent: *\ndisallow: /\n", "/robots.txt"},
		{"15 a body over 500 KiB", "it has no limit", nil, "user-agent: *\n" + strings.Repeat("#\n", MaxBody/2) + "disallow: /\n", "/a"},
	}
}

// The examples must differ: an exclusion that excludes nothing is a hole in the comparison.
func TestTemoto_1_1_EachExclusionIsNeeded(t *testing.T) {
	for _, e := range exclusions() {
		allowed := Parse([]byte(e.file), Options{Token: sampleToken}).Match(e.target).Allowed
		want, _ := naive.Read("rfc9309", []byte(e.file), sampleToken).Allowed(e.target)
		assert.Truef(t, allowed == want, "%s: %v, naive: %v", e.name, allowed, want)
		theirs, err := robotstxt.FromBytes([]byte(e.file))
		assert.Truef(t, err != nil || theirs.TestAgent(e.target, sampleToken) != allowed, "%s (%s): temoto agrees about %q", e.name, e.reason, e.file)
	}
}

// agreeInWords compares the details of a verdict with those of package naive.
func agreeInWords(t *testing.T, body []byte, target string, v Verdict) {
	t.Helper()
	second := naive.Read("rfc9309", body, sampleToken).RunnerUp(target)
	rule, next := naive.Written(body, v.Line), naive.Written(body, second)
	require.Truef(t, v.Rule == rule && v.RunnerUp == next, "%s in %q: %q before %q; naive: %q before %q", target, body, v.Rule, v.RunnerUp, rule, next)
	group := naive.Group(body, sampleToken, v.Line)
	require.Falsef(t, v.Reason != RobotsItself && v.Group != group, "%s in %q: line %d of group %q; naive: %q", target, body, v.Line, v.Group, group)
}

func TestTemoto_1_1_EqualOnTheSafeClass(t *testing.T) {
	const perFile = 3
	files := 8000
	if testing.Short() {
		files = 2000
	} else if os.Getenv("CURTSY_LONG") != "" {
		files = 20_000
	}
	excluded, safe := map[string]int{}, 0
	rnd := rand.New(rand.NewPCG(9309, 1))
	classes := exclusions()
	for range files {
		s := draw(rnd)
		body := s.body()
		ours := Parse(body, Options{Token: sampleToken})
		theirs, err := robotstxt.FromBytes(body)
		slow := naive.Read("rfc9309", body, sampleToken)
		for range perFile {
			s.target = pick(rnd, sampleTargets)
			v := ours.Match(s.target)
			if allowed, line := slow.Allowed(s.target); v.Allowed != allowed || v.Line != line {
				t.Fatalf("%s in %q: %v by line %d; naive: %v by line %d", s.target, body, v.Allowed, v.Line, allowed, line)
			}
			agreeInWords(t, body, s.target, v)
			in := slices.IndexFunc(classes, func(e exclusion) bool { return e.applies != nil && e.applies(s) })
			if in >= 0 {
				excluded[classes[in].name]++
			}
			if in >= 0 || s.odd || strings.ContainsAny(s.target, "%*$") {
				continue
			}
			safe++
			require.NoErrorf(t, err, "%q: temoto", body)
			if theirs.TestAgent(s.target, sampleToken) != v.Allowed {
				t.Fatalf("%s in %q: %v by line %d (%s); temoto differs, and no exclusion explains it", s.target, body, v.Allowed, v.Line, v.Rule)
			}
		}
	}
	t.Logf("%d files, %d verdicts compared", files, safe)
	for _, e := range classes {
		assert.Truef(t, e.applies == nil || excluded[e.name] != 0, "nothing falls into %q: the files do not try it", e.name)
	}
	assert.Truef(t, safe >= files/2, "only %d of %d verdicts were compared", safe, files*perFile)
}

var (
	samplePaths = []string{"/", "/a", "/a/", "/ab", "/a/b", "/a/b/c", "/b", "/b/", "/ba", "/a?b", "/?", "/?a=b", "/b.a", "/b.a?a", "/aa", "/c+d", "/c(d)", "/a:b"}
	sampleWild  = []string{"/a*", "/a*b", "/*b", "*b", "/a$", "/b/$", "/*.a$", "/a*b$", "/a/*/c", "/b*?"}
	sampleOdd   = []string{"*", "/a$b", "a", "b/", "/%61", "/a%2Fb", "/\xC3\xA9", "/a b"}

	sampleTargets = append([]string{"/c", "/abc", "/a/b/c/d", "/a/c", "/x/a", "/b/a.a", "/ab.a", "/a/x/c", "/c+d/e", "/c(d)e", "/a?b=c", "/?a=bc", "/a:bc", "/x/a/b",
		"/robots.txt", "/a#b", "/%61", "/a%2Fb", "/a*", "/x?y"}, samplePaths...)
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// draw makes a file. One in eight lines puts it out of the safe class.
func draw(r *rand.Rand) sample {
	s := sample{eol: pick(r, []string{"\n", "\r", "\r\n"}), ended: r.IntN(4) > 0, bom: r.IntN(8) == 0}
	s.odd = r.IntN(2) == 0
	rare := func(n int) bool { return s.odd && r.IntN(n) == 0 }
	add := func(key, value string) {
		l := sampleLine{key: key, colon: pick(r, []string{":", ": "}), value: value}
		if r.IntN(8) == 0 {
			l.comment = pick(r, []string{" # why", " "})
		}
		if rare(40) {
			l.colon = " : "
		}
		if rare(40) {
			l.comment = "#x"
		}
		s.lines = append(s.lines, l)
	}
	between := func() {
		switch r.IntN(10) {
		case 0:
			s.lines = append(s.lines, sampleLine{})
		case 1:
			s.lines = append(s.lines, sampleLine{key: "# disallow: /"})
		case 2:
			add("Sitemap", "http://a.test/s.xml")
		case 3:
			add("Noindex", "/")
		}
	}
	if rare(16) {
		add("disallow", pick(r, samplePaths))
	}
	for range 1 + r.IntN(3) {
		for range 1 + r.IntN(2) {
			name := pick(r, []string{"*", "curtsy", "Curtsy", "CURTSY", "otherbot", "*", "curtsyx"})
			if rare(20) {
				name = pick(r, []string{"cur", "c", "curtsy/2.0", "curtsy*"})
			}
			add(pick(r, []string{"User-agent", "user-agent", "Useragent"}), name)
			if rare(20) {
				add("Crawl-delay", pick(r, []string{"1", "1.5"}))
			}
			between()
		}
		for range r.IntN(6) {
			path := pick(r, samplePaths)
			switch {
			case r.IntN(5) == 0:
				path = pick(r, sampleWild)
			case r.IntN(10) == 0:
				path = ""
			case rare(20):
				path = pick(r, sampleOdd)
			}
			key := pick(r, []string{"Disallow", "disallow", "DISALLOW", "Allow", "allow"})
			if rare(30) {
				key = "Disalow"
			}
			add(key, path)
			between()
		}
		if r.IntN(5) == 0 {
			add(pick(r, []string{"Disallow", "Allow"}), "")
			add("Crawl-delay", pick(r, []string{"0", "2", "0.25"}))
			if rare(8) {
				add("Crawl-delay", pick(r, []string{"-1", "x", ""}))
			}
		}
	}
	return s
}
