package evidence

import (
	"testing"

	"curtsy/frontier/canon"
)

// oddTargets are targets that servers have and that net/url cannot read, or spells anew.
var oddTargets = []string{
	"/100%", "/100%.html", "/x%zz", "/%u0041", "/50%off.html", "/operator%.html", "/%", "/%2", "/a%%41", "/?q=%", "/?%zz=%u2212",
	"//x", "/a//b", "/[x]", "/{x}", "/a|b", "/a'b", "/;p=1", "/a^b", "/a%2fb%22", "/%C3", "/%00", "/?", "/a?b?c", "/~x", "/%7Ex",
}

// What Parse says of a canonical URL is what the crawl says of it, and all spellings of one have one key.
func FuzzParse(f *testing.F) {
	for _, target := range oddTargets {
		f.Add("https://bakery.test/base", target)
		f.Add("https://bakery.test"+target, "http://user:pw@Example.TEST.:8080"+target)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		p, err := ParseURL(base)
		if err == nil && (p.Authority == "" || p.Target == "" || p.Target[0] != '/' && p.Target[0] != '\\' || !IsHTTP(p.Authority)) {
			t.Fatalf("%q is %+v", base, p)
		}
		u, err := canon.Parse(base)
		if err != nil {
			return
		}
		if p, err = ParseURL(u.String()); err != nil || p.Target != u.RequestURI() || p.Key != u.Key() || p.Authority+u.RequestURI() != u.String() {
			t.Fatalf("%s is %+v, %v", u, p, err)
		}
		to, err := u.Resolve(ref)
		q, err2 := Resolve(u.String(), ref)
		if (err == nil) != (err2 == nil) || err == nil && (q.Key != to.Key() || q.Authority+q.Target != to.String()) {
			t.Fatalf("%q from %s is %s (%v), and %+v (%v)", ref, u, to, err, q, err2)
		}
		if q := asked(p.Authority, p.Target); q != p {
			t.Fatalf("asked for %+v, not %+v", q, p)
		}
	})
}
