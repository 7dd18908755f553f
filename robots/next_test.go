package robots

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const site = "http://bakery.test:80"

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rules = []byte("user-agent: *\ndisallow: /private/\n")
)

func fields(kv ...string) map[string][]string {
	h := make(map[string][]string)
	for i := 0; i < len(kv); i += 2 {
		h[kv[i]] = append(h[kv[i]], kv[i+1])
	}
	return h
}

func moveTo(location string) Exchange {
	return Exchange{Status: 301, Header: fields("Location", location)}
}

// run makes exchanges at noon, each for the need before it, and returns the result.
func run(t *testing.T, s State, exchanges ...Exchange) (State, Need) {
	t.Helper()
	return runBy(t, Terms{}, s, exchanges...)
}

func runBy(t *testing.T, terms Terms, s State, exchanges ...Exchange) (State, Need) {
	t.Helper()
	need := terms.Need(s, site, noon)
	for i, ex := range exchanges {
		require.Truef(t, need.Action == Fetch || need.Action == Refresh, "before exchange %d: %v", i+1, need.Action)
		ex.URL = need.URL
		s, need = terms.Next(s, site, ex, noon)
	}
	return s, need
}

// The rows of the outcome table, section 3.1 of the policy, for an unknown host, by each standard; and strictly, where
// the sterner of a standard's column and that of RFC 9309 holds.
func TestOutcome_3_1(t *testing.T) {
	ok := func(body string, kv ...string) Exchange {
		return Exchange{Status: 200, Body: []byte(body), Header: fields(kv...)}
	}
	hops := func(n int) (all []Exchange) {
		for i := range n {
			all = append(all, moveTo(fmt.Sprintf("http://hop.test/%d", i+1)))
		}
		return all
	}
	stern := map[string]int{"ALLOW": 0, "RULES": 1, "CLOSED": 2, "DENY": 3}
	big := strings.Repeat("#\n", MaxBody/2+1)
	for _, row := range []struct {
		name      string
		exchanges []Exchange
		want      string // by RFC 9309, and by the draft and the 1994 document if they differ: RULES, ALLOW, DENY, CLOSED
		flags     Flags
		failure   string
	}{
		{"200 with body", []Exchange{ok(string(rules))}, "RULES", 0, ""},
		{"203 with body", []Exchange{{Status: 203, Body: rules}}, "RULES", 0, ""},
		{"299 with body", []Exchange{{Status: 299, Body: rules}}, "RULES", 0, ""},
		{"200 with empty body", []Exchange{ok("")}, "RULES RULES ALLOW", 0, ""},
		{"204", []Exchange{{Status: 204}}, "RULES RULES ALLOW", 0, ""},
		{"200 as text-html", []Exchange{ok(string(rules), "Content-Type", "Text/HTML; charset=utf-8")}, "RULES", HTML, ""},
		{"200 as text-plain that is HTML", []Exchange{ok(" \n<!doctype html>", "Content-Type", "text/plain")}, "RULES", HTML, ""},
		{"200 that looks binary", []Exchange{ok("\x7FELF\x00")}, "RULES", Binary, ""},
		{"200 as an image", []Exchange{ok("x", "Content-Type", "image/png")}, "RULES", Binary, ""},
		{"200 with a byte order mark", []Exchange{ok(byteOrderMark)}, "RULES", BOM, ""},
		{"200 with more than 500 KiB", []Exchange{{Status: 200, Body: []byte(big)[:MaxBody+1], Oversize: true}}, "RULES", Truncated, ""},
		{"200 cut by the reader too early to know", []Exchange{{Status: 200, Body: []byte(big)[:MaxBody], Oversize: true}}, "DENY", 0, "incomplete"},
		{"connection cut before the end", []Exchange{{Failure: "incomplete"}}, "DENY", 0, "incomplete"},
		{"connection cut after a status", []Exchange{{Status: 200, Failure: "incomplete", Body: rules}}, "DENY", 0, "incomplete"},
		{"undeclared gzip", []Exchange{ok("\x1F\x8B\x08rest")}, "DENY", 0, "compressed, but not declared"},
		{"206", []Exchange{{Status: 206, Body: rules}}, "DENY", 0, "partial content"},
		{"five redirects, then rules", append(hops(5), ok(string(rules))), "RULES", 0, ""},
		{"five redirects, then 404", append(hops(5), Exchange{Status: 404}), "ALLOW", 0, ""},
		{"five redirects, then 500", append(hops(5), Exchange{Status: 500}), "DENY", 0, "status 500"},
		{"a loop of one", []Exchange{moveTo("/robots.txt")}, "DENY", 0, "redirect loop"},
		{"a loop of one with the port", []Exchange{moveTo("HTTP://Bakery.test:80/robots.txt#x")}, "DENY", 0, "redirect loop"},
		{"a loop of two", []Exchange{moveTo("/a"), moveTo("/robots.txt")}, "DENY", 0, "redirect loop"},
		{"a loop at the sixth hop", append(hops(5), moveTo("/3")), "DENY", 0, "redirect loop"},
		{"no Location", []Exchange{{Status: 302}}, "DENY", 0, "redirect without Location"},
		{"an invalid Location", []Exchange{moveTo("http://[/robots.txt")}, "DENY", 0, "redirect to an invalid URL"},
		{"a Location without host", []Exchange{moveTo("http:///robots.txt")}, "DENY", 0, "redirect to an invalid URL"},
		{"a Location of another scheme", []Exchange{moveTo("ftp://bakery.test/robots.txt")}, "DENY", 0, "redirect to a scheme other than http and https"},
		{"a Location that is too long", []Exchange{moveTo("/" + strings.Repeat("x", maxURL))}, "DENY", 0, "redirect to a URL that is too long"},
		{"redirect from https to http", []Exchange{moveTo("https://bakery.test/robots.txt"), moveTo("http://www.bakery.test/robots.txt"), ok(string(rules))}, "RULES", Downgraded, ""},
		{"redirect from http to https", []Exchange{moveTo("https://bakery.test/robots.txt"), ok(string(rules))}, "RULES", 0, ""},
		{"redirect to a private address", []Exchange{moveTo("http://10.0.0.1/robots.txt"), {Failure: "private address"}}, "DENY", 0, "private address"},
		{"300", []Exchange{{Status: 300, Header: fields("Location", "/x")}}, "DENY", 0, "status 300"},
		{"304 without a stored copy", []Exchange{{Status: 304}}, "DENY", 0, "status 304"},
		{"305", []Exchange{{Status: 305, Header: fields("Location", "/x")}}, "DENY", 0, "status 305"},
		{"306", []Exchange{{Status: 306}}, "DENY", 0, "status 306"},
		{"401", []Exchange{{Status: 401}}, "ALLOW CLOSED ALLOW", 0, ""},
		{"403", []Exchange{{Status: 403}}, "ALLOW CLOSED ALLOW", 0, ""},
		{"402", []Exchange{{Status: 402}}, "ALLOW", 0, ""},
		{"404", []Exchange{{Status: 404, Body: rules}}, "ALLOW", 0, ""},
		{"410", []Exchange{{Status: 410}}, "ALLOW", 0, ""},
		{"429", []Exchange{{Status: 429}}, "DENY", 0, "status 429"},
		{"400", []Exchange{{Status: 400}}, "ALLOW", 0, ""},
		{"451", []Exchange{{Status: 451}}, "ALLOW", 0, ""},
		{"499", []Exchange{{Status: 499}}, "ALLOW", 0, ""},
		{"408", []Exchange{{Status: 408}}, "DENY", 0, "status 408"},
		{"425", []Exchange{{Status: 425}}, "DENY", 0, "status 425"},
		{"1xx final", []Exchange{{Status: 199}}, "DENY", 0, "status 199"},
		{"600", []Exchange{{Status: 600}}, "DENY", 0, "status 600"},
		{"malformed status", []Exchange{{Status: -7}}, "DENY", 0, "status -7"},
		{"500", []Exchange{{Status: 500, Body: rules}}, "DENY", 0, "status 500"},
		{"503", []Exchange{{Status: 503}}, "DENY", 0, "status 503"},
		{"599", []Exchange{{Status: 599}}, "DENY", 0, "status 599"},
		{"DNS failure", []Exchange{{Failure: "dns"}}, "DENY", 0, "dns"},
		{"connection refused", []Exchange{{Failure: "connect"}}, "DENY", 0, "connect"},
		{"time-out", []Exchange{{Failure: "timeout"}}, "DENY", 0, "timeout"},
		{"TLS failure", []Exchange{{Failure: "tls"}}, "DENY", 0, "tls"},
		{"response header too large", []Exchange{{Failure: "protocol"}}, "DENY", 0, "protocol"},
		{"no response and no reason", []Exchange{{}}, "DENY", 0, "no response"},
	} {
		words := strings.Fields(row.want)
		for i, standard := range Standards() {
			want := words[min(i, len(words)-1)]
			for _, strict := range []bool{false, true} {
				if strict && stern[want] < stern[words[0]] {
					want = words[0]
				}
				terms := Terms{Standard: standard, Strict: strict}
				t.Run(fmt.Sprintf("%s/%v strict %v", row.name, standard, strict), func(t *testing.T) {
					s, need := runBy(t, terms, State{}, row.exchanges...)
					expect(t, s, need, want)
					last := row.exchanges[len(row.exchanges)-1]
					digest, _ := s.Body()
					assert.Truef(t, want != "RULES" || digest == sha256.Sum256(last.Body), "digest %x is not that of the body", digest)
					if standard == RFC9309 && (s.Flags() != row.flags || s.Failure() != row.failure) {
						t.Errorf("flags %q, failure %q; want %q, %q", s.Flags(), s.Failure(), row.flags, row.failure)
					}
					assert.Truef(t, s.Hops() == 0, "the chain of redirects is still there: %d hops", s.Hops())
					again, _ := runBy(t, terms, State{}, row.exchanges...)
					assert.Truef(t, again == s, "not pure: %+v, then %+v", s, again)
				})
			}
		}
	}
}

