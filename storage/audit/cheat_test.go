package audit

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"
)

// hostile are archives that hide an offence, and honest ones that look like it.
var hostile = []judged{
	{name: "a 503 without Retry-After rests the host for a minute", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 503})
		a.add(fetch{url: site + "/b", at: 60 * s})
	}},
	{name: "a 503 with a short Retry-After rests it for that", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 503, head: "Retry-After: 3\r\n"})
		a.add(fetch{url: site + "/b", at: 6 * s})
	}},
	{name: "a 500 rests the host for half a minute", codes: "gap", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 500})
		a.add(fetch{url: site + "/b", at: 20 * s})
	}},
	{name: "a 500 rests no host of others", foreign: true, make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: 2 * s, status: 500})
		a.add(fetch{url: site + "/b", at: 20 * s})
	}},
	{name: "what was under way with an own host when it asked for rest", make: func(a *archive) {
		own := "http://127.0.0.1:8080"
		a.add(fetch{url: own + "/robots.txt"})
		a.add(fetch{url: own + "/a", at: 2 * s, status: 429, head: "Retry-After: 120\r\n"})
		a.add(fetch{url: own + "/b", at: 2*s + 50*time.Millisecond, took: 5 * s})
		a.add(fetch{url: own + "/c", at: 2*s + 101*time.Millisecond, took: 5 * s}) // its lane did not know yet
		a.add(fetch{url: own + "/d", at: 130 * s})
	}},
	{name: "what began with an own host after it asked for rest", codes: "retry-after", make: func(a *archive) {
		own := "http://127.0.0.1:8080"
		a.add(fetch{url: own + "/robots.txt"})
		a.add(fetch{url: own + "/a", at: 2 * s, status: 429, head: "Retry-After: 120\r\n"})
		a.add(fetch{url: own + "/b", at: 4 * s})
	}},
	{name: "an address pace of nothing is 100 ms", info: []string{"ip-delay-ms: 0"}, codes: "address-pace", make: func(a *archive) {
		for i := range 400 {
			host := "https://h" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ".test/robots.txt"
			a.add(fetch{url: host, at: time.Duration(i) * 10 * time.Millisecond, ip: "192.0.2.7"})
		}
	}},
	{name: "another software beside a ledger of ours frees from nothing", foreign: true, opts: Options{Ours: true, Token: "Lantern"}, codes: "gap record", make: func(a *archive) {
		a.robots(rule)
		a.add(fetch{url: site + "/a", at: s / 2})
	}},
	{name: "robots.txt that breaks HTTP gives no rules", codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", body: rule, extra: "WARC-Truncated: unspecified"})
		a.add(fetch{url: site + "/a", at: 100 * s})
	}},
	{name: "robots.txt in gzip", codes: "disallowed", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Content-Encoding: gzip\r\n", body: zipped(rule)})
		a.add(fetch{url: site + "/private/x", at: 2 * s})
	}},
	{name: "robots.txt with a byte order mark", codes: "disallowed", make: func(a *archive) {
		a.robots("\ufeff" + rule)
		a.add(fetch{url: site + "/private/x", at: 2 * s})
	}},
	{name: "RFC 9309 2.5: rules within 500 KiB", codes: "disallowed", make: func(a *archive) {
		a.robots(strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 499) + rule + strings.Repeat("# y\n", 1<<18))
		a.add(fetch{url: site + "/private/x", at: 2 * s})
	}},
	{name: "ports, IPv6 and IDNA names have rules of their own", codes: "robots-missing disallowed", make: func(a *archive) {
		for i, host := range []string{"http://bakery.test:8080", "http://[2001:db8::1]:81", "https://xn--bcker-gra.test"} {
			at := time.Duration(20*i) * s
			a.add(fetch{url: host + "/robots.txt", at: at, body: rule})
			a.add(fetch{url: host + "/private/x", at: at + 5*s})
		}
		a.add(fetch{url: "http://[2001:db8::1]/", at: 90 * s})
	}},
	{name: "http and https are two authorities", codes: "robots-missing", make: func(a *archive) {
		a.add(fetch{url: "http://bakery.test/robots.txt", status: 301, head: "Location: " + site + "/robots.txt\r\n"})
		a.add(fetch{url: "http://bakery.test/a", at: 4 * s}) // before what it leads to
	}},
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text)) // a bytes.Buffer never fails
	z.Close()
	return b.String()
}

func TestCheatsAreNamedAndTheHonestAreNot(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			a := ours(t, c.info...)
			if c.foreign {
				a = foreign(t)
			}
			c.make(a)
			if r := a.audit(c.opts); codes(r) != c.codes {
				t.Errorf("found %q, want %q%s", codes(r), c.codes, shown(r))
			}
		})
	}
}

// Retry-After is obeyed in each form that RFC 9110 has, and in those that it has not.
func TestEachFormOfRetryAfter(t *testing.T) {
	for _, c := range []struct {
		head  string
		until time.Duration // since day0
	}{
		{"Retry-After: 300\r\n", 302 * s},
		{"retry-after:\t300 \r\n", 302 * s},
		{"Retry-After: Sun, 01 Mar 2026 12:05:00 GMT\r\n", 300 * s},
		{"Retry-After: Sunday, 01-Mar-26 12:05:00 GMT\r\n", 300 * s},
		{"Retry-After: Sun Mar  1 12:05:00 2026\r\n", 300 * s},
		{"Retry-After: 5\r\nRetry-After: 300\r\nRetry-After: 7\r\n", 302 * s},
		{"Retry-After: 99999999999999999999999\r\n", 24 * time.Hour},
		{"Retry-After: 999999999\r\n", 24 * time.Hour},
		{"Retry-After: soon\r\n", 24 * time.Hour},
		{"Retry-After: 120, 300\r\n", 24 * time.Hour},
		{"Retry-After: -1\r\n", 24 * time.Hour},
	} {
		for _, next := range []struct {
			at   time.Duration
			want string
		}{{c.until - 5*s, "retry-after"}, {c.until + 5*s, ""}} {
			a := ours(t)
			a.robots("")
			a.add(fetch{url: site + "/a", at: 2 * s, status: 429, head: c.head})
			a.add(fetch{url: site + "/robots.txt", at: next.at})
			if r := a.audit(Options{}); codes(r) != next.want {
				t.Errorf("%q, %v: found %q, want %q%s", c.head, next.at, codes(r), next.want, shown(r))
			}
		}
	}
}

// A host that asked for more in between shows both paces, so that the least pause does not look like an offence.
func TestAHostShowsThePacesThatWereDue(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	a.add(fetch{url: site + "/a", at: 2 * s})
	a.add(fetch{url: site + "/robots.txt", at: 4 * s, body: "User-agent: *\nCrawl-delay: 5\n"})
	a.add(fetch{url: site + "/b", at: 10 * s})
	r := a.audit(Options{})
	if h := r.Hosts[0]; !r.Clean || h.Required != 5 || h.Lowest != 1 || h.MinGap < 1 {
		t.Errorf("%s", shown(r))
	}
	same := ours(t)
	same.robots(rule)
	same.add(fetch{url: site + "/a", at: 2 * s})
	if h := same.audit(Options{}).Hosts[0]; h.Lowest != h.Required {
		t.Errorf("%+v", h)
	}
}
