package extract

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The forms that the search engines' pages on robots meta elements and X-Robots-Tag show, and what sites make of them.
// https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
// https://www.bing.com/webmasters/help/which-robots-metatags-does-bing-support-5198d240
// https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/X-Robots-Tag
func TestRule19_FieldsAsTheyAreDocumented(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		want   string
	}{
		{[]string{"noindex"}, "noindex"},
		{[]string{"noarchive", "unavailable_after: 25 Jun 2027 15:00:00 PST"}, "noarchive, unavailable_after: 25 Jun 2027 15:00:00 PST"},
		{[]string{"noimageindex, unavailable_after: 25 Jun 2027 15:00:00 PST"}, "unavailable_after: 25 Jun 2027 15:00:00 PST"},
		{[]string{"mybot: nofollow", "otherbot: noindex, nofollow"}, "nofollow"},
		{[]string{"BadBot: noindex, nofollow, mybot: nofollow"}, "nofollow"},
		{[]string{"noindex, mybot: nosnippet"}, "noindex"},
		{[]string{"otherbot: noindex", "nofollow"}, "nofollow"},
		{[]string{"max-snippet:50, max-image-preview:large, max-video-preview:-1"}, ""},
		{[]string{"max-image-preview: none, indexifembedded, notranslate"}, ""},
		{[]string{"indexifembedded,noindex"}, "noindex"},
		{[]string{"nositelinkssearchbox, nopagereadaloud, noodp, noydir"}, ""},
		{[]string{"nocache"}, "noarchive"},
		{[]string{"none"}, "noindex, nofollow"},
		{[]string{"all, none"}, "noindex, nofollow"},
		{[]string{"all"}, ""},
		{[]string{" NOINDEX ,\tNoFollow\t"}, "noindex, nofollow"},
		{[]string{"otherbot : noindex , mybot : noarchive"}, "noarchive"},
		{[]string{"mybot:noindex,otherbot:nofollow,curtsy:noarchive,*:nofollow"}, "noindex, nofollow, noarchive"},
		{[]string{`"noindex, nofollow"`}, "noindex, nofollow"},
		{[]string{`'otherbot: noindex', mybot: "nofollow"`}, "nofollow"},
		{[]string{"noindex\u00a0, \u200bnofollow"}, "noindex, nofollow"},
		{[]string{"notranslate: x, noindex"}, "noindex"}, // a directive is nobody's name
		{[]string{"otherbot/2.1: noindex"}, ""},
		{[]string{"", ",", ":", "noindex"}, "noindex"},

		{[]string{"unavailable_after: 2027-11-19"}, "unavailable_after: 2027-11-19"},
		{[]string{"Unavailable_After:2027-11-19T15:00:00+01:00, NoIndex"}, "noindex, unavailable_after: 2027-11-19T15:00:00+01:00"},
		{[]string{"unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, noindex"}, "noindex, unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT"},
		{[]string{"unavailable_after: Wed, 03 Nov 2027, 15:00:00 GMT"}, "unavailable_after: Wed, 03 Nov 2027, 15:00:00 GMT"},
		{[]string{"unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, mybot: nofollow"}, "nofollow, unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT"},
		{[]string{"unavailable_after: 1 May 2027", "unavailable_after: 2 May 2027"}, "unavailable_after: 1 May 2027"},
		{[]string{"unavailable_after: 1 May 2027", "nosnippet, x"}, "unavailable_after: 1 May 2027"}, // a new field is no part of a date
		{[]string{"otherbot: unavailable_after: 1 May 2027, nofollow"}, ""},
		{[]string{"unavailable_after: 1 May 2027, nopagereadaloud, 3"}, "unavailable_after: 1 May 2027"},
		{[]string{"unavailable_after:"}, ""},
		{[]string{"unavailable_after: , noindex"}, "noindex"},
		{[]string{"unavailable_after: " + strings.Repeat("9", 500)}, "unavailable_after: " + strings.Repeat("9", maxDate)},
	} {
		assert.Equal(t, tt.want, HeaderDirectives(http.Header{"X-Robots-Tag": tt.fields}, "mybot").String(), tt.fields)
	}
}

func TestRule19_ElementsAsTheyAreDocumented(t *testing.T) {
	for html, want := range map[string]string{
		`<meta name="robots" content="noindex">`:                                                             "noindex",
		`<meta name="otherbot" content="noindex"><meta name="mybot" content="nosnippet">`:                    "",
		`<meta name="robots" content="nofollow"><meta name="mybot" content="noindex">`:                       "noindex, nofollow",
		`<meta name="robots" content="max-snippet:20, max-image-preview:large">`:                             "",
		`<meta name="robots" content="unavailable_after: 2027-09-21">`:                                       "unavailable_after: 2027-09-21",
		`<meta name="robots" content="unavailable_after: Sun, 21 Sep 2027 10:00:00 GMT, noarchive">`:         "noarchive, unavailable_after: Sun, 21 Sep 2027 10:00:00 GMT",
		`<meta name="robots" content="noindex"><meta name="otherbot" content="indexifembedded">`:             "noindex",
		`<meta name=robots content="index"><meta name=robots content="NONE">`:                                "noindex, nofollow",
		`<meta name="Robots" content="noindex;nofollow">`:                                                    "noindex, nofollow",
		`<meta name="robots" content="noindex nofollow">`:                                                    "noindex, nofollow",
		"<meta name=\"robots\" content=\"\n\tnoindex,\n\tnoarchive\n\">":                                     "noindex, noarchive",
		`<meta content="noindex" name="robots">`:                                                             "noindex",
		`<meta name="robots" content="&#110;oindex">`:                                                        "noindex",
		`<meta name="robots" content="unavailable_after: 1 May 2027"><meta name=robots content="follow, x">`: "unavailable_after: 1 May 2027",
	} {
		assert.Equal(t, want, extract(t, html).Robots.String(), html)
	}
}

