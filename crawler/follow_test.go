package crawler

import (
	"slices"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/extract"
	"curtsy/storage"
)

// TestFollowFeed: an entry of a feed that no page links is found by way of the feed, if that is wanted.
func TestFollowFeed(t *testing.T) {
	for _, on := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{
				Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /private\n"},
				Pages: map[string]crawltest.Page{
					"/": {Body: `<a href=/feed>f</a>`, Links: []string{"/feed"}},
					"/feed": {Type: "application/rss+xml", Links: []string{"/entry", "/private", "http://b.test/"}, Body: `<rss><channel>
						<item><link>/entry</link></item><item><link>/private</link></item><item><link>http://b.test/</link></item></channel></rss>`},
					"/entry": {Body: "e"}, "/private": {Body: "x"},
				},
			}, &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/": {Body: "b"}}})
			w.cfg.Follow = extract.Follow{Feed: on}
			w.run()
			want := []string{"/", "/feed", "/robots.txt"}
			if on { // else the referee misses what it leads to
				w.judged(crawltest.Rules{Pace: Floor})
				want = []string{"/", "/entry", "/feed", "/robots.txt"}
			}
			if got := slices.Sorted(slices.Values(w.asked("a.test"))); !slices.Equal(got, want) || len(w.asked("b.test")) > 0 {
				t.Errorf("follow %v: asked for %q", on, got)
			}
			if !on {
				return
			}
			if l := w.lineOf("http://a.test/entry"); l.Kind != storage.KindLink || l.Via != "http://a.test/feed" || l.Depth != 2 {
				t.Errorf("%+v", l)
			}
			if l := w.lineOf("http://a.test/private"); l.Decision != storage.DecisionDisallow {
				t.Errorf("%+v", l)
			}
		})
	}
}
