package crawler

import (
	"slices"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/extract"
	"curtsy/crawler/extract/pdf"
	"curtsy/storage"
)

// TestFollowPDF: links in PDF files pass scope and gate as those of pages do, and only where that is wanted; files that
// cannot be read are counted.
func TestFollowPDF(t *testing.T) {
	action := func(uri string) string {
		return "5 0 obj << /Type /Annot /A << /S /URI /URI (" + uri + ") >> >> endobj\n"
	}
	file := func(body string) crawltest.Page {
		return crawltest.Page{Type: "application/pdf", Body: "%PDF-1.4\n" + body, Links: []string{"/in.html", "more.pdf", "/private", "http://b.test/"}}
	}
	site := func() *crawltest.Site {
		return &crawltest.Site{
			Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /private\n"},
			Pages: map[string]crawltest.Page{
				"/": {Body: `<a href=/doc/paper.pdf>p</a><a href=/doc/locked.pdf>l</a>`, Links: []string{"/doc/paper.pdf", "/doc/locked.pdf"}},
				"/doc/paper.pdf": file(action("/in.html") + action("more.pdf") + action("/private") + action("http://b.test/") +
					action("mailto:x@a.test") + "(http://a.test/text.html)"),
				"/doc/more.pdf":   file(action("/in.html")),
				"/doc/locked.pdf": file(action("/locked.html") + "trailer << /Encrypt 9 0 R >>"),
				"/in.html":        {Body: "in"}, "/private": {Body: "x"}, "/text.html": {Body: "x"}, "/locked.html": {Body: "x"},
			},
		}
	}
	for _, on := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, site(), &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/": {Body: "b"}}})
			w.cfg.Follow = extract.Follow{PDF: on}
			s := w.run()
			if on { // else the referee misses what they lead to
				w.judged(crawltest.Rules{Pace: Floor})
			}
			want := []string{"/", "/doc/locked.pdf", "/doc/paper.pdf", "/robots.txt"}
			if on {
				want = []string{"/", "/doc/locked.pdf", "/doc/more.pdf", "/doc/paper.pdf", "/in.html", "/robots.txt"}
			}
			if got := slices.Sorted(slices.Values(w.asked("a.test"))); !slices.Equal(got, want) {
				t.Errorf("follow %v: asked for %q", on, got)
			}
			if got := w.asked("b.test"); len(got) > 0 {
				t.Errorf("follow %v: another host was asked for %q", on, got)
			}
			if !on {
				return
			}
			if l := w.lineOf("http://a.test/in.html"); l.Kind != storage.KindLink || l.Depth != 2 {
				t.Errorf("%+v", l)
			}
			if l := w.lineOf("http://a.test/private"); l.Decision != storage.DecisionDisallow || l.Via != "http://a.test/doc/paper.pdf" {
				t.Errorf("%+v", l)
			}
			if s.Status.NotRead[pdf.UnreadEncrypted] != 1 || s.Status.Links["scheme"] != 1 {
				t.Errorf("not read %v, links %v", s.Status.NotRead, s.Status.Links)
			}
		})
	}
}

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
