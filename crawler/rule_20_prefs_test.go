package crawler

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/robots"
)

// What robots.txt and the answer say about use stands in the page's line and record, as it was written; nothing is made
// of it.
func TestRule20_PreferencesAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/": {Links: []string{"/b", "/no"}, Header: map[string]string{
				"Content-Usage": "train-ai=n, search=Y;a", "TDM-Reservation": "1", "TDM-Policy": "https://a.test/policy.json",
				"Link": `</style.css>; rel=preload, <https://a.test/l?a,b>; title="x, y"; rel="next License", </rsl>; rel=licence`,
			}},
			"/b": {},
		}}
		site.Robots.Body = "License: https://a.test/license.xml\nUser-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /b train-ai=y\n" +
			"Content-Signal: search=yes,ai-train=no\nDisallow: /no\n\nUser-agent: otherbot\nContent-Signal: search=no\n"
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.run()
		common := "robots content-usage: train-ai=n\nrobots content-usage: /b train-ai=y\nrobots content-signal: search=yes,ai-train=no\n" +
			"robots license: https://a.test/license.xml"
		own := "\nheader content-usage: train-ai=n, search=Y;a\nheader tdm-reservation: 1\nheader tdm-policy: https://a.test/policy.json\n" +
			`header link: <https://a.test/l?a,b>; title="x, y"; rel="next License"`
		for url, want := range map[string]string{"http://a.test/": common + own, "http://a.test/b": common, "http://a.test/no": ""} {
			if got := w.lineOf(url).Prefs; got != want {
				t.Errorf("%s:\n got %s\nwant %s", url, got, want)
			}
		}
		w.judged(crawltest.Rules{Pace: Floor})
	})
}

// With a token of its own a crawl is bound by two groups; what both have stands there once.
func TestRule20_OfAllGroupsThatBind(t *testing.T) {
	book := robots.Terms{}.Parse([]byte("User-agent: mybot\nContent-Signal: a=1\nContent-Usage: x\n\nUser-agent: curtsy\nContent-Signal: a=1\nContent-Signal: b=2\n"), "mybot", "curtsy")
	if got, want := prefsOf(book, nil), "robots content-usage: x\nrobots content-signal: a=1\nrobots content-signal: b=2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := prefsOf(nil, nil); got != "" {
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
		got := strings.ReplaceAll(prefsOf(nil, http.Header{"Link": {value}}), "header link: ", "")
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
	said := strings.Split(prefsOf(nil, h), "\n")
	if len(said) != maxPrefs+1 || said[maxPrefs] != "more: 36" || said[1] != "header content-usage: a b" {
		t.Errorf("%q", said)
	}
	if v := strings.TrimPrefix(said[0], "header content-usage: "); len(v) > maxPrefText || !strings.HasSuffix(v, "é…") {
		t.Errorf("%d octets: %q", len(v), v)
	}
}