// expect checks that a state is RULES, ALLOW, DENY or CLOSED, and that the need fits.
func expect(t *testing.T, s State, need Need, want string) {
	t.Helper()
	_, body := s.Body()
	v, decided := s.Verdict()
	var got string
	switch {
	case body && !decided && need.Action == Judge:
		got = "RULES"
	case !body && decided && v.Allowed && v.Reason == Unavailable && need.Action == Judge:
		got = "ALLOW"
	case !body && decided && !v.Allowed && v.Reason == Unreachable && need.Action == Wait && need.After > 0:
		got = "DENY"
	case !body && decided && !v.Allowed && v.Reason == Restricted && need.Action == Judge:
		got = "CLOSED"
	}
	assert.Equalf(t, want, got, "got %q (body %v, verdict %+v, %+v), want %s", got, body, v, need, want)
}

func TestRedirects_3_1_AHopPerTurn(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		s, need := State{}, State{}.Need(site, noon)
		require.Equal(t, (Need{Action: Fetch, URL: "http://bakery.test/robots.txt"}), need, "at first")
		for i, hop := range []struct{ location, url string }{
			{"HTTPS://U:P@WWW.bakery.test:443", "https://www.bakery.test/"},
			{"robots.txt", "https://www.bakery.test/robots.txt"},
			{"../x/./y?z#f", "https://www.bakery.test/x/y?z"},
			{"//cdn.test:8080/r", "https://cdn.test:8080/r"},
			{"http://[2001:db8::1]:80/r", "http://[2001:db8::1]/r"},
		} {
			s, need = Next(s, site, Exchange{URL: need.URL, Status: status, Header: fields("Location", hop.location)}, noon)
			require.Truef(t, need == (Need{Action: Fetch, URL: hop.url, Hop: i + 1}) && s.Hops() == i+1, "%d, hop %d to %s: %+v", status, i+1, hop.location, need)
			if !s.Passed("http://bakery.test/robots.txt") || !s.Passed("https://www.bakery.test/") || !s.Passed(hop.url) || s.Passed("https://www.bakery.test") {
				t.Fatalf("%d, hop %d: the requested URLs are not recorded", status, i+1)
			}
		}
		s, need = Next(s, site, Exchange{URL: need.URL, Status: 200, Body: rules}, noon)
		require.Truef(t, need.Action == Judge && s.FinalURL() == "http://[2001:db8::1]/r", "%d, in the end: %+v, %s", status, need, s.FinalURL())
		require.Falsef(t, s.Passed("http://bakery.test/robots.txt"), "%d: no redirects are followed any more", status)
	}
}

