package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// unread makes an archive in which a server asks for rest in words that nobody can read, and is asked again so long after.
func unread(value string, after time.Duration) func(a *archive) {
	return func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 429, head: "Retry-After: " + value + "\r\n"})
		if after > 24*time.Hour {
			a.add(fetch{url: site + "/robots.txt", at: 24*time.Hour + time.Minute, body: rule})
		}
		a.add(fetch{url: site + "/b", at: after})
	}
}

// promises are archives of other crawlers that keep the standards, and what they break of this crawler's rules.
var promises = []judged{
	{name: "a pause below a second", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 600 * time.Millisecond})
	}},
	{name: "a rest after a 503", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 503})
		a.add(fetch{url: site + "/b", at: 60 * s})
	}},
	{name: "a rest after a 500", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 500})
		a.add(fetch{url: site + "/b", at: 20 * s})
	}},
	{name: "a rest after a 500, kept", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 500})
		a.add(fetch{url: site + "/b", at: 40 * s})
	}},
	{name: "Retry-After with a redirect", codes: "retry-after", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 301, head: "Retry-After: 120\r\nLocation: /b\r\n"})
		a.add(fetch{url: site + "/b", at: 100 * s})
	}},
	{name: "a Retry-After in quotes", codes: "retry-after", make: unread(`"100"`, 23*time.Hour)},
	{name: "a Retry-After with a unit", codes: "retry-after", make: unread("100s", 23*time.Hour)},
	{name: "a Retry-After of two numbers", codes: "retry-after", make: unread("100, 3", 23*time.Hour)},
	{name: "a Retry-After that nobody can read, obeyed", make: unread(`"100"`, 25*time.Hour)},
	{name: "429 for robots.txt", codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 429})
		a.add(fetch{url: site + "/a", at: 100 * s})
	}},
	{name: "Cache-Control of robots.txt", codes: "robots-expired", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Cache-Control: max-age=600\r\n", body: rule})
		a.add(fetch{url: site + "/a", at: 2 * s})
		a.add(fetch{url: site + "/b", at: 20 * time.Minute})
	}},
	{name: "Request-rate", codes: "gap", make: func(a *archive) {
		a.robots("User-agent: *\nRequest-rate: 1/10\n")
		a.add(fetch{url: site + "/a", at: 5 * s})
	}},
	{name: "RateLimit", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, head: "RateLimit: \"p\";r=0;t=60\r\n"})
		a.add(fetch{url: site + "/b", at: 30 * s})
	}},
	{name: "the pace of addresses", codes: "address-pace", make: func(a *archive) {
		for i := range 400 {
			a.add(fetch{url: fmt.Sprintf("https://h%d.test/robots.txt", i), at: time.Duration(i) * 10 * time.Millisecond, ip: "192.0.2.7"})
		}
	}},
	{name: "the pace of addresses, kept", make: func(a *archive) {
		for i := range 400 {
			a.add(fetch{url: fmt.Sprintf("https://h%d.test/robots.txt", i), at: time.Duration(i) * 100 * time.Millisecond, ip: "192.0.2.7"})
		}
	}},
	{name: "a cookie", codes: "credentials", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", host: "bakery.test\r\nCookie: id=7"})
	}},
	{name: "a password", codes: "credentials", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", host: "bakery.test\r\nAuthorization: Basic YTpi"})
	}},
	{name: "a signature is no credential", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", host: "bakery.test\r\nSignature-Agent: a=\"https://lantern.test\"\r\n" +
			"Signature-Input: a=(\"@authority\");created=1;expires=2;keyid=\"b\";tag=\"web-bot-auth\"\r\nSignature: a=:AAAA:"})
	}},
	{name: "nobody to ask", codes: "user-agent", make: func(a *archive) { a.add(fetch{url: site + "/robots.txt", agent: "Lantern/1"}) }},
	{name: "a mailbox to ask", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", agent: "Lantern/1 (ops@lantern.test)"})
	}},
	{name: "loopback needs no floor", make: func(a *archive) {
		a.add(fetch{url: "http://127.0.0.1:8080/robots.txt"})
		a.add(fetch{url: "http://127.0.0.1:8080/a", at: 200 * time.Millisecond})
	}},
	{name: "groups of curtsy bind no other", make: func(a *archive) {
		a.robots("User-agent: curtsy\nDisallow: /\n")
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
}

// What only this crawler promises is asked of others when the audit is told to, and not else.
func TestOthersAreHeldToOurRulesWhenAsked(t *testing.T) {
	for _, c := range promises {
		t.Run(c.name, func(t *testing.T) {
			a := foreign(t)
			c.make(a)
			written := a.b.String()
			r := a.audit(Options{})
			if named := codes(r) == "credentials" && r.Totals.Notes > 0; !r.Clean || named != (c.codes == "credentials") {
				t.Errorf("by the standards: found %q%s", codes(r), shown(r))
			}
			a.b.Reset()
			a.b.WriteString(written)
			if r := a.audit(Options{Strict: true}); codes(r) != c.codes {
				t.Errorf("by our rules: found %q, want %q%s", codes(r), c.codes, shown(r))
			}
		})
	}
}

// A crawl that keeps all that ours would keep is clean by our rules, whoever wrote it and whatever its dates hide. That
// answers began late is not held against it.
func TestAPoliteCrawlOfOthersKeepsOurRules(t *testing.T) {
	forms := []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z"}
	for seed := range uint64(20) {
		w := newWorld(seed)
		a := foreign(t)
		a.form = forms[seed%3]
		for _, s := range w.sites {
			s.rules = strings.ReplaceAll(s.rules, "User-agent: curtsy\n", "User-agent: Lantern\n")
		}
		for range 10 + w.r.IntN(60) {
			w.step(a)
		}
		if r := a.audit(Options{Strict: true}); !r.Clean {
			t.Errorf("seed %d, dates like %s: %q%s", seed, a.form, codes(r), shown(r))
		}
	}
}

// An archive without a warcinfo record can be held to them as well.
func TestOurRulesNeedNoWarcinfo(t *testing.T) {
	a := &archive{t: t, form: "2006-01-02T15:04:05Z"}
	a.robots(rule)
	for i := range 50 {
		a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: time.Duration(i) * s / 5, meta: "none"})
	}
	if r := a.audit(Options{Strict: true}); codes(r) != "gap" {
		t.Errorf("found %q%s", codes(r), shown(r))
	}
}
