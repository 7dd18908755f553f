package audit

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/audit/evidence"
)

// oddTargets are targets that servers have and that net/url cannot read, or spells anew.
var oddTargets = []string{
	"/100%", "/100%.html", "/x%zz", "/%u0041", "/50%off.html", "/operator%.html", "/%", "/%2", "/a%%41", "/?q=%", "/?%zz=%u2212",
	"//x", "/a//b", "/[x]", "/{x}", "/a|b", "/a'b", "/;p=1", "/a^b", "/a%2fb%22", "/%C3", "/%00", "/?", "/a?b?c", "/~x", "/%7Ex",
}

// Whatever a canonical URL looks like, who asks for it and writes it down is innocent, and its robots.txt may redirect there.
func TestAnyURLThatIsAskedForCanBeAudited(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	n := 0
	for i, target := range append(oddTargets, randomTargets(200)...) {
		u, err := canon.Parse(site + target)
		if err != nil {
			continue
		}
		n++
		at := time.Duration(1+i) * time.Minute
		a.add(fetch{url: u.String(), at: at, request: u.RequestURI(), meta: "decision: allow\r\nrobotsSha256: " + sha(rule) + "\r\n"})
	}
	if r := a.audit(Options{}); !r.Clean || r.Totals.Judged != int64(n) || r.Totals.Other != 0 || n < 100 {
		t.Errorf("%d URLs: %+v%s", n, r.Totals, shown(r))
	}
	for _, target := range oddTargets {
		a := ours(t)
		a.add(fetch{url: site + "/robots.txt", status: 301, head: "Location: " + site + target + "\r\n"})
		u, err := canon.Parse(site + target)
		require.NoError(t, err)
		a.add(fetch{url: u.String(), at: 2 * s, body: rule})
		a.add(fetch{url: site + "/a", at: 4 * s, meta: "decision: allow\r\nrobotsSha256: " + sha(rule) + "\r\n"})
		a.add(fetch{url: site + "/private/x", at: 6 * s})
		if r := a.audit(Options{}); codes(r) != "disallowed" || r.Hosts[0].Policy != "rules" {
			t.Errorf("robots.txt at %s: %q%s", target, codes(r), shown(r))
		}
	}
}

// randomTargets are targets of octets that pages and Location fields hold.
func randomTargets(n int) []string {
	r := rand.New(rand.NewPCG(1, 3))
	const octets = "%%%%ab09zZ/.;=&?~'|^`{}[]()<>\"\\ \x80\xc3\xa9\x01:@!$*+,-_"
	all := make([]string, n)
	for i := range all {
		b := []byte("/")
		for range r.IntN(20) {
			b = append(b, octets[r.IntN(len(octets))])
		}
		all[i] = string(b)
	}
	return all
}

// No record of an exchange over HTTP is left out in silence: what cannot be read is named, in archives of others too.
func TestAnUnreadableURLIsNamed(t *testing.T) {
	for _, uri := range []string{"https://", "http:x%zz", "HTTP://?", "http://" + strings.Repeat("x", 300) + "/", site + "/" + strings.Repeat("x", evidence.MaxLength)} {
		for _, make := range []func(testing.TB) *archive{func(t testing.TB) *archive { return ours(t) }, foreign} {
			a := make(t)
			a.robots("")
			a.record("response", uri, day0.Add(2*s), "Content-Type: application/http; msgtype=response", "HTTP/1.1 200 OK\r\n\r\n")
			if r := a.audit(Options{}); codes(r) != "record" || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Observed, ": ") {
				t.Errorf("%.40s: %q%s", uri, codes(r), shown(r))
			}
		}
	}
}

// A host that no standard has is a host all the same: what was asked for there is judged.
func TestAHostThatNoStandardHasIsJudged(t *testing.T) {
	for _, host := range []string{"http://a..b.test", "http://a b.test", "http://[x]:99", "https://x.test:99999", "http://" + strings.Repeat("l", 64) + ".test"} {
		a := foreign(t)
		a.foreigner(host+"/robots.txt", 0, rule, true, true)
		a.foreigner(host+"/private/x", 2*s, "page", true, true)
		if r := a.audit(Options{}); codes(r) != "disallowed" || len(r.Hosts) != 1 {
			t.Errorf("%s: %q%s", host, codes(r), shown(r))
		}
	}
}