func TestRedirects_3_1_AChainLeftLyingIsBegunAnew(t *testing.T) {
	s, _ := run(t, State{}, moveTo("/a"))
	assert.Equal(t, 1, s.Need(site, noon.Add(23*time.Hour)).Hop, "after 23 h")
	for _, at := range []time.Time{noon.Add(25 * time.Hour), noon.Add(-time.Hour)} {
		need := s.Need(site, at)
		assert.Truef(t, need.Hop == 0 && need.URL == "http://bakery.test/robots.txt", "at %v: %+v", at, need)
		// The next request is for the first hop again, and not a loop.
		if s, need := Next(s, site, moveTo("/a"), at); need.Hop != 1 || s.Failure() != "" {
			t.Errorf("at %v, after a redirect: %+v, %s", at, need, s.Failure())
		}
	}
}

// fresh is a state of RULES with validators, fetched at noon, valid for a day.
func fresh(t *testing.T) State {
	s, need := run(t, State{}, Exchange{Status: 200, Body: rules, Header: fields("Etag", `"v1"`, "Last-Modified", "Sun, 01 Mar 2026 00:00:00 GMT")})
	require.Truef(t, need.Action == Judge && s.Fetched().Equal(noon) && s.Expires().Equal(noon.Add(24*time.Hour)), "%+v, %+v", s, need)
	return s
}

