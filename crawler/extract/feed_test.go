package extract

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func feedLinks(t *testing.T, body string) (Page, []string) {
	t.Helper()
	page, err := New().Parts(t.Context(), Input{URL: parse(t, "http://a.test/blog/feed"), Body: strings.NewReader(body)}, KindFeed)
	require.NoError(t, err)
	var links []string
	for _, l := range page.Links {
		assert.False(t, l.Embed)
		assert.Equal(t, elementFeed, l.Element)
		links = append(links, strings.TrimPrefix(l.URL.String(), "http://a.test"))
	}
	return page, links
}

func TestFeed_EachLinkIsTaken(t *testing.T) {
	for rule, c := range map[string]struct{ body, want string }{
		"RSS: link, permalink, enclosure and the next document": {`<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
			<link>http://a.test/</link><atom:link rel="self" href="/blog/feed"/><atom:link rel="next" href="?page=2"/>
			<item><link>/1.html</link><enclosure url="/1.mp3" length="1" type="audio/mpeg"/><comments>/1#c</comments></item>
			<item><guid>http://a.test/2.html</guid></item><item><guid isPermaLink="false">x</guid><enclosure url="3.mp3"/></item></channel></rss>`,
			"/blog/feed?page=2 /1.mp3 /1.html /2.html /blog/3.mp3"},
		"RSS 1.0": {`<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="x"><item><link>http://a.test/r</link></item></rdf:RDF>`, "/r"},
		"Atom: alternates, enclosures, related; not self, edit and replies": {`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://a.test/b/">
			<link rel="self" href="me"/><link href="/"/><link rel="next" href="p2"/><link rel=hub href="hub">
			<entry><link rel="enclosure" href="e.ogg"/><link href="one"/><link rel="alternate" href="one.txt"/><link rel="edit" href="edit"/><link rel="replies" href="r"/></entry>
			<entry xml:base="c/"><link rel="related" href="rel"/><link href="two"/></entry></feed>`,
			"/ /b/p2 /b/e.ogg /b/one.txt /b/one /b/c/rel /b/c/two"},
		"JSON Feed": {"\ufeff" + ` {"version":"https://jsonfeed.org/version/1.1","feed_url":"/self","next_url":"?2","items":[
			{"id":"1","url":"/j1","external_url":"http://a.test/ext","attachments":[{"url":"j.mp3"}]},{"id":"2"}]}`,
			"/j1 /ext /blog/j.mp3 /blog/feed?2"},
	} {
		if page, got := feedLinks(t, c.body); strings.Join(got, " ") != c.want || page.Unparsed != "" || page.Repeats > 0 {
			t.Errorf("%s: %q %q, %d repeats", rule, got, page.Unparsed, page.Repeats)
		}
	}
}

func TestFeed_UnreadPartsHaveReasons(t *testing.T) {
	for rule, c := range map[string]struct{ body, reason, links string }{
		"XML of another kind":     {"<svg></svg>", UnparsedNoFeed, ""},
		"a sitemap":               {"<urlset><url><loc>http://a.test/1</loc></url></urlset>", UnparsedNoFeed, "/1"},
		"text":                    {"http://a.test/1\n", UnparsedNoFeed, "/1"},
		"a feed that is cut off":  {"<rss><channel><item><link>/1</link></item><item>", "feed: cut off", "/1"},
		"elements without an end": {"<rss>" + strings.Repeat("<a>", 100), "feed: too deep", ""},
		"JSON that is cut off":    {`{"items":[{"url":"/1"},`, UnparsedJSONFeed, ""},
		"JSON of another shape":   {`{"items":{"url":"/1"}}`, UnparsedJSONFeed, ""},
	} {
		if page, got := feedLinks(t, c.body); page.Unparsed != c.reason || strings.Join(got, " ") != c.links {
			t.Errorf("%s: %q, %q", rule, page.Unparsed, got)
		}
	}
}

