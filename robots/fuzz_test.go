package robots

import (
	"bytes"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/robots/naive"
)

// seeds are files that bring a fuzzer close to every branch.
var seeds = []string{
	"",
	"user-agent: *\ndisallow: /\n",
	"User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: curtsy\nDisallow:/\nAllow:/a/page.html\n",
	"\xEF\xBB\xBFuser-agent: curtsy/1.0\rdisallow: /a*b*$\r\nallow: /a%62%2f%e3$x\ncrawl-delay: 1.5m\nrequest-rate: 3/10s 0600-0845\n",
	"user-agent: curtsy\ndisallow\nuser-agent: b\ndisallow: /a\n",
	"user agent curtsy\nuser-agent: *\nDissallow /x\nsitemap: /s.xml\ncrawl-delay: 10\nuser-agent: b\nallow: /\x00\n",
	"user-agent:*\nuser-agent: * x\nallow: /a b\nallow: a\ndisallow: /%\ndisallow: /%4\ndisallow: /\xE3\x83\x84#c\n",
	"user-agent: mycurtsybot\ndisallow: /a\n\nuser-agent: *\n# c\nallow: /a/b\nuser-agent: CURTSY\n\ndisallow: /b\nuser-agent: curtsy\nallow: /b%2f%2F%2\nuser-agent: x\ndisallow: /\n",
	"\xFF\xFEu\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00d\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00a\x00",
	"user-agent: *\u00A0\n\u3000disallow\xA0: \u2003/a\xC2\xA0 #\ndisallow: /\xC3\xA0\ndisallow: /\xE2\x80\n",
	"user-agent: *\nallow: /a**\ndisallow: /*$\nallow: /a$$\ndisallow: /a$b\nallow: /a\ndisallow: /a\n",
}

var targets = []string{"/", "/robots.txt", "/robots%2Etxt", "/a", "/a/b?c=d&e", "/a%2fb", "/%41*$", "/a%", "/a b", "", "?q", "x", "/a#f", "/\xE3\x83\x84", "/ab.gif", "/axbxb"}

func FuzzMatchEqualsNaive(f *testing.F) {
	for _, s := range seeds {
		for _, t := range targets {
			f.Add([]byte(s), "curtsy", t)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, token, target string) {
		if len(body)*len(target) > 1<<16 {
			return
		}
		for _, s := range Standards() {
			p := Parse(body, Options{Token: token, Standard: s})
			v := p.Match(target)
			allowed, line := naive.Read(s.String(), body, token).Allowed(target)
			if v.Allowed != allowed || v.Line != line {
				t.Errorf("%v: %q for %q, token %q: allowed %v by line %d; naive: %v by line %d", s, body, target, token, v.Allowed, v.Line, allowed, line)
			}
		}
		p := Parse(body, Options{Token: token})
		want, ok := naive.Delay(body, token)
		d, has := p.CrawlDelay()
		want = min(want, maxDelay.Seconds())
		assert.Truef(t, has == ok && math.Abs(d.Seconds()-want) <= 1e-9+want*1e-9, "%q: Crawl-delay %v, %v; naive: %v s, %v", body, d, has, want, ok)
		want, ok = naive.Rate(body, token)
		d, has = p.RequestRate()
		want = min(want, maxDelay.Seconds())
		assert.Truef(t, has == ok && math.Abs(d.Seconds()-want) <= 2e-9+want*1e-9, "%q: Request-rate %v, %v; naive: %v s, %v", body, d, has, want, ok)
	})
}

func FuzzRunnerUpDecidesWithoutTheWinner(f *testing.F) {
	for _, s := range seeds {
		for _, t := range targets {
			f.Add([]byte(s), t)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, target string) {
		if len(body) > 1<<12 || len(target) > 1<<10 {
			return
		}
		p := parser{token: "curtsy", text: string(body)}
		p.parse()
		text := p.text + string(p.spelled)
		all := newRuleset(text, slices.Clone(p.rules), RFC9309)
		best, next := all.decide(canonicalTarget(target, RFC9309))
		if best == nil {
			return
		}
		rest := newRuleset(text, slices.DeleteFunc(p.rules, func(r rule) bool {
			return r.pattern.in(text) == best.pattern.in(text) && r.allow == best.allow
		}), RFC9309)
		second, _ := rest.decide(canonicalTarget(target, RFC9309))
		switch {
		case (next == nil) != (second == nil):
			t.Errorf("%q for %q: runner-up %v, without the winner %v", body, target, next, second)
		case next != nil && next.line != second.line:
			t.Errorf("%q for %q: runner-up on line %d, without the winner line %d decides", body, target, next.line, second.line)
		}
	})
}

