package robots

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/robots/naive"
)

func TestVerdict_Reason(t *testing.T) {
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
		w.Digest = p.digest
		assert.Equal(t, w.Verdict, p.Match(w.target), w.target)
	}
	none := Parse([]byte("user-agent: curtsy\nuser-agent: *\n"), Options{Token: "curtsy"}).Match("/a")
	assert.Truef(t, none.Reason == NoRules && none.Group == "curtsy" && none.Allowed, "an empty group: %+v", none)
	none = Parse(nil, Options{Token: "curtsy"}).Match("/a")
	assert.Truef(t, none.Reason == NoRules && none.Group == "" && none.Allowed, "no group: %+v", none)
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
		body := []byte("user-agent: *\ncrawl-delay: " + value + "\ndisallow: /a")
		p := Parse(body, Options{Token: "curtsy"})
		d, ok := p.CrawlDelay()
		assert.Truef(t, ok == (want >= 0) && (!ok || d == want), "Crawl-delay %q: %v, %v; want %v", value, d, ok, want)
		if n, ok := naive.Delay(body, "curtsy"); ok != (want >= 0) || ok && !sameDelay(n, want) {
			t.Errorf("Crawl-delay %q: naive: %v s, %v; want %v", value, n, ok, want)
		}
		assert.Falsef(t, p.Match("/a").Allowed, "Crawl-delay %q spoils the rules", value)
	}
	for _, c := range []struct {
		name, file string
		want       time.Duration
	}{
		{"the longest of several", "user-agent: curtsy\ncrawl-delay: 3\ncrawl-delay: 9\ncrawl-delay: 5", 9 * time.Second},
		{"the longest over merged groups", "user-agent: curtsy\ncrawl-delay: 9\ndisallow:\nuser-agent: curtsy\ncrawl-delay: 3", 9 * time.Second},
		{"its delay wins over that of star", "user-agent: curtsy\ncrawl-delay: 3\ndisallow:\nuser-agent: *\ncrawl-delay: 9", 3 * time.Second},
		{"its zero wins over that of star", "user-agent: *\ncrawl-delay: 9\ndisallow:\nuser-agent: curtsy\ncrawl-delay: 0", 0},
		{"without a delay: that of star", "user-agent: *\ncrawl-delay: 9\ndisallow: /\nuser-agent: curtsy\nallow: /", 9 * time.Second},
		{"only for another agent", "user-agent: other\ncrawl-delay: 9", none},
		{"before any group", "crawl-delay: 9\nuser-agent: *", none},
		{"of the agents named so far", "user-agent: slow\ncrawl-delay: 9\nuser-agent: *\ndisallow: /a", none},
		{"after the rules", "user-agent: *\ndisallow: /\ncrawl-delay: 9", 9 * time.Second},
		{"misspelled", "user-agent: *\ncrawldelay: 9", 9 * time.Second},
	} {
		d, ok := Parse([]byte(c.file), Options{Token: "curtsy"}).CrawlDelay()
		assert.Falsef(t, ok != (c.want >= 0) || ok && d != c.want, "%s: %v, %v; want %v", c.name, d, ok, c.want)
		if n, ok := naive.Delay([]byte(c.file), "curtsy"); ok != (c.want >= 0) || ok && !sameDelay(n, c.want) {
			t.Errorf("%s: naive: %v s, %v; want %v", c.name, n, ok, c.want)
		}
	}
}

// sameDelay reports whether package naive, which does not bound a delay, has the same number of seconds.
func sameDelay(seconds float64, want time.Duration) bool {
	return math.Abs(min(seconds, maxDelay.Seconds())-want.Seconds()) < 1e-6
}

func TestRequestRate(t *testing.T) {
	const none = -1
	for value, want := range map[string]time.Duration{
		"1/5": 5 * time.Second, "2/10s": 5 * time.Second, "1/10m 0600-0845": 10 * time.Minute, " 3 / 1 ": 333333334, "1/0.5": time.Second / 2,
		"100/1h": 36 * time.Second, "1/1d": 24 * time.Hour, "1/0": 0, "9999999999999999999999/1": 1,
		"0/5": none, "5": none, "1/": none, "/5": none, "-1/5": none, "1.5/5": none, "a/b": none, "1/-5": none,
	} {
		body := []byte("user-agent: *\nrequest-rate: " + value)
		d, ok := Parse(body, Options{Token: "curtsy"}).RequestRate()
		assert.Truef(t, ok == (want >= 0) && (!ok || d == want), "Request-rate %q: %v, %v; want %v", value, d, ok, want)
		if n, ok := naive.Rate(body, "curtsy"); ok != (want >= 0) || ok && !sameDelay(n, want) {
			t.Errorf("Request-rate %q: naive: %v s, %v; want %v", value, n, ok, want)
		}
	}
	const file = "user-agent: *\nrequest-rate: 1/9\nrequest-rate: 1/5\nuser-agent: z\nrequest-rate: 1/3\ndisallow: /\nuser-agent: x\nallow: /\nuser-agent: y\nrequest-rate: 1/2\n"
	for token, want := range map[string]time.Duration{"x": 9 * time.Second, "y": 2 * time.Second, "z": 3 * time.Second, "other": 9 * time.Second} {
		d, _ := Parse([]byte(file), Options{Token: token}).RequestRate()
		n, _ := naive.Rate([]byte(file), token)
		assert.Truef(t, d == want && sameDelay(n, want), "%s: %v, naive %v s; want %v", token, d, n, want)
	}
}

func TestSitemaps(t *testing.T) {
	p := Parse([]byte("sitemap: http://a.example/1.xml\nuser-agent: x\nsite-map: /2.xml # two\nSitemap:\nsitemap: http://a.example/1.xml\nsitemap: ftp://a.example/3.xml\n"+
		"sitemap: //b.example/4.xml\nsitemap: http://\nsitemap: ht tp:%zz\nsitemap: 5\x00.xml\nsitemap: http://a.example/2.xml\n"), Options{Token: "curtsy"})
	written := []string{"http://a.example/1.xml", "/2.xml", "ftp://a.example/3.xml", "//b.example/4.xml", "http://", "ht tp:%zz", "http://a.example/2.xml"}
	got := p.Sitemaps()
	assert.Truef(t, slices.Equal(got, written), "as written: %q, want %q", got, written)
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
	assert.Truef(t, p.String() == before && p.Match("/a").Rule == "disallow: /a", "after the body was overwritten: %s", p)
}

// A naive search for "LF, else CR" reads the whole rest of a CR-only file for each line. Instead of the time, the test
// asserts that the scanner never goes back, and keeps the LF it found.
func TestLinesFindEachLFOnce(t *testing.T) {
	l := newLines(strings.Repeat("x\r", 1000) + "y\nz\r")
	for range 1000 {
		line, ok := l.next()
		require.Truef(t, line.in(l.text) == "x" && ok && l.lf == 2001, "line %d: %q, %v, next LF at %d", l.number, line.in(l.text), ok, l.lf)
	}
	for i, want := range []string{"y", "z"} {
		line, ok := l.next()
		require.Truef(t, line.in(l.text) == want && ok && l.number == 1001+i, "line %d: %q, %v", l.number, line.in(l.text), ok)
	}
	line, ok := l.next()
	require.Falsef(t, ok, "after the end: %+v", line)
}