func TestLifetime_3_2_RefreshPast90PercentOfLife(t *testing.T) {
	s := fresh(t)
	ask := Need{URL: "http://bakery.test/robots.txt", IfNoneMatch: `"v1"`, IfModifiedSince: "Sun, 01 Mar 2026 00:00:00 GMT"}
	refresh, fetch := ask, ask
	refresh.Action, fetch.Action = Refresh, Fetch
	for _, c := range []struct {
		after time.Duration
		want  Need
	}{
		{0, Need{Action: Judge}},
		{24*time.Hour*9/10 - 1, Need{Action: Judge}},
		{24 * time.Hour * 9 / 10, refresh},
		{24*time.Hour - time.Microsecond, refresh},
		{24 * time.Hour, fetch},
		{1000 * time.Hour, fetch},
		{-time.Microsecond, fetch}, // fetched in the future: expired
	} {
		assert.Equalf(t, c.want, s.Need(site, noon.Add(c.after)), "%v after the fetch", c.after)
	}
}

func TestRevalidation_3_2_304Renews(t *testing.T) {
	s := fresh(t)
	for name, at := range map[string]time.Time{"refreshed": noon.Add(23 * time.Hour), "expired": noon.Add(50 * time.Hour)} {
		n, need := Next(s, site, Exchange{Status: 304, Header: fields("Etag", `"v2"`)}, at)
		digest, ok := n.Body()
		assert.Truef(t, ok && digest == sha256.Sum256(rules) && need.Action == Judge, "%s: %+v, %+v", name, n, need)
		assert.Truef(t, n.Fetched().Equal(at) && n.Expires().Equal(at.Add(24*time.Hour)), "%s at %v: fetched %v, expires %v", name, at, n.Fetched(), n.Expires())
		if need := n.Need(site, n.Expires()); need.IfNoneMatch != `"v2"` || need.IfModifiedSince == "" {
			t.Errorf("%s, next time: %+v", name, need)
		}
	}
}