func TestFeed_InvalidURLsAreCounted(t *testing.T) {
	page, got := feedLinks(t, `<rss><channel><item><link>mailto:a@a.test</link></item><item><link>/1</link><enclosure url="javascript:x"/></item><item><title>x</title></item></channel></rss>`)
	if len(got) != 1 || page.Refused[canon.Scheme] != 2 {
		t.Errorf("%q %v", got, page.Refused)
	}
}

func TestFeed_IsBounded(t *testing.T) {
	skipShort(t)
	var b strings.Builder
	b.WriteString("<rss><channel>")
	for i := range 60_000 {
		fmt.Fprintf(&b, "<item><link>/%d</link></item>", i)
	}
	b.WriteString("</channel></rss>")
	page, got := feedLinks(t, b.String())
	assert.Len(t, got, MaxLinks)
	assert.Equal(t, 60_000-MaxLinks, page.Dropped)
	page, got = feedLinks(t, `{"items":[{"url":"/1"}],"x":"`+strings.Repeat("x", MaxParse)+`"}`)
	assert.Equal(t, UnparsedLong, page.Unparsed)
	assert.LessOrEqual(t, len(got), 0)
}

func TestFeed_AFaultOfTheBodyIsAnError(t *testing.T) {
	broken := errors.New("disk")
	for _, head := range []string{"", "{", "<rss>"} {
		_, err := New().Parts(t.Context(), Input{URL: parse(t, pageURL), Body: io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken))}, KindFeed)
		assert.ErrorIs(t, err, broken, head)
	}
}

func TestFollow_SelectsFeeds(t *testing.T) {
	for rule, c := range map[string]struct {
		contentType, head string
		want              Kind
	}{
		"RSS by its media type":                  {"application/rss+xml; charset=utf-8", "", KindFeed},
		"Atom":                                   {"application/atom+xml", "", KindFeed},
		"JSON Feed":                              {"application/feed+json", "", KindFeed},
		"XML whose root is that of RSS":          {"text/xml", "<?xml version='1.0'?>\n<!-- x -->\n<rss version=2>", KindFeed},
		"of Atom":                                {"application/xml", "\xEF\xBB\xBF<feed xmlns='x'>", KindFeed},
		"of RSS 1.0":                             {"application/xml", "<rdf:RDF xmlns:rdf='x'>", KindFeed},
		"XML with another":                       {"application/xml", "<feeds><feed/>", KindXML},
		"not a sitemap":                          {"application/xml", "<urlset>", KindXML},
		"JSON that declares itself one":          {"application/json", `{ "version": "https:\/\/jsonfeed.org\/version\/1", "items": [`, KindFeed},
		"JSON":                                   {"application/json", `{"version": 1}`, 0},
		"without a type, by how it begins":       {"", "<rss>", KindFeed},
		"text that shows one":                    {"text/plain", "<rss>", 0},
		"a page stays a page, whatever is in it": {"text/html", "<rss>", KindPage},
	} {
		assert.Equalf(t, c.want, (Follow{Feed: true}).KindOf(c.contentType, "/x", []byte(c.head)), "%s: kind", rule)
		assert.NotEqualf(t, KindFeed, (Follow{}).KindOf(c.contentType, "/x", []byte(c.head)), "%s: read without being enabled", rule)
	}
	if f, err := ParseFollow(FollowWords()); err != nil || f != (Follow{Feed: true}) {
		t.Error(f, err)
	}
}

func FuzzFeed(f *testing.F) {
	for _, s := range []string{
		"<rss><channel><item><link>/1</link><enclosure url=2/></item></channel></rss>", "<feed xml:base=/b><entry><link href=1></entry>",
		`{"items":[{"url":"/1","attachments":[{"url":"2"}]}]}`, "<rdf:RDF>", "{",
	} {
		f.Add(s)
	}
	x := New()
	f.Fuzz(func(t *testing.T, body string) {
		page, err := x.Parts(t.Context(), Input{URL: parse(t, pageURL), Body: strings.NewReader(body)}, KindFeed)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Links), MaxLinks)
		met := map[string]bool{}
		for _, l := range page.Links {
			if k := l.URL.Key(); met[k] || l.Embed {
				t.Errorf("%+v", l)
			} else {
				met[k] = true
			}
		}
	})
}
