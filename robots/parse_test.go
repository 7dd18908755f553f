package robots

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Cases that RFC 9309 leaves to the reader, or that readers get wrong.
func TestParse(t *testing.T) {
	const bom = "\xEF\xBB\xBF"
	for _, c := range []struct {
		name, file, token string
		wants             []want
	}{
		{"byte order mark is skipped", bom + "user-agent: *\ndisallow: /a\n", "", []want{{"/a", false, 2}}},
		{"byte order mark elsewhere is not", "user-agent: *\n" + bom + "disallow: /a\n", "", []want{{"/a", true, 0}}},
		{"half a byte order mark makes its line unreadable", bom[:2] + "user-agent: *\ndisallow: /a\n", "", []want{{"/a", true, 0}}},
		{"lines end in LF", "user-agent: *\n\ndisallow: /a\n", "", []want{{"/a", false, 3}}},
		{"lines end in CR", "user-agent: *\r\rdisallow: /a\r", "", []want{{"/a", false, 3}}},
		{"lines end in CRLF", "user-agent: *\r\n\r\ndisallow: /a\r\n", "", []want{{"/a", false, 3}}},
		{"line ends are mixed", "user-agent: *\rdisallow: /a\r\ndisallow: /b\ndisallow: /c\r\rdisallow: /d\n\rdisallow: /e", "",
			[]want{{"/a", false, 2}, {"/b", false, 3}, {"/c", false, 4}, {"/d", false, 6}, {"/e", false, 8}}},
		{"other line ends are none", "user-agent: *\ndisallow: /a\u2028disallow: /b\u0085disallow: /c\n", "", []want{{"/a", true, 0}, {"/b", true, 0}, {"/c", true, 0}}},
		{"the last line needs no end", "user-agent: *\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"NUL in a rule makes it none", "user-agent: *\ndisallow: /a\x00b\ndisallow: /c", "", []want{{"/a", true, 0}, {"/a%00b", true, 0}, {"/c", false, 3}}},
		{"NUL in a comment does not", "user-agent: *\ndisallow: /a # \x00", "", []want{{"/a", false, 2}}},
		{"NUL in an agent line names nobody", "user-agent: *\ndisallow: /a\nuser-agent: *\x00\ndisallow: /b", "", []want{{"/a", false, 2}, {"/b", true, 0}}},
		{"other control octets likewise", "user-agent: *\ndisallow: /a\x0B\ndisallow: /\x1Fb\n", "", []want{{"/a", true, 0}, {"/b", true, 0}}},
		{"invalid UTF-8 is taken octet by octet", "user-agent: *\ndisallow: /caf\xE9\n", "", []want{{"/caf%E9", false, 2}, {"/caf\xE9", false, 2}, {"/caf%C3%A9", true, 0}}},
		{"a missing colon is forgiven in two words", "user-agent *\ndisallow\t /a\n", "", []want{{"/a", false, 2}}},
		{"a missing colon is not forgiven in three", "user-agent: *\ndisallow /a /b\n", "", []want{{"/a", true, 0}}},
		{"a missing colon and value are nothing", "user-agent: a\ndisallow\nuser-agent: curtsy\ndisallow: /a", "", []want{{"/a", false, 4}}},
		{"the first colon ends the field", "user-agent: *\ndisallow /a:b\ndisallow: /c:d\n", "", []want{{"/a:b", true, 0}, {"/c:d", false, 3}}},
		{"misspelled Dissallow", "user-agent: *\nDissallow: /a", "", []want{{"/a", false, 2}}},
		{"misspelled Dissalow", "user-agent: *\ndissalow: /a", "", []want{{"/a", false, 2}}},
		{"misspelled Disalow", "user-agent: *\ndisalow: /a", "", []want{{"/a", false, 2}}},
		{"misspelled Diasllow", "user-agent: *\ndiasllow: /a", "", []want{{"/a", false, 2}}},
		{"misspelled Disallaw", "user-agent: *\nDISALLAW: /a", "", []want{{"/a", false, 2}}},
		{"misspelled useragent", "useragent: *\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"misspelled user agent", "User Agent: *\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"a field that only begins like one is another", "user-agent: *\ndisallowed: /a\nallowance: /b\ndisallow: /\n", "", []want{{"/b", false, 4}}},
		{"version after the name", "user-agent: curtsy/2.1\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"version after the name and a blank", "user-agent: curtsy 2.1\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"star after the name", "user-agent: curtsy*\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"of two names in a line the first counts", "user-agent: curtsy, other\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"of two names in a line the second does not", "user-agent: other, curtsy\ndisallow: /a", "", []want{{"/a", true, 0}}},
		{"words after a star", "user-agent: * all of you\ndisallow: /a", "", []want{{"/a", false, 2}}},
		{"a star with a name is no star", "user-agent: *bot\ndisallow: /a", "", []want{{"/a", true, 0}}},
		{"an empty agent names nobody, and begins a group", "user-agent: *\ndisallow: /a\nuser-agent:\ndisallow: /b", "", []want{{"/a", false, 2}, {"/b", true, 0}}},
		{"groups of one token are merged across others", "user-agent: curtsy\ndisallow: /a\nuser-agent: b\ndisallow: /b\nuser-agent: Curtsy\ndisallow: /c", "",
			[]want{{"/a", false, 2}, {"/b", true, 0}, {"/c", false, 6}}},
		{"groups of star are merged", "user-agent: *\nallow:\nuser-agent: *\ndisallow: /a", "", []want{{"/a", false, 4}}},
		{"a group for us and for all", "user-agent: *\ndisallow: /a\nuser-agent: *\nuser-agent: curtsy\ndisallow: /b", "", []want{{"/a", true, 0}, {"/b", false, 5}}},
		{"a group for us and for all, read by another", "user-agent: *\ndisallow: /a\nuser-agent: *\nuser-agent: curtsy\ndisallow: /b", "other", []want{{"/a", false, 2}, {"/b", false, 5}}},
		{"an own group keeps star away, wherever it stands", "user-agent: curtsy\ndisallow: /a\nuser-agent: *\ndisallow: /b", "", []want{{"/a", false, 2}, {"/b", true, 0}}},
		{"an empty rule ends the list of agents", "user-agent: curtsy\ndisallow:\nuser-agent: other\ndisallow: /", "", []want{{"/a", true, 0}}},
		{"a useless rule ends the list of agents", "user-agent: curtsy\ndisallow: a\nuser-agent: other\ndisallow: /", "", []want{{"/a", true, 0}}},
		{"a path without slash or star matches nothing", "user-agent: *\ndisallow: a\ndisallow: $\ndisallow: ?q\ndisallow: %2Fb\ndisallow: http://x/c", "",
			[]want{{"/a", true, 0}, {"a", true, 0}, {"/", true, 0}, {"?q", true, 0}, {"/b", true, 0}, {"/c", true, 0}}},
		{"a blank in a path is %20", "user-agent: *\ndisallow: /a b\t c \n", "", []want{{"/a%20b%09%20c", false, 2}, {"/a b\t c", false, 2}, {"/a", true, 0}}},
		{"a lone star is all", "user-agent: *\ndisallow: *", "", []want{{"/", false, 2}, {"/a?b", false, 2}}},
		{"stars in a row", "user-agent: *\ndisallow: /a***b", "", []want{{"/ab", false, 2}, {"/axb", false, 2}, {"/a", true, 0}}},
		{"star at the end counts, and changes nothing else", "user-agent: *\ndisallow: /a*\nallow: /a", "", []want{{"/a", false, 2}, {"/ab", false, 2}}},
		{"star and dollar at the end", "user-agent: *\ndisallow: /a*$", "", []want{{"/a", false, 2}, {"/ab", false, 2}, {"/b", true, 0}}},
		{"dollar alone after the slash", "user-agent: *\ndisallow: /$", "", []want{{"/", false, 2}, {"/a", true, 0}, {"", false, 2}, {"/?q", true, 0}}},
		{"dollar in the middle is itself", "user-agent: *\ndisallow: /a$b", "", []want{{"/a$b", false, 2}, {"/a%24bc", false, 2}, {"/a", true, 0}}},
		{"two dollars: the first is itself", "user-agent: *\ndisallow: /a$$", "", []want{{"/a$", false, 2}, {"/a", true, 0}, {"/a$$", true, 0}}},
		{"the last piece is tried at the end", "user-agent: *\ndisallow: /*.gif$", "", []want{{"/a.gif/b.gif", false, 2}, {"/a.gif/b", true, 0}}},
		{"the last piece does not overlap", "user-agent: *\ndisallow: /ab*ba$", "", []want{{"/aba", true, 0}, {"/abba", false, 2}}},
		{"the query is matched", "user-agent: *\ndisallow: /*?*id=\nallow: /?id=", "", []want{{"/a?x&id=1", false, 2}, {"/aid=1", true, 0}, {"?id=1", false, 2}, {"/?id=", false, 2}, {"?x", true, 0}}},
		{"a fragment is not", "user-agent: *\ndisallow: /a$", "", []want{{"/a#b", false, 2}}},
		{"index.html is not the directory", "user-agent: *\ndisallow: /\nallow: /index.html", "", []want{{"/", false, 2}}},
		{"CSS is not a robots.txt", "body { allow: /; }\na:hover { color: red }\n", "", []want{{"/", true, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.token == "" {
				c.token = "curtsy"
			}
			check(t, c.file, c.token, c.wants...)
		})
	}
}

func TestVerdictSaysWhy(t *testing.T) {
	f := []byte("user-agent: Curtsy/1.0 \ndisallow: /a # why\n Allow : /a/b\t\nallow: /a/*/c\nuser-agent: CURTSY\ndisallow:/d\nuser-agent: *\ndisallow: /")
	p := Parse(f, Options{Token: "curtsy"})
	for _, w := range []struct {
		target string
		Verdict
	}{
		{"/a/b/c", Verdict{Allowed: true, Reason: AllowRule, Line: 4, Rule: "allow: /a/*/c", Group: "Curtsy/1.0", RunnerUp: "Allow : /a/b"}},
		{"/a/b", Verdict{Allowed: true, Reason: AllowRule, Line: 3, Rule: "Allow : /a/b", Group: "Curtsy/1.0", RunnerUp: "disallow: /a"}},
		{"/ax", Verdict{Reason: DisallowRule, Line: 2, Rule: "disallow: /a", Group: "Curtsy/1.0"}},
		{"/d", Verdict{Reason: DisallowRule, Line: 6, Rule: "disallow:/d", Group: "CURTSY"}},
		{"/e", Verdict{Allowed: true, Reason: NoMatch, Group: "Curtsy/1.0"}},
		{"/robots.txt", Verdict{Allowed: true, Reason: RobotsItself}},
	} {
		w.Digest = p.Digest()
		if got := p.Match(w.target); got != w.Verdict {
			t.Errorf("%s: %+v, want %+v", w.target, got, w.Verdict)
		}
	}
	none := Parse([]byte("user-agent: curtsy\nuser-agent: *\n"), Options{Token: "curtsy"}).Match("/a")
	if none.Reason != NoRules || none.Group != "curtsy" || !none.Allowed {
		t.Errorf("an empty group: %+v", none)
	}
	if none = Parse(nil, Options{Token: "curtsy"}).Match("/a"); none.Reason != NoRules || none.Group != "" || !none.Allowed {
		t.Errorf("no group: %+v", none)
	}
}

// Section 3.4 of the policy: leading digits[.digits], then the end, white space or a unit; the longest of several; a
// group without one takes that of "*".
func TestCrawlDelay(t *testing.T) {
	const none = -1
	for value, want := range map[string]time.Duration{
		"10": 10 * time.Second, "0": 0, "0.5": time.Second / 2, "1.25 s": 1250 * time.Millisecond, "10s": 10 * time.Second,
		"2m": 2 * time.Minute, "1H": time.Hour, "1d": 24 * time.Hour, "3 seconds": 3 * time.Second, "7\tx": 7 * time.Second,
		"0.0000000001": 1, "0.1234567890": 123456789, "99999999999999999999": maxDelay, "400d": maxDelay, "1.5m": 90 * time.Second,
		"": none, "-5": none, "+5": none, "nan": none, "inf": none, "1/10": none, ".5": none, "5.": none, "5,5": none, "1e3": none, "ten": none,
	} {
		p := Parse([]byte("user-agent: *\ncrawl-delay: "+value+"\ndisallow: /a"), Options{Token: "curtsy"})
		if d, ok := p.CrawlDelay(); ok != (want >= 0) || ok && d != want {
			t.Errorf("Crawl-delay %q: %v, %v; want %v", value, d, ok, want)
		}
		if p.Match("/a").Allowed {
			t.Errorf("Crawl-delay %q spoils the rules", value)
		}
	}
	for _, c := range []struct {
		name, file string
		want       time.Duration
	}{
		{"the longest of several", "user-agent: curtsy\ncrawl-delay: 3\ncrawl-delay: 9\ncrawl-delay: 5", 9 * time.Second},
		{"the longest over merged groups", "user-agent: curtsy\ncrawl-delay: 9\ndisallow:\nuser-agent: curtsy\ncrawl-delay: 3", 9 * time.Second},
		{"an own one wins over that of star", "user-agent: curtsy\ncrawl-delay: 3\ndisallow:\nuser-agent: *\ncrawl-delay: 9", 3 * time.Second},
		{"an own zero too", "user-agent: *\ncrawl-delay: 9\ndisallow:\nuser-agent: curtsy\ncrawl-delay: 0", 0},
		{"none of our own: that of star", "user-agent: *\ncrawl-delay: 9\ndisallow: /\nuser-agent: curtsy\nallow: /", 9 * time.Second},
		{"none for us", "user-agent: other\ncrawl-delay: 9", none},
		{"before any group", "crawl-delay: 9\nuser-agent: *", none},
		{"of the agents named so far", "user-agent: slow\ncrawl-delay: 9\nuser-agent: *\ndisallow: /a", none},
		{"after the rules", "user-agent: *\ndisallow: /\ncrawl-delay: 9", 9 * time.Second},
		{"misspelled", "user-agent: *\ncrawldelay: 9", 9 * time.Second},
	} {
		if d, ok := Parse([]byte(c.file), Options{Token: "curtsy"}).CrawlDelay(); ok != (c.want >= 0) || ok && d != c.want {
			t.Errorf("%s: %v, %v; want %v", c.name, d, ok, c.want)
		}
	}
}

func TestRequestRate(t *testing.T) {
	const none = -1
	for value, want := range map[string]time.Duration{
		"1/5": 5 * time.Second, "2/10s": 5 * time.Second, "1/10m 0600-0845": 10 * time.Minute, " 3 / 1 ": 333333334, "1/0.5": time.Second / 2,
		"100/1h": 36 * time.Second, "1/1d": 24 * time.Hour, "1/0": 0, "9999999999999999999999/1": 1,
		"0/5": none, "5": none, "1/": none, "/5": none, "-1/5": none, "1.5/5": none, "a/b": none, "1/-5": none,
	} {
		d, ok := Parse([]byte("user-agent: *\nrequest-rate: "+value), Options{Token: "curtsy"}).RequestRate()
		if ok != (want >= 0) || ok && d != want {
			t.Errorf("Request-rate %q: %v, %v; want %v", value, d, ok, want)
		}
	}
}

func TestSitemaps(t *testing.T) {
	p := Parse([]byte("sitemap: http://a.example/1.xml\nuser-agent: x\nsite-map: /2.xml # two\nSitemap:\nsitemap: http://a.example/1.xml\nsitemap: ftp://a.example/3.xml\n"+
		"sitemap: //b.example/4.xml\nsitemap: http://\nsitemap: ht tp:%zz\nsitemap: 5\x00.xml\nsitemap: http://a.example/2.xml\n"), Options{Token: "curtsy"})
	written := []string{"http://a.example/1.xml", "/2.xml", "ftp://a.example/3.xml", "//b.example/4.xml", "http://", "ht tp:%zz", "http://a.example/2.xml"}
	if got := p.Sitemaps(); !slices.Equal(got, written) {
		t.Errorf("as written: %q, want %q", got, written)
	}
	resolved := []string{"http://a.example/1.xml", "http://a.example/2.xml", "http://b.example/4.xml"}
	if got := p.ResolveSitemaps("http://a.example/robots.txt"); !slices.Equal(got, resolved) {
		t.Errorf("resolved: %q, want %q", got, resolved)
	}
	p.Sitemaps()[0] = "changed"
	if got := p.Sitemaps(); !slices.Equal(got, written) {
		t.Errorf("a caller can change the policy: %q", got)
	}
}

func TestPolicyKeepsNothingOfTheBody(t *testing.T) {
	body := []byte("user-agent: *\ndisallow: /a\nsitemap: /s\n")
	p := Parse(body, Options{Token: "curtsy"})
	before := p.String()
	for i := range body {
		body[i] = 'x'
	}
	if p.String() != before || p.Match("/a").Rule != "disallow: /a" {
		t.Errorf("after the body was overwritten: %s", p)
	}
}

// A naive search for "LF, else CR" reads the whole rest of a CR-only file for each line. The time cannot be asserted;
// that each octet is visited a bounded number of times can: the scanner never goes back, and keeps the LF it found.
func TestLinesFindEachLFOnce(t *testing.T) {
	l := newLines(strings.Repeat("x\r", 1000) + "y\nz\r")
	for range 1000 {
		if line, ok := l.next(); line.in(l.text) != "x" || !ok || l.lf != 2001 {
			t.Fatalf("line %d: %q, %v, next LF at %d", l.number, line.in(l.text), ok, l.lf)
		}
	}
	for i, want := range []string{"y", "z"} {
		if line, ok := l.next(); line.in(l.text) != want || !ok || l.number != 1001+i {
			t.Fatalf("line %d: %q, %v", l.number, line.in(l.text), ok)
		}
	}
	if line, ok := l.next(); ok {
		t.Fatalf("after the end: %+v", line)
	}
}