func FuzzParseIsBounded(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := Parse(body, Options{Token: "curtsy"})
		runtime.ReadMemStats(&after)
		got, most := after.TotalAlloc-before.TotalAlloc, uint64(64*len(body)+8192)
		assert.Truef(t, got <= most, "%d octets of robots.txt allocated %d, want at most %d", len(body), got, most)
		all := ParseAll(body)
		runtime.ReadMemStats(&before)
		if got, most := before.TotalAlloc-after.TotalAlloc, uint64(400*len(body)+65536); got > most {
			t.Errorf("%d octets of robots.txt allocated %d to lint, want at most %d", len(body), got, most)
		}
		runtime.KeepAlive(p)
		runtime.KeepAlive(all)
	})
}

func FuzzCutNeverInventsARule(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), uint16(len(s)/2))
	}
	f.Fuzz(func(t *testing.T, body []byte, limit uint16) {
		part := cut(body, int(limit))
		require.Truef(t, (len(part) <= int(limit) || len(part) == len(body)) && bytes.HasPrefix(body, part), "cut(%q, %d) = %q", body, limit, part)
		all, kept := linesOf(string(body)), linesOf(string(part))
		require.LessOrEqualf(t, len(kept), len(all), "cut at %d: %q has more lines than %q", limit, part, body)
		for i, line := range kept {
			assert.Truef(t, line == all[i], "cut at %d: line %d is %q, was %q", limit, i+1, line, all[i])
		}
	})
}

func FuzzStringReparses(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "curtsy")
	}
	f.Fuzz(func(t *testing.T, body []byte, token string) {
		for _, s := range Standards() {
			o := Options{Token: token, Standard: s}
			p := Parse(body, o)
			text := p.String()
			q := Parse([]byte(text), o)
			assert.Equalf(t, text, q.String(), "%v: %q prints as\n%s\nwhich prints as\n%s", s, body, text, q)
			if q.wait != p.wait || q.rate != p.rate || q.named != p.named && ValidToken(token) == nil {
				t.Errorf("%v: %q prints as\n%s\nwhich reads differently", s, body, text)
			}
			for _, target := range append(targets, strings.Fields(string(body))...) {
				a, b := p.Match(target), q.Match(target)
				if a.Allowed != b.Allowed || a.Reason != b.Reason {
					t.Errorf("%v: %q for %q: %v, %v; reparsed: %v, %v", s, body, target, a.Allowed, a.Reason, b.Allowed, b.Reason)
				}
			}
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, t := range targets {
		f.Add(t)
	}
	f.Add("/%%34%31*$%2a%7e")
	f.Fuzz(func(t *testing.T, s string) {
		once := canonicalTarget(s, RFC9309)
		twice := canonicalTarget(once, RFC9309)
		assert.Truef(t, twice == once, "target %q: canonical %q, again %q", s, once, twice)
		pattern := canonicalPattern(s)
		again := canonicalPattern(pattern)
		assert.Truef(t, again == pattern && isCanonicalPattern(pattern, RFC9309), "pattern %q: canonical %q, again %q", s, pattern, again)
		assert.Equalf(t, (s == pattern), isCanonicalPattern(s, RFC9309), "pattern %q: canonical %q", s, pattern)
		for i := range len(once) {
			c := once[i]
			assert.Truef(t, octets[c]&literal != 0 || c == '%', "target %q: canonical %q holds %q", s, once, c)
		}
		if strings.ContainsAny(s, "*$#") || !strings.HasPrefix(s, "/") {
			return
		}
		assert.Equalf(t, pattern, once, "%q is %q as a target and %q as a pattern", s, once, pattern)
	})
}

func canonicalPattern(s string) string { return string(appendPattern(nil, s, RFC9309)) }

func FuzzState(f *testing.F) {
	for _, s := range sampleStates() {
		b, _ := s.AppendBinary(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		if s.UnmarshalBinary(b) != nil {
			assert.Equalf(t, (State{}), s, "%x: an error, but the state was changed", b)
			return
		}
		out, err := s.AppendBinary(nil)
		require.NoError(t, err)
		require.LessOrEqualf(t, len(out), MaxState, "%x: encoded to %d octets, %v", b, len(out), err)
		var again State
		err = again.UnmarshalBinary(out)
		assert.Truef(t, err == nil && again == s, "%+v came back as %+v, %v", s, again, err)
		// No stored state without an answer may judge a target.
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		_, body := s.Body()
		_, verdict := s.Verdict()
		n := s.Need("http://example.com:80", now)
		assert.Truef(t, n.Action != Judge || body || verdict, "%+v: %v", s, n.Action)
	})
}

func linesOf(text string) (all []string) {
	for l := newLines(text); ; {
		line, ok := l.next()
		if !ok {
			return all
		}
		all = append(all, line.in(text))
	}
}
