package audit

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// redirected adds the answer of a robots.txt that redirects.
func (a *archive) redirected(host string, at time.Duration, to string) {
	a.add(fetch{url: host + "/robots.txt", at: at, status: 302, head: "Location: " + to + "\r\n", meta: "none"})
}

// A redirect of another host's robots.txt may be followed (RFC 9309 2.3.1.2), by our rules as well. What its own host's rules
// forbid is named each time; asked for once more, it is a page.
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
			if r := a.audit(Options{}); r.Clean != (one.want == "") {
				t.Errorf("%s, %d hosts, and once more: %q%s", name, accomplices, codes(r), shown(r))
			}
		}
	}
}

// What the host itself redirects to, and what no rule at hand speaks of, accuses nobody; what cannot be known is named.
func TestAnHonestRedirectOfRobotsIsFollowed(t *testing.T) {
	own := foreign(t)
	own.add(fetch{url: site + "/robots.txt", body: rule, meta: "none"})
	own.redirected(site, 2*s, site+"/private/robots")
	own.add(fetch{url: site + "/private/robots", at: 4 * s, body: rule, meta: "none"})

	old := foreign(t)
	old.add(fetch{url: site + "/robots.txt", body: rule, meta: "none"})
	old.redirected("http://helper.test", 25*time.Hour, site+"/private/robots")
	old.add(fetch{url: site + "/private/robots", at: 25*time.Hour + 2*s, body: rule, meta: "none"})

	unknown := foreign(t)
	unknown.redirected("http://helper.test", 0, site+"/robots/all")
	unknown.add(fetch{url: site + "/robots/all", at: 2 * s, body: rule, meta: "none"})

	mine := ours(t)
	mine.robots(rule)
	mine.add(fetch{url: "http://helper.test/robots.txt", at: 2 * s, status: 302, head: "Location: " + site + "/private/robots\r\n"})
	mine.add(fetch{url: site + "/private/robots", at: 4 * s, body: rule})
	for name, a := range map[string]*archive{"its own": own, "rules that no longer hold": old, "no rules": unknown, "a crawl of ours": mine} {
		if r := a.audit(Options{}); !r.Clean || r.Totals.Unprovable == 0 || !strings.Contains(shown(r), "a robots.txt redirects here") {
			t.Errorf("%s: %q%s", name, codes(r), shown(r))
		}
	}
}

// Nothing but "/robots.txt" to the octet is asked to learn rules: another spelling is a page under the rules at hand.
func TestAnotherSpellingOfRobotsTxtReplacesNoRules(t *testing.T) {
	for _, target := range []string{"/robots.txt?", "/robots.txt?a=b", "/x/../robots.txt", "/./robots.txt", "/robots%2etxt", "/%72obots.txt", "//robots.txt", "/robots.txt/"} {
		for _, make := range []func(testing.TB, ...string) *archive{ours, func(t testing.TB, _ ...string) *archive { return foreign(t) }} {
			for _, status := range []int{200, 404} {
				a := make(t)
				a.robots(rule)
				a.add(fetch{url: site + target, request: target, at: 2 * s, status: status})
				a.add(fetch{url: site + "/private/x", at: 4 * s})
				if r := a.audit(Options{}); codes(r) != "disallowed" || len(r.Findings) != 1 || r.Findings[0].URL != site+"/private/x" || r.Totals.Robots != 1 {
					t.Errorf("%s, %d: %q %+v%s", target, status, codes(r), r.Totals, shown(r))
				}
			}
		}
	}
}
