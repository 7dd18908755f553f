package audit

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage/audit/evidence"
)

// politeness rule 4
func TestFieldsOfFreshnessShortenTheDay(t *testing.T) {
	promised := evidence.Measure{Info: &evidence.Info{Ours: true}}
	at := func(d time.Duration) string { return day0.Add(d).Format("Mon, 02 Jan 2006 15:04:05 GMT") }
	for _, c := range []struct {
		control            []string
		age, date, expires string
		want               time.Duration
	}{
		{nil, "", "", "", day},
		{[]string{"public"}, "", "", "", day},
		{[]string{"max-age=3600"}, "", "", "", time.Hour},
		{[]string{"max-age=3600"}, "600", "", "", 50 * time.Minute},
		{[]string{"max-age=3600"}, "999999", "", "", minLife},
		{[]string{`PUBLIC, Max-Age="3600"`}, "", "", "", time.Hour},
		{[]string{"max-age=7200", "x, max-age=3600", "max-age=9000"}, "", "", "", time.Hour},
		{[]string{"max-age=0"}, "", "", "", minLife},
		{[]string{"max-age=3600, no-store"}, "", "", "", minLife},
		{[]string{"no-cache"}, "", "", at(time.Hour), minLife},
		{[]string{"max-age=31536000"}, "", "", "", day},
		{nil, "", at(0), at(2 * time.Hour), 2 * time.Hour},
		{nil, "", at(-time.Hour), at(time.Hour), 2 * time.Hour}, // by the server's own clock
		{nil, "", "", at(2 * time.Hour), 2 * time.Hour},
		{nil, "", "", "0", minLife}, // RFC 9111 5.3: an invalid date is past
		{[]string{"max-age=3600"}, "", at(0), at(9 * time.Hour), time.Hour},
	} {
		x := &evidence.Exchange{}
		x.Answer.CacheControl, x.Answer.Age.Value = c.control, c.age
		x.Answer.Date.Value, x.Answer.Expires.Value = c.date, c.expires
		j := judge{m: promised}
		assert.Equal(t, c.want, j.life(x, day0), c)
		j.m = evidence.Measure{}
		assert.Equalf(t, day, j.life(x, day0), "%+v: RFC 9309 does not require it of others", c)
	}
}

func TestPolicy_FailureAfterStepEndsText(t *testing.T) {
	j := judge{m: evidence.Measure{Info: &evidence.Info{Ours: true}}}
	for at, want := range map[time.Duration]policyKind{time.Hour + time.Minute: unreachable, 2*time.Hour + time.Minute: ruled} {
		host := policyHost{policy: policy{kind: ruled, since: day0.Add(2 * time.Hour), expires: day0.Add(26 * time.Hour)}}
		host.SetBack(day0.Add(time.Hour))
		j.fail(&host, day0.Add(at), "")
		assert.Equalf(t, want, host.policy.kind, "503 after %v", at)
	}
}

func TestPolicy_NextFileMayRepeatRedirect(t *testing.T) {
	const text = "User-agent: *\nDisallow: /rules\n"
	for _, c := range []struct {
		another bool // file
		meta    string
		codes   string
	}{
		{false, "", "disallowed"},
		{true, "", ""},
		{true, "decision: allow\r\nrobotsSha256: " + sha(text) + "\r\n", "disallowed verdict"},
	} {
		a := ours(t)
		a.add(fetch{url: site + "/robots.txt", status: 301, head: "Location: /rules\r\n"})
		a.add(fetch{url: site + "/rules", at: 2 * s, body: text})
		var o Options
		if c.another {
			o.Files, a = []string{a.file()}, a.after()
		}
		a.add(fetch{url: site + "/rules", at: 60 * s, body: text, meta: c.meta})
		expect(t, c.codes, a.audit(o), c.another, c.meta)
	}
}

