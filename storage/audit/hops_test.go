package audit

import (
	"fmt"
	"testing"
	"time"
)

// led adds robots.txt of a host, which leads through so many redirects to other paths of the site before they come to an end
// with rules. It returns when the last answer ended.
func (a *archive) led(host string, hops int, rules string) time.Duration {
	at, url := time.Duration(0), host+"/robots.txt"
	for n := range hops {
		next := fmt.Sprintf("%s/rules/%d", site, n)
		a.add(fetch{url: url, at: at, status: 301, head: "Location: " + next + "\r\n"})
		url, at = next, at+2*s
	}
	a.add(fetch{url: url, at: at, body: rules})
	return at + 2*s
}

// As many redirects of a robots.txt are followed as the document says that the archive declares: five by RFC 9309 2.3.1.2
// and by the one of 1994, which is silent; ten by the one of 1996, whose 3.1 has no bound. One more is a page.
func TestRedirectsOfRobotsAreFollowedAsTheStandardSays(t *testing.T) {
	for standard, most := range map[string]int{"rfc9309": 5, "std1994": 5, "draft1996": 10} {
		for hops := 1; hops <= 12; hops++ {
			a, want := ours(t, "robots: "+standard), ""
			if hops > most {
				want = "robots-missing"
			}
			a.led("http://helper.test", hops, rule)
			if r := a.audit(Options{}); codes(r) != want || len(r.Findings) != max(hops-most, 0) {
				t.Errorf("%s, %d redirects: %q, want %q%s", standard, hops, codes(r), want, shown(r))
			}
		}
	}
}

// After one too many, robots.txt counts as unavailable by RFC 9309 2.3.1.2, so that everything may be asked for; no older
// document says so, and by those nothing may.
func TestARedirectOfRobotsTooManyAllowsWhatTheStandardSays(t *testing.T) {
	for standard, c := range map[string]struct {
		most int
		want string
	}{"rfc9309": {5, ""}, "std1994": {5, "robots-unreachable"}, "draft1996": {10, "robots-unreachable"}} {
		for _, hops := range []int{c.most, c.most + 1} {
			a, want := ours(t, "robots: "+standard), ""
			if hops > c.most {
				want = c.want
			}
			at, url := time.Duration(0), "http://helper.test/robots.txt"
			for n := range min(hops, c.most) + 1 {
				next := fmt.Sprintf("http://helper.test/rules/%d", n)
				f := fetch{url: url, at: at, status: 301, head: "Location: " + next + "\r\n"}
				if n == hops {
					f.status, f.head = 200, ""
				}
				a.add(f)
				url, at = next, at+2*s
			}
			a.add(fetch{url: "http://helper.test/page", at: at})
			if r := a.audit(Options{}); codes(r) != want {
				t.Errorf("%s, %d redirects: %q, want %q%s", standard, hops, codes(r), want, shown(r))
			}
		}
	}
}
