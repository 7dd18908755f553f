package robots

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each code with a file that earns it, and where.
var lintCases = []struct{ file, want string }{
	{byteOrderMark + "user-agent: *\ndisallow: /a\n", "1:1 bom"},
	{wide("\uFEFFuser-agent: *\ndisallow: /a\n"), "1:1 bom, 1:1 utf-16"},
	{wide("user-agent: *\ndisalow: /a\n"), "1:1 utf-16, 2:1 typo-key"},
	{"<html>\n<p>no such page\nuser-agent: *\ndisallow:\n", "1:1 html"},
	{"\x7FELF\x00\nno record\n", "1:1 binary"},
	{"#" + strings.Repeat("\n#", MaxBody/2) + "\n\n", "256001:1 oversize"},
	{"user-agent: *\n disallow /a\n", "2:2 missing-colon"},
	{"user-agent: *\ndisallow: /a\nsome words here\n", "3:1 missing-colon"},
	{"user-agent: *\ndisallow: /a\n\tDisalow : /b\n", "3:2 typo-key"},
	{"useragent: *\ndisallow: /a\n", "1:1 typo-key"},
	{"site-map: http://a.test/s.xml\n", "1:1 typo-key"},
	{"user-agent: *\ndisallow: /a\nnoindex: /b\ncontent-signal-of-ai: a\n", "3:1 unknown-key, 4:1 unknown-key"},
	{"user-agent: *\ndisallow: /a\ndisallow: /b\x01\n", "3:13 control-octet"},
	{"user-agent: *\ndisallow: /caf\xE9\n", "2:15 invalid-utf8"},
	{"user-agent: *\ndisallow: /a#b\n", "2:13 comment-in-value"},
	{"user-agent: *\nuser-agent: 7even\nuser-agent:\ndisallow: /a\n", "2:13 bad-agent, 3:12 bad-agent"},
	{"user-agent: curtsy/2.1\nuser-agent: * x\nuser-agent: Mozilla (compatible)\ndisallow: /a\n", "1:19 version-in-agent, 2:15 two-agents-on-a-line, 3:20 version-in-agent"},
	{"user-agent: a, b\nuser-agent: c d\nuser-agent: e/1.0; f\nuser-agent: g,*\ndisallow: /a\n",
		"1:16 two-agents-on-a-line, 2:15 two-agents-on-a-line, 3:20 two-agents-on-a-line, 4:15 two-agents-on-a-line"},
	{"user-agent: a\ndisallow: /\nuser-agent: b\ncrawl-delay: 5\n", "3:13 empty-group"},
	{"disallow: /a\nuser-agent: *\ndisallow: /b\n", "1:1 rule-before-agent"},
	{"crawl-delay: 5\nuser-agent: *\ndisallow: /b\n", "1:1 record-before-agent"},
	{"user-agent: a\ncrawl-delay: 5\nuser-agent: b\nuser-agent: c\ndisallow: /b\n", "3:1 delay-between-agents"},
	{"user-agent: a\ncrawl-delay: ten\ncrawl-delay:\ndisallow: /b\n", "2:14 bad-crawl-delay, 3:13 bad-crawl-delay"},
	{"user-agent: a\nrequest-rate: 5\ndisallow: /b\n", "2:15 bad-request-rate"},
	{"sitemap: /s.xml\nsitemap: ftp://a.test/s\nsitemap:\n", "1:10 bad-sitemap, 2:10 bad-sitemap, 3:9 bad-sitemap"},
	{"user-agent: a\ndisallow: tmp/\nallow: ?x\n", "2:11 no-slash, 3:8 no-slash"},
	{"user-agent: a\ndisallow: /a /b\n", "2:13 blank-in-path"},
	{"user-agent: a\ndisallow: /a$b$\n", "2:13 dollar-in-path"},
	{"user-agent: a\ndisallow: /a/*\nallow: *\n", "2:14 star-at-end"},
	{"user-agent: a\ndisallow: /a\ndisallow: /%61\n", "3:11 duplicate-rule"},
	{"user-agent: a\ndisallow: /a\nallow: /a\n", "3:8 contradiction"},
	{"user-agent: a\ndisallow: /a\nallow: /a/b\ndisallow: /a/c\n", "4:11 shadowed-rule"},
	// Not shadowed: a pattern, or another group for the same agent, may come between.
	{"user-agent: a\ndisallow: /a\nallow: /*c$\ndisallow: /a/c\n", ""},
	{"user-agent: a\ndisallow: /a\ndisallow: /a/b/c\nuser-agent: A\nallow: /a/b\n", ""},
	// Nothing wrong.
	{"# all\n\nUser-agent: *\nUser-Agent : curtsy\n\nDisallow: /a # why\nAllow: /a/b$\nCrawl-delay: 1.5\nVisit-time: 0600-0845\nContent-Signal: search=yes\n" +
		"Content-Usage: train-ai=n\nDisallow:\nSitemap: https://a.test/s.xml\nLicense: https://a.test/l.xml\n", ""},
	{"", ""},
}

