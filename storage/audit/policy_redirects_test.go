package audit

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
)

// RFC 9309 2.3.1.2: what is found at the end of the redirects binds the host whose robots.txt redirected.
func TestWhatARobotsTxtRedirectsToBindsTheHostThatRedirected(t *testing.T) {
	for where, b := range map[string]string{"b.test/rules.txt": "robots-missing", "b.test/robots.txt": "disallowed"} {
		for _, m := range []evidence.Measure{policyForeign, policyOurs} {
			a := newArchive(t, m)
			a.hears(0, "a.test/robots.txt", 301, "http://"+where)
			a.hears(1, where, 200, forbids)
			if got := a.asks(2, "a.test/private"); got != "disallowed" {
				t.Errorf("%s: of the host that redirected: %q", where, got)
			}
			if got := a.asks(2, "a.test/x"); got != "" {
				t.Errorf("%s: %q", where, got)
			}
			if got := a.asks(2, "b.test/private"); got != b {
				t.Errorf("%s: of the host that was redirected to: %q, want %q", where, got, b)
			}
		}
	}
}

// A crawler follows at least five redirects and may stop then. The drafts before RFC 9309 had no such word.
func TestRedirectsAreFollowedAsFarAsTheDocumentSays(t *testing.T) {
	for _, c := range []struct {
		name string
		m    evidence.Measure
		hops int
		kind string
	}{
		{"RFC 9309", policyForeign, 5, "rules"},
		{"RFC 9309", policyForeign, 6, "none"},
		{"RFC 9309, ours", policyOurs, 5, "rules"},
		{"RFC 9309, ours", policyOurs, 6, "none"},
		{"1994", std1994, 5, "rules"},
		{"1994", std1994, 6, "unreachable"},
		{"1996", draft, 10, "rules"},
		{"1996", draft, 11, "unreachable"},
	} {
		a := newArchive(t, c.m)
		at := "a.test/robots.txt"
		for i := range c.hops {
			to := fmt.Sprintf("a.test/%d", i)
			a.hears(time.Duration(i), at, 302, "http://"+to)
			at = to
		}
		a.hears(time.Minute, at, 200, forbids)
		if got := a.host("http://a.test").Kind(); got != c.kind {
			t.Errorf("%s: after %d redirects %s, want %s", c.name, c.hops, got, c.kind)
		}
	}
}

func TestARedirectThatLeadsNowhere(t *testing.T) {
	for _, to := range []string{"", "http://a.test/robots.txt", "mailto:a@a.test"} {
		for kind, m := range map[string]evidence.Measure{"none": policyForeign, "unreachable": policyOurs} {
			a := newArchive(t, m)
			if got := a.hears(0, "a.test/robots.txt", 301, to).Kind(); got != kind {
				t.Errorf("%q: %s, want %s", to, got, kind)
			}
		}
	}
}

// A redirect says where one exchange goes: another with the same URL is a page, and bound by the rules.
func TestARedirectIsFollowedOnce(t *testing.T) {
	for _, m := range []evidence.Measure{policyForeign, policyOurs} {
		a := newArchive(t, m)
		a.hears(0, "a.test/robots.txt", 301, "/private")
		if got := a.asks(1, "a.test/private"); got != "" { // an empty text
			t.Fatalf("%q", got)
		}
		if a.hears(2, "a.test/robots.txt", 200, forbids); a.asks(3, "a.test/private") != "disallowed" {
			t.Error("asked for again, it is no page")
		}
	}
}

// A crawl of ours that was killed goes on in another file, and may have to follow a redirect again. What it asks for
// as a link, it says so.
func TestARedirectMayBeFollowedAgainInAnotherFileOfOurs(t *testing.T) {
	a := newArchive(t, policyOurs)
	a.hears(0, "a.test/robots.txt", 301, "/rules")
	a.hears(1, "a.test/rules", 200, forbids)
	x := a.got(2, "a.test/rules", 200, forbids)
	if a.j.IsRobots(&x.Exchange) {
		t.Error("it was followed in this file")
	}
	x.Exchange.File = "2.warc.gz"
	if !a.j.IsRobots(&x.Exchange) {
		t.Error("it was not followed in that file")
	}
	x.Exchange.Line = &storage.Line{Decision: storage.DecisionAllow}
	if a.j.IsRobots(&x.Exchange) {
		t.Error("its line says that it was a page")
	}
}

// One redirect does not take away another's answer: hosts that lead to one URL are bound by what stands there.
func TestHostsThatRedirectToOneURLAreAllBound(t *testing.T) {
	a := newArchive(t, policyOurs)
	for _, host := range []string{"a.test", "b.test"} {
		a.hears(0, host+"/robots.txt", 301, "http://c.test/rules")
	}
	a.hears(1, "c.test/rules", 200, forbids)
	for _, host := range []string{"a.test", "b.test"} {
		if got := a.asks(2, host+"/private"); got != "disallowed" {
			t.Errorf("%s: %q", host, got)
		}
	}
	if x := a.got(3, "c.test/rules", 200, forbids); !a.j.IsRobots(&x.Exchange) {
		t.Error("the second of them may ask for it, too")
	}
}

