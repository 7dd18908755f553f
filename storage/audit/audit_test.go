package audit

import (
	"testing"
	"time"

	"curtsy/storage/audit/evidence"
)

const (
	siteName = "bakery.test"
	site     = "https://" + siteName
	rule     = "User-agent: *\nDisallow: /private\nAllow: /private/open\n"
	// toldOpen is what a crawl says of the verdict on /private/open by it.
	toldOpen = "robotsLine: 3\r\nrobotsRule: Allow: /private/open\r\nrobotsGroup: *\r\nrobotsRunnerUp: Disallow: /private\r\n"
	s        = time.Second
)

// judged is one archive and what must be found in it.
type judged struct {
	name    string
	foreign bool
	info    []string
	opts    Options
	make    func(a *archive)
	codes   string
	whole   bool // dates have whole seconds
}

// robots adds a robots.txt at the beginning.
func (a *archive) robots(body string) { a.add(fetch{url: site + "/robots.txt", body: body}) }

var table = []judged{
	{name: "a good crawl is clean", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s, meta: "decision: allow\r\nrobotsSha256: " + sha(rule) + "\r\npaceMs: 1000\r\npaceBy: floor\r\ngapMs: 1900\r\n"})
		a.add(fetch{url: site + "/private/open", at: 4 * s, meta: "decision: allow\r\nrobotsSha256: " + sha(rule) + "\r\n" + toldOpen})
	}},
	{name: "RFC 9309 2.3: a page before robots.txt", codes: "robots-missing", make: func(a *archive) {
		a.add(fetch{url: site + "/"})
		a.add(fetch{url: site + "/robots.txt", at: 2 * s})
	}},
	{name: "robots.txt of another authority does not count", codes: "robots-missing", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: "http://bakery.test/", at: 2 * s})
	}},
	{name: "RFC 9309 2.4: 24 hours", codes: "robots-expired", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s})
		a.add(fetch{url: site + "/a", at: 25 * time.Hour})
	}},
	{name: "RFC 9309 2.4: 24 hours bind others too", foreign: true, codes: "robots-expired", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 25 * time.Hour})
	}},
	{name: "RFC 9111: Cache-Control of robots.txt", codes: "robots-expired", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Cache-Control: public, max-age=600\r\n", body: rule})
		a.add(fetch{url: site + "/", at: 2 * s})
		a.add(fetch{url: site + "/a", at: 20 * time.Minute})
	}},
	{name: "Cache-Control of robots.txt is not asked of others", foreign: true, make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Cache-Control: public, max-age=600\r\n", body: rule})
		a.add(fetch{url: site + "/", at: 2 * s})
		a.add(fetch{url: site + "/a", at: 20 * time.Minute})
	}},
	{name: "a policy just learned is used once, however short its life", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Cache-Control: no-store\r\n", body: rule})
		a.add(fetch{url: site + "/a", at: 20 * time.Minute})
	}},
	{name: "304 renews", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/robots.txt", at: 20 * time.Hour, status: 304})
		a.add(fetch{url: site + "/a", at: 40 * time.Hour})
	}},
	{name: "RFC 9309 2.3.1.4: unreachable", codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 503})
		a.add(fetch{url: site + "/a", at: 100 * s})
	}},
	{name: "RFC 9309 2.3.1.4: no answer", foreign: true, codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: -1})
		a.add(fetch{url: site + "/a", at: 100 * s})
	}},
	{name: "rules at hand hold while robots.txt is unreachable", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/robots.txt", at: 100 * s, status: 503})
		a.add(fetch{url: site + "/a", at: 200 * s})
	}},
	{name: "RFC 9309 2.3.1.3: 404 allows", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 404})
		a.add(fetch{url: site + "/private", at: 2 * s, meta: "decision: allow\r\n"})
	}},
	{name: "429 for robots.txt is unreachable in ours", codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 429})
		a.add(fetch{url: site + "/a", at: 100 * s})
	}},
	{name: "RFC 9309 2.3.1.3: 429 for robots.txt is unavailable for others", foreign: true, make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 429})
		a.add(fetch{url: site + "/a", at: 100 * s})
	}},
	{name: "RFC 9309 2.2.2: disallowed", codes: "disallowed", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/private/x", at: 2 * s})
	}},
	{name: "what is sent counts, not what the record says", foreign: true, codes: "disallowed record", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s, request: "/private/x"})
	}},
	{name: "groups of curtsy bind ours", codes: "disallowed", make: func(a *archive) {
		a.robots("User-agent: curtsy\nDisallow: /\n")
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "groups of curtsy bind no other", foreign: true, make: func(a *archive) {
		a.robots("User-agent: curtsy\nDisallow: /\n")
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "the token of a compatible browser", foreign: true, codes: "disallowed", make: func(a *archive) {
		const agent = "Mozilla/5.0 (compatible; Otherbot/2.0; +https://o.test)"
		a.add(fetch{url: site + "/robots.txt", body: "User-agent: Otherbot\nDisallow: /a\n", agent: agent})
		a.add(fetch{url: site + "/a", at: 2 * s, agent: agent})
	}},
	{name: "a declared older standard binds too", info: []string{"robots: std1994"}, codes: "disallowed", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/private/open", at: 2 * s})
	}},
	{name: "Crawl-delay", codes: "gap", make: func(a *archive) {
		a.robots("User-agent: *\nCrawl-delay: 5\n")
		a.add(fetch{url: site + "/a", at: 4 * s})
	}},
	{name: "Crawl-delay binds others", foreign: true, codes: "gap", make: func(a *archive) {
		a.robots("User-agent: *\nCrawl-delay: 5\n")
		a.add(fetch{url: site + "/a", at: 4 * s})
	}},
	{name: "the floor of ours", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: s})
	}},
	{name: "a declared floor", info: []string{"pace-floor-ms: 3000"}, codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "others need no floor", foreign: true, make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 110 * time.Millisecond})
	}},
	{name: "a floor that the audit is told", foreign: true, opts: Options{Floor: s}, codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 110 * time.Millisecond})
	}},
	{name: "a pace that the crawl says was due", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, meta: "gapMs: 1900\r\npaceMs: 30000\r\npaceBy: errors\r\n"})
	}},
	{name: "two at one time", codes: "in-flight", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", took: 5 * s})
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "two at one time by another", foreign: true, codes: "in-flight", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", took: 5 * s})
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "RFC 9110 10.2.3: seconds", codes: "retry-after", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 503, head: "Retry-After: 120\r\n"})
		a.add(fetch{url: site + "/b", at: 100 * s})
	}},
	{name: "RFC 9110 10.2.3: a date", foreign: true, codes: "retry-after", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 429, head: "Retry-After: Sun, 01 Mar 2026 12:10:00 GMT\r\n"})
		a.add(fetch{url: site + "/robots.txt", at: 100 * s})
	}},
	{name: "Retry-After with 200 means nothing", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, head: "Retry-After: 120\r\n"})
		a.add(fetch{url: site + "/b", at: 100 * s})
	}},
	{name: "Retry-After with 301 rests the host of ours", codes: "retry-after", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 301, head: "Retry-After: 120\r\nLocation: /b\r\n"})
		a.add(fetch{url: site + "/b", at: 100 * s})
	}},
	{name: "told by another line", codes: "verdict", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/private/open", at: 2 * s, meta: "decision: allow\r\nrobotsSha256: " + sha(rule) + "\r\nrobotsLine: 2\r\n"})
	}},
	{name: "told by another file", codes: "verdict", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s, meta: "decision: allow\r\nrobotsSha256: " + sha("x") + "\r\n"})
	}},
	{name: "a longer pause told than kept", codes: "gap-told", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s, meta: "gapMs: 2500\r\n"})
	}},
	{name: "a shorter pace told than due", codes: "gap-told", make: func(a *archive) {
		a.robots("User-agent: *\nCrawl-delay: 5\n")
		a.add(fetch{url: site + "/", at: 9 * s, meta: "gapMs: 8900\r\npaceMs: 1000\r\npaceBy: floor\r\n"})
	}},
	{name: "a delay due is not a number", codes: "gap-told record", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s, meta: "paceMs: soon\r\npaceBy: floor\r\n"})
	}},
	{name: "times that are none, or less than nothing", codes: "record", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s, meta: "gapMs: -3\r\nfirstByteTimeMs: 1h3\r\nattempt: one\r\nownHost: perhaps\r\n"})
	}},
	{name: "others may mean something else by such a name", foreign: true, make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/", at: 2 * s, meta: "status: fine\r\n"})
	}},
	{name: "no User-Agent", codes: "user-agent", make: func(a *archive) { a.add(fetch{url: site + "/robots.txt", agent: "none"}) }},
	{name: "a User-Agent without the token", codes: "user-agent", make: func(a *archive) { a.add(fetch{url: site + "/robots.txt", agent: "Owl/1"}) }},
	{name: "a browser", foreign: true, codes: "user-agent", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"})
	}},
	{name: "POST", codes: "method", make: func(a *archive) { a.add(fetch{url: site + "/robots.txt", method: "POST"}) }},
	{name: "a changed payload", codes: "digest", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", body: "a", extra: "WARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
	}},
	{name: "an answer without its request", codes: "record", make: func(a *archive) { a.add(fetch{url: site + "/robots.txt", noReq: true}) }},
	{name: "others may leave requests out", foreign: true, make: func(a *archive) { a.add(fetch{url: site + "/robots.txt", noReq: true}) }},
	{name: "a request for another URL", codes: "record", make: func(a *archive) { a.robots(rule); a.add(fetch{url: site + "/a", at: 2 * s, request: "/b"}) }},
	{name: "out of order", codes: "record", make: func(a *archive) { a.robots(rule); a.add(fetch{url: site + "/a", at: -9 * s}) }},
	{name: "RFC 9309 2.3.1.2: the rules at the end of redirects bind the first authority", codes: "disallowed", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 301, head: "Location: https://www.bakery.test/r%c3%a9.txt\r\n"})
		a.add(fetch{url: "https://www.bakery.test/r%C3%A9.txt", at: s, body: rule})
		a.add(fetch{url: site + "/ok", at: 2 * s})
		a.add(fetch{url: site + "/private", at: 4 * s})
	}},
	{name: "RFC 9309 2.3.1.2: and not the second", codes: "robots-missing", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 301, head: "Location: https://www.bakery.test/r.txt\r\n"})
		a.add(fetch{url: "https://www.bakery.test/r.txt", at: s, body: rule})
		a.add(fetch{url: "https://www.bakery.test/x", at: 4 * s})
	}},
	{name: "RFC 9309 2.3.1.2: after five redirects there is none", make: func(a *archive) {
		for i, p := range []string{"/robots.txt", "/1", "/2", "/3", "/4", "/5"} {
			a.add(fetch{url: site + p, at: time.Duration(2*i) * s, status: 302, head: "Location: /" + string(rune('1'+i)) + "\r\n"})
		}
		a.add(fetch{url: site + "/x", at: 20 * s})
	}},
	{name: "loopback is the operator's own", make: func(a *archive) {
		a.add(fetch{url: "http://127.0.0.1:8080/robots.txt", took: 10 * s})
		a.add(fetch{url: "http://127.0.0.1:8080/a", at: 3 * s})
	}},
	{name: "loopback is foreign where the crawl says so", info: []string{"own-sites: none"}, codes: "gap", make: func(a *archive) {
		a.add(fetch{url: "http://127.0.0.1:8080/robots.txt"})
		a.add(fetch{url: "http://127.0.0.1:8080/a", at: 300 * time.Millisecond})
	}},
	{name: "an own host obeys Crawl-delay", codes: "gap", make: func(a *archive) {
		a.add(fetch{url: "http://127.0.0.1:8080/robots.txt", body: "User-agent: *\nCrawl-delay: 2\n"})
		a.add(fetch{url: "http://127.0.0.1:8080/a", at: 3 * s / 2})
	}},
	{name: "rule 12: an own host is left alone after a 500", codes: "gap", make: failing("http://127.0.0.1:8080", 500, "")},
	{name: "rule 12: a link check does not back off from an own host after a 500", info: linkCheck, make: failing("http://127.0.0.1:8080", 500, "")},
	{name: "rule 12: a link check backs off from an own host after a 429", info: linkCheck, codes: "gap", make: failing("http://127.0.0.1:8080", 429, "")},
	{name: "rule 11: a link check obeys Retry-After of an own host", info: linkCheck, codes: "retry-after", make: failing("http://127.0.0.1:8080", 503, "Retry-After: 9\r\n")},
	{name: "rule 12: a link check backs off from a third-party host after a 500", info: linkCheck, codes: "gap", make: failing(site, 500, "")},
	{name: "a proof makes a host own for a day", codes: "gap", make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + evidence.OwnerPath, at: 2 * s, body: "curtsy-owner=" + sha("v") + "\n"})
		a.add(fetch{url: site + "/a", at: 2200 * time.Millisecond})
		a.add(fetch{url: site + "/robots.txt", at: 20 * time.Hour})
		a.add(fetch{url: site + "/b", at: 27 * time.Hour})
		a.add(fetch{url: site + "/c", at: 27*time.Hour + 200*time.Millisecond})
	}},
	{name: "saying so makes no host own", codes: "gap", make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + "/a", at: 200 * time.Millisecond, meta: "ownHost: true\r\n"})
	}},
	{name: "whole seconds and no ends are unprovable, not wrong", foreign: true, whole: true, opts: Options{Floor: s}, make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", meta: "none"})
		a.add(fetch{url: site + "/a", at: s, meta: "none"})
	}},
	{name: "whole seconds that are too short all the same", foreign: true, whole: true, opts: Options{Floor: 3 * s}, codes: "gap", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", meta: "none"})
		a.add(fetch{url: site + "/a", at: s, meta: "none"})
	}},
	{name: "addresses have a pace", codes: "address-pace", make: func(a *archive) {
		for i := range 60 {
			a.add(fetch{url: "https://h" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ".test/robots.txt", at: time.Duration(i) * 10 * time.Millisecond, ip: "2001:db8::" + string(rune('1'+i%9))})
		}
	}},
}

// linkCheck declares an archive that of a check of links.
var linkCheck = []string{"own-site-failures: findings"}

// failing has a page of a host fail, and another one requested three seconds later.
func failing(site string, status int, head string) func(*archive) {
	return func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 404})
		a.add(fetch{url: site + "/failing", at: 2 * s, status: status, head: head})
		a.add(fetch{url: site + "/next", at: 5 * s})
	}
}

func TestEachViolationIsNamed(t *testing.T) {
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			a := ours(t, c.info...)
			if c.foreign {
				a = foreign(t)
			}
			if c.whole {
				a.form = "2006-01-02T15:04:05Z"
			}
			c.make(a)
			r := a.audit(c.opts)
			if got := codes(r); got != c.codes {
				t.Errorf("found %q, want %q%s", got, c.codes, shown(r))
			}
			if r.Clean != (c.codes == "") {
				t.Errorf("clean is %v", r.Clean)
			}
			if c.whole && c.codes == "" && r.Totals.Unprovable == 0 {
				t.Errorf("nothing is unprovable%s", shown(r))
			}
		})
	}
}