// wide returns ASCII text and a mark as UTF-16.
func wide(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r>>8), byte(r))
	}
	return string(b)
}

func TestLintWarnings(t *testing.T) {
	seen := map[string]bool{"more": true} // which has a separate test
	for _, c := range lintCases {
		var got []string
		for _, w := range ParseAll([]byte(c.file)).Warnings {
			got = append(got, fmt.Sprintf("%d:%d %s", w.Line, w.Column, w.Code))
			seen[w.Code] = true
			assert.Truef(t, w.Text != "" && !strings.Contains(w.Text, "%!"), "%s: text %q", w.Code, w.Text)
		}
		assert.Equalf(t, c.want, strings.Join(got, ", "), "%.80q", c.file)
	}
	// The comment of Warning and the reference list all codes.
	source, err := os.ReadFile("lint.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../docs/reference/robots.md")
	require.NoError(t, err)
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(\S+)  `).FindAllStringSubmatch(string(source), -1) {
		listed = append(listed, m[1])
		assert.Truef(t, seen[m[1]], "no file earns %q", m[1])
		assert.Contains(t, string(page), "`"+m[1]+"`", "docs/reference/robots.md")
		delete(seen, m[1])
	}
	assert.Truef(t, len(listed) >= 20 && len(seen) == 0, "%d codes are listed, and these are not: %v", len(listed), seen)
}

func TestLintKeepsABoundedNumberOfWarnings(t *testing.T) {
	f := ParseAll([]byte(strings.Repeat("x\n", 5000)))
	last := f.Warnings[len(f.Warnings)-1]
	assert.Truef(t, len(f.Warnings) == maxWarnings+1 && last.Code == "more" && strings.HasPrefix(last.Text, "4000 "), "%d warnings, the last %+v", len(f.Warnings), last)
}

func TestParseAllKeepsEverything(t *testing.T) {
	body := []byte("Noindex: /x\nuser-agent: A\nUSER-AGENT: b/1\ncrawl-delay: 5\nRequest-rate: 1/5\nvisit-time: 0600-0845\nallow:/a\n disallow : b \n" +
		"content-usage: train-ai=n\ncontent-signal: search=yes\nsitemap: /s\nuser-agent: *\nlicense: /l")
	f := ParseAll(body)
	want := []Group{{
		Agents:         []Record{{"user-agent", "A", 2, 13}, {"USER-AGENT", "b/1", 3, 13}},
		Rules:          []Rule{{true, "/a", 7, 7}, {false, "b", 8, 13}},
		CrawlDelays:    []Record{{"crawl-delay", "5", 4, 14}},
		RequestRates:   []Record{{"Request-rate", "1/5", 5, 15}},
		VisitTimes:     []Record{{"visit-time", "0600-0845", 6, 13}},
		ContentUsages:  []Record{{"content-usage", "train-ai=n", 9, 16}},
		ContentSignals: []Record{{"content-signal", "search=yes", 10, 17}},
	}, {Agents: []Record{{"user-agent", "*", 12, 13}}}}
	got := fmt.Sprint(f.Groups)
	assert.Truef(t, got == fmt.Sprint(want), "groups %v,\nwant %v", got, want)
	if !slices.Equal(f.Sitemaps, []Record{{"sitemap", "/s", 11, 10}}) || !slices.Equal(f.Licenses, []Record{{"license", "/l", 13, 10}}) ||
		!slices.Equal(f.Unknown, []Record{{"Noindex", "/x", 1, 10}}) {
		t.Errorf("sitemaps %v, licenses %v, unknown %v", f.Sitemaps, f.Licenses, f.Unknown)
	}
	assert.Truef(t, f.Lines == 13 && f.Digest == sha256.Sum256(body) && f.Flags == 0, "%d lines, digest %x, flags %v", f.Lines, f.Digest, f.Flags)
}

func FuzzParseAllAgreesWithParse(f *testing.F) {
	f.Add([]byte("User-Agent: *\nAllow: /p\nUser-Agent: cu\x14tsy\nDisallow: /")) // the rule binds nobody
	f.Add([]byte("user-agent: \x15"))
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, c := range lintCases {
		if len(c.file) < 1000 {
			f.Add([]byte(c.file))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 1<<14 {
			return
		}
		all := ParseAll(body)
		p := newParser(body, Options{Token: "curtsy"})
		p.parse()
		token := "*"
		if p.own.name != "" {
			token = "curtsy"
		}
		var got, want []int
		for _, g := range all.Groups {
			if !slices.Contains(g.tokens(), token) {
				continue
			}
			for _, r := range g.Rules {
				if r.Path != "" && (r.Path[0] == '/' || r.Path[0] == '*') {
					got = append(got, r.Line)
				}
			}
		}
		for _, r := range p.rules {
			want = append(want, int(r.line))
		}
		assert.Truef(t, slices.Equal(got, want), "%q: rules on lines %v bind; Parse reads %v", body, got, want)
		for _, w := range all.Warnings {
			if w.Line < 1 || w.Line > all.Lines+1 || w.Column < 1 || w.Column > 2*len(body)+1 { // UTF-16 is decoded
				t.Errorf("%q: a warning at %d:%d", body, w.Line, w.Column)
			}
		}
		n := len(all.Warnings) * int(unsafe.Sizeof(Warning{}))
		assert.Truef(t, n <= 600*len(body)+1024, "%d octets have %d octets of warnings", len(body), n)
	})
}

// Removing a rule that is reported as a duplicate or shadowed changes no answer.
func TestLintShadowedRulesChangeNothing(t *testing.T) {
	files, err := filepath.Glob("../testdata/robots/real/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files, "no files")
	bodies := [][]byte{[]byte("user-agent: *\ndisallow: /a\nallow: /a/b\ndisallow: /a/b\ndisallow: /a/b/c\nallow: /a/b/c/d\ndisallow: /a/b/c/e\n")}
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		bodies = append(bodies, body)
	}
	for _, body := range bodies {
		text := linesOf(string(body))
		for _, w := range ParseAll(body).Warnings {
			if w.Code != "shadowed-rule" && w.Code != "duplicate-rule" {
				continue
			}
			without := slices.Clone(text)
			without[w.Line-1] = "#"
			a, b := Parse(body, Options{Token: "curtsy"}), Parse([]byte(strings.Join(without, "\n")), Options{Token: "curtsy"})
			for _, target := range targetsOf(body) {
				assert.Equalf(t, b.Match(target).Allowed, a.Match(target).Allowed, "%q without line %d answers otherwise for %s", body, w.Line, target)
			}
		}
	}
}