func TestRedirectsThatWaitAreBounded(t *testing.T) {
	urls, hosts, one := redirects{}, redirects{}, redirects{}
	for i := range maxWaiting + 10 {
		urls.add(fmt.Sprint(i), hop{origin: "http://a.test"})
	}
	for i := range 2000 {
		hosts.add("http://c.test/", hop{origin: fmt.Sprint(i)})
	}
	for i := range 10 {
		one.add("http://c.test/", hop{origin: "http://a.test", n: i})
	}
	assert.Truef(t, len(urls) == maxWaiting && len(hosts["http://c.test/"]) == 1000, "%d URLs, %d hosts", len(urls), len(hosts["http://c.test/"]))
	w := one["http://c.test/"]
	assert.Truef(t, len(w) == 1 && w[0].n == 9, "of one host wait %+v, want the last", w)
}

func TestPolicy_KillForgetsLatestOnly(t *testing.T) {
	for heard := 1; heard <= evidence.AtKill+4; heard++ {
		host := policyHost{policy: policy{kind: ruled, used: true}}
		for range heard {
			host.Heard(false)
		}
		host.Killed()
		if host.forgot != (heard <= evidence.AtKill) || host.policy.used != (heard > evidence.AtKill+1) {
			t.Errorf("after %d exchanges: forgotten %v, used %v", heard, host.forgot, host.policy.used)
		}
		host.Heard(true)
		assert.Equalf(t, heard <= evidence.AtKill, host.forgot, "after %d exchanges: a request for robots.txt does not use forgotten rules", heard)
		host.Heard(false)
		assert.Falsef(t, host.forgot, "after %d exchanges: a page was requested since", heard)
	}
}

func TestAClockThatIsSetBackKeepsTheLifeOfRobotsTxt(t *testing.T) {
	for to, shift := range map[time.Duration]time.Duration{-time.Hour: -time.Hour, time.Hour: 0} {
		host := policyHost{policy: policy{kind: ruled, since: day0, expires: day0.Add(day)}}
		host.SetBack(day0.Add(to))
		p := host.policy
		assert.Truef(t, p.since.Equal(day0.Add(shift)) && p.expires.Sub(p.since) == day, "set to %v: since %v, until %v", to, p.since, p.expires)
	}
	assert.True(t, (&policyHost{}).Kind() == "not requested" && (&policyHost{}).policy.kind == unasked, "the zero Host has a request")
}

func (a *archive) redirected(host string, at time.Duration, to string) {
	a.add(fetch{url: host + "/robots.txt", at: at, status: 302, head: "Location: " + to + "\r\n", meta: "none"})
}

// RFC 9309 2.3.1.2 allows a crawler to follow the redirect; each forbidden target is named.
func TestARedirectOfRobotsToAForbiddenPageIsNamed(t *testing.T) {
	for name, one := range map[string]struct {
		path string
		want string
	}{
		"forbidden": {"/private/", "disallowed"}, "forbidden, with dots": {"/a/../private/", "disallowed"}, "allowed": {"/open/", ""},
		"a robots.txt": {"/robots.txt?for=", ""},
	} {
		for _, accomplices := range []int{1, 5} {
			a := foreign(t)
			a.add(fetch{url: site + "/robots.txt", body: rule, meta: "none"})
			for n := range 5 {
				at, page := time.Duration(10*n+10)*s, site+one.path+strconv.Itoa(n)
				a.redirected("http://helper"+strconv.Itoa(n%accomplices)+".test", at, page)
				a.add(fetch{url: page, at: at + 3*s, meta: "none"})
			}
			for _, strict := range []bool{false, true} {
				r := a.audit(Options{Strict: strict})
				named := r.Totals.Notes == 5 && len(r.Findings) == 5
				if !r.Clean || codes(r) != one.want || named != (one.want != "") {
					t.Errorf("%s, %d hosts, strict %t: %q%s", name, accomplices, strict, codes(r), shown(r))
				}
			}
			a.add(fetch{url: site + one.path + "0", at: 60 * s, meta: "none"})
			r := a.audit(Options{})
			assert.Equalf(t, one.want == "", r.Clean, "%s, %d hosts, and once more: %q%s", name, accomplices, codes(r), shown(r))
		}
	}
}
