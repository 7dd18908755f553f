package crawler

import (
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
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