func TestRevalidation_3_2_ValidatorsAreShownOnlyWhereTheyCameFrom(t *testing.T) {
	s, _ := run(t, State{}, moveTo("http://other.test/r"), Exchange{Status: 200, Body: rules, Header: fields("Etag", `"v1"`)})
	later := noon.Add(30 * time.Hour)
	need := s.Need(site, later)
	require.Truef(t, need.Action == Fetch && need.Hop == 0 && need.IfNoneMatch == "", "first hop: %+v", need)
	s, need = Next(s, site, moveTo("http://other.test/r"), later)
	require.Truef(t, need.Hop == 1 && need.IfNoneMatch == `"v1"`, "second hop: %+v", need)
	s, need = Next(s, site, Exchange{Status: 304}, later)
	require.Truef(t, need.Action == Judge && s.FinalURL() == "http://other.test/r", "304: %+v, %+v", s, need)
}

func TestRevalidation_3_2_WhatCannotBeKeptWholeIsNotKept(t *testing.T) {
	s, _ := run(t, State{}, Exchange{Status: 200, Body: rules, Header: fields("Etag", `"`+strings.Repeat("x", maxValidator)+`"`, "Last-Modified", "a\r\nb")})
	need := s.Need(site, s.Expires())
	assert.Truef(t, need.IfNoneMatch == "" && need.IfModifiedSince == "", "%+v", need)
}

// "Refresh fails with last-good RULES": a fresh copy is used; past expiry all is denied, and the copy can still be
// confirmed.
func TestLifetime_3_2_OutageWithLastGoodRules(t *testing.T) {
	s := fresh(t)
	at := noon.Add(22 * time.Hour)
	s, need := Next(s, site, Exchange{Status: 500}, at)
	_, ok := s.Body()
	require.Truef(t, ok && need.Action == Judge && s.Failures() == 1, "while fresh: %+v, %+v", s, need)
	assert.Equal(t, Refresh, s.Need(site, s.Retry()).Action, "when a retry is due")
	assert.Equal(t, Fetch, s.Need(site, noon.Add(24*time.Hour)).Action, "past expiry")
	s, need = Next(s, site, Exchange{Failure: "timeout"}, noon.Add(24*time.Hour))
	expect(t, s, need, "DENY")
	assert.Truef(t, s.FirstFailure().Equal(at) && s.Failures() == 2, "the run of failures: %d since %v", s.Failures(), s.FirstFailure())
	need = s.Need(site, s.Retry())
	assert.Truef(t, need.Action == Fetch && need.IfNoneMatch == `"v1"`, "retry: %+v", need)
	s, need = Next(s, site, Exchange{Status: 304}, s.Retry())
	expect(t, s, need, "RULES")
	assert.Truef(t, s.Failures() == 0 && s.FirstFailure().IsZero() && s.Retry().IsZero(), "the run of failures did not end: %+v", s)
}

// When the rules expire before a failed fetch is due again, they no longer judge.
func TestLifetime_3_2_RulesThatExpireDuringBackOff(t *testing.T) {
	s, _ := Next(fresh(t), site, Exchange{Status: 503, Header: fields("Retry-After", "36000")}, noon.Add(23*time.Hour))
	need := s.Need(site, noon.Add(25*time.Hour))
	assert.Truef(t, need.Action == Wait && need.After == 8*time.Hour, "%+v", need)
}

