package main

import "testing"

// A scheme and a path mean one URL, however it is spelled; everything else is what an opt-out list takes it for, which
// the list then has, too.
func TestAnArgumentMeansAURLAPartAHostOrADomain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arg, kind, entry string
		under, apart     []string
	}{
		{"https://a.test/x", kindURL, "https://a.test/x$",
			[]string{"https://a.test/x", "https://A.TEST:443/x#part", "https://a.test/%78"},
			[]string{"http://a.test/x", "https://a.test/xy", "https://a.test/x/", "https://b.test/x", "https://a.test:8443/x"}},
		{"https://a.test/", kindURL, "https://a.test/$", []string{"https://a.test/", "https://a.test"}, []string{"https://a.test/x", "http://a.test/"}},
		{"http://a.test/x?b=2*", "", "", nil, nil},
		{"http://a.test/*b", kindURL, "http://a.test/*b$", []string{"http://a.test/*b"}, []string{"http://a.test/ab"}},
		{"a.test/x", kindPart, "a.test/x", []string{"http://a.test/x", "https://a.test:8443/xy?z"}, []string{"http://a.test/", "http://b.test/x"}},
		{"a.test/x$", kindURL, "a.test/x$", []string{"http://a.test/x", "https://a.test/x"}, []string{"http://a.test/xy"}},
		{"a.test", kindHost, "a.test", []string{"http://a.test/", "https://a.test:8443/x"}, []string{"http://www.a.test/", "no URL", ""}},
		{"a.test/", kindHost, "a.test/", []string{"http://a.test/", "http://a.test/x"}, []string{"http://b.test/"}},
		{"a.test:8443", kindHost, "a.test:8443", []string{"https://a.test:8443/x"}, []string{"https://a.test/"}},
		{"https://a.test", kindHost, "https://a.test", []string{"https://a.test/x"}, []string{"http://a.test/x"}},
		{".a.test", kindDomain, ".a.test", []string{"http://a.test/", "http://b.a.test/x"}, []string{"http://xa.test/"}},
		{"192.0.2.7", kindHost, "192.0.2.7", []string{"http://192.0.2.7/x"}, []string{"http://192.0.2.8/"}},
	} {
		s, err := parseSubject(c.arg)
		if c.kind == "" {
			if err == nil {
				t.Errorf("%s is taken for %s", c.arg, s.means())
			}
			continue
		}
		if err != nil || s.kind != c.kind || s.entry != c.entry || s.Host != (c.kind == kindHost || c.kind == kindDomain) {
			t.Errorf("%s: %+v, %v", c.arg, s, err)
			continue
		}
		list, err := entrySubject(s.entry)
		if err != nil {
			t.Errorf("%s: its entry %s: %v", c.arg, s.entry, err)
			continue
		}
		for _, u := range c.under {
			if !s.Covers(u) || !list.Covers(u) {
				t.Errorf("%s does not cover %s: %v, by the list %v", c.arg, u, s.Covers(u), list.Covers(u))
			}
		}
		for _, u := range c.apart {
			if s.Covers(u) || list.Covers(u) {
				t.Errorf("%s covers %s: %v, by the list %v", c.arg, u, s.Covers(u), list.Covers(u))
			}
		}
	}
}