// Whoever has a host may redirect its robots.txt to any page of others. That a crawler follows is no violation, and
// what the rules there forbid is named.
// What is read for another host is no policy of its own host, whose own one may go on to hold: so the crawl says. It has to
// say for whom it asked, and that one's redirect must lead there; and its own host may not be asked for robots.txt since. An
// exchange that it says was for its own host, or for another one, follows no redirect of a third.
func TestARobotsTxtThatWasReadForAnotherHostIsNoPolicyOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		via  string
		more bool // the host is asked for itself, too
		want string
	}{
		"for another host":                        {via: "http://a.test/robots.txt"},
		"for its own host":                        {want: "verdict"},
		"for a host that does not redirect there": {via: "http://c.test/robots.txt", want: "verdict"},
		"for another host, and then for its own":  {via: "http://a.test/robots.txt", more: true, want: "verdict"},
	} {
		const old, fresh = "User-agent: *\nDisallow: /old\n", "User-agent: *\nDisallow: /new\n"
		a := newArchive(t, policyOurs)
		first := a.got(0, "b.test/robots.txt", 200, old)
		first.Exchange.Record = "urn:first"
		a.judge(first)
		a.hears(time.Second, "a.test/robots.txt", 302, "http://b.test/robots.txt")
		x := a.got(2*time.Second, "b.test/robots.txt", 200, fresh)
		x.Exchange.Line = &storage.Line{Decision: storage.DecisionRobots, Via: c.via}
		a.judge(x)
		if c.more {
			a.hears(3*time.Second, "b.test/robots.txt", 200, fresh)
		}
		for range 2 {
			page := a.got(4*time.Second, "b.test/new", 200, "")
			page.Exchange.Line = &storage.Line{Decision: storage.DecisionAllow, RobotsRecord: "urn:first",
				RobotsSHA256: hex.EncodeToString(first.Text.SHA256[:])}
			a.host("http://b.test").Told(page.Exchange.Line)
			got := policyCodes(a.judge(page))
			if want := strings.TrimSpace("disallowed " + c.want); got != want && (c.want != "" || got != "") {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
		kind, hearsay := a.host("http://a.test").Kind(), a.host("http://b.test").Hearsay()
		if (kind == "rules") != (c.via == "http://a.test/robots.txt") || hearsay != (c.want == "") {
			t.Errorf("%s: %s, hearsay %v", name, kind, hearsay)
		}
	}
}

// A robots.txt that was asked for on the way of another host's redirects, and leads on to a third host, says nothing to its
// own: RFC 9309 2.3.1.2 binds the host that was asked first. The crawl says for which one it asks.
func TestARobotsTxtOnTheWayToAnotherHostBindsItsOwnHostOnlyIfItWasAskedForIt(t *testing.T) {
	for _, c := range []struct{ b, c, first, second string }{ // for whom they were asked, and what the hosts have then
		{"http://a.test/robots.txt", "http://a.test/robots.txt", "rules", "not requested"},
		{"", "http://b.test/robots.txt", "not requested", "rules"},
		{"http://d.test/robots.txt", "http://d.test/robots.txt", "not requested", "not requested"},
	} {
		a := newArchive(t, policyOurs)
		a.hears(0, "a.test/robots.txt", 302, "http://b.test/robots.txt")
		for i, to := range []string{"b.test", "c.test"} {
			x := a.got(time.Duration(i+1)*time.Second, to+"/robots.txt", 302, "http://c.test/robots.txt")
			if to == "c.test" {
				x = a.got(2*time.Second, "c.test/robots.txt", 200, "User-agent: *\nCrawl-delay: 9\n")
			}
			x.Exchange.Line = &storage.Line{Decision: storage.DecisionRobots, Via: []string{c.b, c.c}[i]}
			a.judge(x)
		}
		if first, b := a.host("http://a.test").Kind(), a.host("http://b.test").Kind(); first != c.first || b != c.second {
			t.Errorf("for %q and %q: the first host has %s, the second %s", c.b, c.c, first, b)
		}
	}
}

func TestRobots_LinkedWhileARedirectWaits(t *testing.T) {
	a := newArchive(t, policyOurs)
	a.hears(0, "a.test/robots.txt", 302, "http://b.test/robots.txt")
	linked := a.got(time.Second, "b.test/robots.txt", 200, forbids)
	linked.Exchange.Line = &storage.Line{Decision: storage.DecisionRobots, Kind: storage.KindLink}
	a.judge(linked)
	if first, b := a.host("http://a.test").Kind(), a.host("http://b.test").Kind(); first != "not requested" || b != "rules" {
		t.Errorf("a link to it: the host that redirects has %s, its own %s", first, b)
	}
	followed := a.got(2*time.Second, "b.test/robots.txt", 200, forbids)
	followed.Exchange.Line = &storage.Line{Decision: storage.DecisionRobots, Via: "http://a.test/robots.txt"}
	a.judge(followed)
	if first := a.host("http://a.test").Kind(); first != "rules" {
		t.Errorf("its redirect followed: the host has %s", first)
	}
}

func TestARedirectToAForbiddenPageOfAnotherHostIsNamed(t *testing.T) {
	for want, m := range map[string]evidence.Measure{"note disallowed": policyForeign, "disallowed?": policyOurs} {
		a := newArchive(t, m)
		a.hears(0, "b.test/robots.txt", 200, forbids)
		a.hears(1, "a.test/robots.txt", 301, "http://b.test/private")
		if got := a.asks(2, "b.test/private"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
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
	if len(urls) != maxWaiting || len(hosts["http://c.test/"]) != 1000 {
		t.Errorf("%d URLs, %d hosts", len(urls), len(hosts["http://c.test/"]))
	}
	if w := one["http://c.test/"]; len(w) != 1 || w[0].n != 9 {
		t.Errorf("of one host wait %+v, want the last", w)
	}
}
