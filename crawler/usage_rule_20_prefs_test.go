package crawler

import (
	"net/http"
	"strings"
	"testing"

	"curtsy/robots"
)

// With a token of its own a crawl is bound by two groups; what both have stands there once.
func TestRule20_OfAllGroupsThatBind(t *testing.T) {
	book := robots.Terms{}.Parse([]byte("User-agent: mybot\nContent-Signal: a=1\nContent-Usage: x\n\nUser-agent: curtsy\nContent-Signal: a=1\nContent-Signal: b=2\n"), "mybot", "curtsy")
	if got, want := usagePrefs(book, nil), "robots content-usage: x\nrobots content-signal: a=1\nrobots content-signal: b=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := usagePrefs(nil, nil); got != "" {
		t.Errorf("%q", got)
	}
}

func TestRule20_LinksToALicense(t *testing.T) {
	for value, want := range map[string]string{
		`<l>; rel=license`:                      `<l>; rel=license`,
		`<l>;REL="LICENSE"`:                     `<l>;REL="LICENSE"`,
		`<l>; rel = "a license b"`:              `<l>; rel = "a license b"`,
		`<a>; rel=next, <l>; rel=license`:       `<l>; rel=license`,
		`<l>; title="; rel=next"; rel=license`:  `<l>; title="; rel=next"; rel=license`,
		`<l>; title="\"; rel=x"; rel=license`:   `<l>; title="\"; rel=x"; rel=license`,
		`<l>; rel=next; rel=license`:            "", // RFC 8288 3.3: the first one counts
		`<l>; title="rel=license"`:              "",
		`<l?rel=license>; rel=next`:             "",
		`<l>; rel=licensed`:                     "",
		`l; rel=license`:                        "",
		`<l; rel=license`:                       "",
		`<l>`:                                   "",
		``:                                      "",
		`<l>; rel="license`:                     `<l>; rel="license`,
		`<a,b>; rel=license, <c>; rel=license,`: "<a,b>; rel=license\n<c>; rel=license",
	} {
		got := strings.ReplaceAll(usagePrefs(nil, http.Header{"Link": {value}}), "header link: ", "")
		if got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func TestRule20_WhatIsKeptIsBoundedAndTheRestIsCounted(t *testing.T) {
	h := http.Header{"Content-Usage": {strings.Repeat("é", 1000), "a\nb"}}
	for i := range 50 {
		h.Add("Tdm-Policy", "https://a.test/"+strings.Repeat("x", i))
	}
	said := strings.Split(usagePrefs(nil, h), "\n")
	if len(said) != maxPrefs+1 || said[maxPrefs] != "more: 36" || said[1] != "header content-usage: a b" {
		t.Errorf("%q", said)
	}
	if v := strings.TrimPrefix(said[0], "header content-usage: "); len(v) > maxPrefText || !strings.HasSuffix(v, "é…") {
		t.Errorf("%d octets: %q", len(v), v)
	}
}