func TestLifetime_3_2_OutageAfterAllowDenies(t *testing.T) {
	s, need := run(t, State{}, Exchange{Status: 404})
	expect(t, s, need, "ALLOW")
	assert.Truef(t, s.Expires().Equal(noon.Add(24*time.Hour)), "expires %v", s.Expires())
	s, need = Next(s, site, Exchange{Status: 500}, noon.Add(22*time.Hour))
	expect(t, s, need, "DENY")
	// A 410 also forgets the earlier rules.
	s, _ = run(t, fresh(t))
	s, _ = Next(s, site, Exchange{Status: 410}, noon.Add(25*time.Hour))
	s, need = Next(s, site, Exchange{Status: 500}, noon.Add(50*time.Hour))
	expect(t, s, need, "DENY")
	need = s.Need(site, s.Retry())
	assert.Truef(t, need.IfNoneMatch == "", "a forgotten validator: %+v", need)
}

func TestLifetime_3_2_30DaysKeepDeny(t *testing.T) {
	s, at, n := State{}, noon, 0
	for ; at.Before(noon.AddDate(0, 0, 40)); n++ {
		var need Need
		s, need = Next(s, site, Exchange{Failure: "connect"}, at)
		expect(t, s, need, "DENY")
		at = at.Add(need.After)
	}
	assert.Truef(t, s.FirstFailure().Equal(noon) && s.Failures() == n, "%d failures since %v, want %d since %v", s.Failures(), s.FirstFailure(), n, noon)
}

func TestLifetime_3_2_RetryAfterOneMinuteDoubledToAnHour(t *testing.T) {
	s, at := State{}, noon
	for _, least := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		var need Need
		s, need = Next(s, site, Exchange{Status: 500}, at)
		least *= time.Minute
		if need.Action != Wait || need.After < least || need.After > least*6/5 || !s.Retry().Equal(at.Add(need.After)) {
			t.Errorf("after %d failures: %+v, want %v to %v", s.Failures(), need, least, least*6/5)
		}
		before := s.Need(site, s.Retry().Add(-time.Microsecond))
		assert.Truef(t, before.Action == Wait, "after %d failures, just before the retry: %+v", s.Failures(), before)
		at = s.Retry()
		due := s.Need(site, at)
		assert.Truef(t, due.Action == Fetch, "after %d failures, at the retry: %+v", s.Failures(), due)
	}
	// Hosts that fail together do not come back together.
	waits := make(map[time.Duration]bool)
	for i := range 100 {
		_, need := Next(State{}, fmt.Sprintf("http://h%d.test", i), Exchange{Status: 500}, noon)
		waits[need.After] = true
	}
	assert.GreaterOrEqualf(t, len(waits), 50, "100 hosts have %d different waits", len(waits))
}

func TestLifetime_3_2_ClockSetBackEndsAWait(t *testing.T) {
	s, _ := run(t, State{}, Exchange{Status: 500})
	assert.Equal(t, Fetch, s.Need(site, noon.Add(-time.Hour)).Action)
	s, _ = Next(s, site, Exchange{Status: 500}, noon.Add(-time.Hour))
	assert.Truef(t, s.FirstFailure().Equal(noon.Add(-time.Hour)), "first failure %v is in the future", s.FirstFailure())
}

func TestLifetime_3_2_RetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"7200": 2 * time.Hour, " 7200 ": 2 * time.Hour, "Sun, 01 Mar 2026 15:00:00 GMT": 3 * time.Hour, "Sunday, 01-Mar-26 15:00:00 GMT": 3 * time.Hour,
		"Sun Mar  1 15:00:00 2026": 3 * time.Hour, "86400": 24 * time.Hour, "86401": 24 * time.Hour, "99999999999999999999": 24 * time.Hour,
		"Mon, 01 Mar 2027 12:00:00 GMT": 24 * time.Hour, "soon": 24 * time.Hour, "-5": 24 * time.Hour,
		"": time.Minute, "0": time.Minute, "5": time.Minute, "Sat, 28 Feb 2026 12:00:00 GMT": time.Minute,
	} {
		for _, status := range []int{503, 429, 408, 500} {
			_, need := run(t, State{}, Exchange{Status: status, Header: fields("Retry-After", value)})
			if most := want + want/5; need.Action != Wait || need.After < want || need.After > most || want > time.Hour && need.After != want {
				t.Errorf("%d, Retry-After %q: %+v, want %v", status, value, need, want)
			}
		}
	}
}