// Directives without a tree are those with one, but for where an element stands.
func TestRule19_DirectivesOfAPageWithoutATree(t *testing.T) {
	x := New()
	read := func(contentType, body string) string {
		t.Helper()
		in := Input{URL: parse(t, pageURL), ContentType: contentType, Header: http.Header{"X-Robots-Tag": {"nofollow"}}, Body: strings.NewReader(body), Token: "mybot"}
		d, err := x.Directives(context.Background(), in)
		require.NoError(t, err)
		return d.String()
	}
	const element = `<!DOCTYPE html><title>Not here</title><meta name=robots content=noarchive><p>Sorry.`
	utf16 := "\xff\xfe"
	for _, c := range element {
		utf16 += string([]byte{byte(c), 0})
	}
	for _, tt := range []struct{ contentType, body, want string }{
		{"text/html", element, "nofollow, noarchive"},
		{"text/html", utf16, "nofollow, noarchive"},
		{"", element, "nofollow, noarchive"},
		{"text/plain", element, "nofollow"},
		{"text/html", strings.Repeat("<p>", headSize) + element, "nofollow, noarchive"},
		{"text/html", strings.Repeat(" ", maxScan) + element, "nofollow"},
		{"text/html", "", "nofollow"},
	} {
		assert.Equalf(t, tt.want, read(tt.contentType, tt.body), "%s, %d octets", tt.contentType, len(tt.body))
	}
	if d, err := x.Directives(context.Background(), Input{URL: parse(t, pageURL)}); err != nil || d.String() != "" {
		t.Errorf("nothing at all: %v, %v", d, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Directives(ctx, Input{URL: parse(t, pageURL), Body: strings.NewReader(element)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A link is followed when some mention of it has no word but those that are followed: all 8 sets of words, two mentions.
func TestRule19_OfSeveralMentionsOneMustBeFollowed(t *testing.T) {
	words := func(set Rels) (all []string) {
		for i, w := range []string{"nofollow", "ugc", "sponsored"} {
			if set&(1<<i) != 0 {
				all = append(all, w)
			}
		}
		return all
	}
	for one := range Rels(8) {
		for two := range Rels(8) {
			page := extract(t, `<a href=/x rel="`+strings.Join(words(one), " ")+`">1</a><a href=/x rel="`+strings.Join(words(two), " ")+`">2</a>`)
			for followed := range Rels(8) {
				want := one&^followed == 0 || two&^followed == 0
				if len(page.Links) != 1 || page.Links[0].Rel.Followed(followed) != want {
					t.Errorf("%q and %q, %q are followed: %v", words(one), words(two), words(followed), !want)
				}
			}
		}
	}
	for set := range Rels(8) {
		if set == 0 {
			continue
		}
		if got, err := ParseRels(words(set)); err != nil || got != set {
			t.Errorf("%q: %v, %v", words(set), got, err)
		}
	}
	if got, err := ParseRels([]string{"none"}); err != nil || got != 0 {
		t.Errorf("none: %v, %v", got, err)
	}
}

// FuzzXRobotsTag: whatever stands in one field, another that says noindex to all binds, one for another token adds nothing,
// and what is kept is bounded. What a field forbids everyone it forbids whoever it is read for.
func FuzzXRobotsTag(f *testing.F) {
	for _, s := range []string{"noindex, otherbot: nofollow", "unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, none", `"a:b;`, "max-snippet: none"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		read := func(token string, fields ...string) Directives {
			return HeaderDirectives(http.Header{"X-Robots-Tag": fields}, token)
		}
		alone := read("mybot", value)
		if with := read("mybot", value, "noindex"); !with.NoIndex || with.NoFollow != alone.NoFollow || with.NoArchive != alone.NoArchive {
			t.Fatalf("%q: with noindex: %+v", value, with)
		}
		if with := read("mybot", value, "otherbot: none, noarchive"); with.String() != alone.String() {
			t.Fatalf("%q: %q with a field for another, else %q", value, with, alone)
		}
		if len(alone.UnavailableAfter) > maxDate || len(alone.Raw) > 1 || len(alone.Raw) == 1 && len(alone.Raw[0]) > maxRawText {
			t.Fatalf("%q: %+v", value, alone)
		}
		if nobody := read("", value); nobody.NoIndex && !alone.NoIndex || nobody.NoFollow && !alone.NoFollow || nobody.NoArchive && !alone.NoArchive {
			t.Fatalf("%q: %q binds everyone, but us only %q", value, nobody, alone)
		}
	})
}