func TestLifetime_3_2_CacheHeaders(t *testing.T) {
	const day = 24 * time.Hour
	date := func(d time.Duration) string { return noon.Add(d).Format("Mon, 02 Jan 2006 15:04:05 GMT") }
	for _, c := range []struct {
		name string
		head map[string][]string
		want time.Duration
	}{
		{"none", nil, day},
		{"max-age", fields("Cache-Control", "public, Max-Age=3600"), time.Hour},
		{"max-age quoted", fields("Cache-Control", `max-age="3600"`), time.Hour},
		{"max-age above a day", fields("Cache-Control", "max-age=604800"), day},
		{"max-age below five minutes", fields("Cache-Control", "max-age=1"), 5 * time.Minute},
		{"max-age zero", fields("Cache-Control", "max-age=0"), 5 * time.Minute},
		{"max-age that overflows", fields("Cache-Control", "max-age=99999999999999999999999"), day},
		{"negative max-age", fields("Cache-Control", "max-age=-1"), 5 * time.Minute},
		{"max-age twice", fields("Cache-Control", "max-age=7200", "Cache-Control", "max-age=3600"), time.Hour},
		{"max-age less Age", fields("Cache-Control", "max-age=7200", "Age", "3600"), time.Hour},
		{"Age beyond max-age", fields("Cache-Control", "max-age=7200", "Age", "9000"), 5 * time.Minute},
		{"invalid Age", fields("Cache-Control", "max-age=7200", "Age", "x"), 2 * time.Hour},
		{"Age without anything else", fields("Age", "3600"), day},
		{"s-maxage is not for us", fields("Cache-Control", "s-maxage=60, max-age=3600"), time.Hour},
		{"s-maxage only", fields("Cache-Control", "s-maxage=60"), day},
		{"no-store", fields("Cache-Control", "no-store, max-age=3600"), 5 * time.Minute},
		{"no-cache", fields("Cache-Control", "no-cache"), 5 * time.Minute},
		{"Expires", fields("Expires", date(time.Hour)), time.Hour},
		{"Expires less Date", fields("Expires", date(time.Hour), "Date", date(-time.Hour)), 2 * time.Hour},
		{"Expires in the past", fields("Expires", date(-time.Hour)), 5 * time.Minute},
		{"Expires that is not a date", fields("Expires", "0"), 5 * time.Minute},
		{"Expires far away", fields("Expires", date(1000*time.Hour)), day},
		{"Expires yields to max-age", fields("Expires", date(time.Hour), "Cache-Control", "max-age=7200"), 2 * time.Hour},
		{"Expires less Age", fields("Expires", date(2*time.Hour), "Age", "3600"), time.Hour},
	} {
		s, _ := run(t, State{}, Exchange{Status: 200, Body: rules, Header: c.head})
		assert.Equal(t, c.want, s.Expires().Sub(noon), c.name)
	}
	// The life of a 404 is a choice of this package.
	s, _ := run(t, State{}, Exchange{Status: 404, Header: fields("Cache-Control", "max-age=60")})
	assert.Equal(t, day, s.Expires().Sub(noon), "404 with max-age")
}

func TestNeedOfEachOrigin(t *testing.T) {
	for origin, want := range map[string]string{
		"http://a.test:80": "http://a.test/robots.txt", "http://a.test": "http://a.test/robots.txt", "http://a.test:443": "http://a.test:443/robots.txt",
		"https://a.test:443": "https://a.test/robots.txt", "https://a.test:80": "https://a.test:80/robots.txt", "http://[::1]:8080": "http://[::1]:8080/robots.txt",
	} {
		got := (State{}).Need(origin, noon)
		assert.Truef(t, got.URL == want && got.Action == Fetch, "%s: %+v", origin, got)
	}
}
