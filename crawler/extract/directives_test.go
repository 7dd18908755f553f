package extract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The forms in the search engines' pages on X-Robots-Tag, and the variants that sites send; fields end with "\n".
// https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
// https://www.bing.com/webmasters/help/which-robots-metatags-does-bing-support-5198d240
// https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/X-Robots-Tag
func TestXRobotsTag_Rule19(t *testing.T) {
	for _, tt := range []struct{ rule, value, want string }{
		{"one", "noindex", "noindex"},
		{"several", "noindex, nofollow,noarchive", "noindex, nofollow, noarchive"},
		{"case and white space", " NOINDEX ,\tNoFollow\t", "noindex, nofollow"},
		{"none", "none", "noindex, nofollow"},
		{"nocache is noarchive", "nocache", "noarchive"},
		{"all", "all", ""},
		{"index does not undo noindex", "noindex, index, follow", "noindex"},
		{"unknown words", "noai, nosnippet, noimageindex, indexifembedded", ""},
		{"an unknown word, then a directive", "indexifembedded,noindex", "noindex"},
		{"part of a word", "nonoindex, noindexing", ""},
		{"spaces between directives", "noindex nofollow", "noindex, nofollow"},
		{"semicolons between directives", "noindex; nofollow", "noindex, nofollow"},
		{"other spaces", "noindex\u00a0, \u200bnofollow", "noindex, nofollow"},
		{"quotes", `"noindex, nofollow"`, "noindex, nofollow"},

		{"the token", "mybot: noindex", "noindex"},
		{"the token in another case", "MyBot: noindex, nofollow", "noindex, nofollow"},
		{"curtsy binds whatever the token", "curtsy: noarchive", "noarchive"},
		{"another token", "otherbot: noindex, nofollow", ""},
		{"another token with a digit", "MJ12bot: noindex, nofollow", ""},
		{"another token, then the crawler's", "otherbot: noindex, mybot: nofollow", "nofollow"},
		{"the crawler's, then another token", "mybot: nofollow, otherbot: noindex, noarchive", "nofollow"},
		{"everyone, then another token", "noarchive, otherbot: noindex", "noarchive"},
		{"everyone, then the crawler's", "noindex, mybot: nosnippet", "noindex"},
		{"many tokens", "mybot:noindex,otherbot:nofollow,curtsy:noarchive,*:nofollow", "noindex, nofollow, noarchive"},
		{"tokens in quotes", `'otherbot: noindex', mybot: "nofollow"`, "nofollow"},
		{"tokens with a space", "otherbot : noindex , mybot : noarchive", "noarchive"},
		{"a token within another", "mybot2: noindex", ""},
		{"the token with a version", "otherbot/1.0: noarchive, mybot/2.1: noindex, curtsy/1.0: nofollow", "noindex, nofollow"},
		{"asterisk", "otherbot: noindex, *: nofollow", "nofollow"},
		{"none for another", "otherbot: none", ""},
		{"none for us", "mybot:none", "noindex, nofollow"},
		{"a field for each", "mybot: nofollow\notherbot: noindex, nofollow", "nofollow"},

		{"date with colons", "noimageindex, unavailable_after: 25 Jun 2027 15:00:00 PST", "unavailable_after: 25 Jun 2027 15:00:00 PST"},
		{"date with colons and a comma", "unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, noindex", "noindex, unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT"},
		{"date after RFC 850", "unavailable_after: Wednesday, 03-Nov-27 15:00:00 GMT, noindex", "noindex, unavailable_after: Wednesday, 03-Nov-27 15:00:00 GMT"},
		{"date after ISO 8601", "Unavailable_After:2027-11-19T15:00:00+01:00, NoIndex", "noindex, unavailable_after: 2027-11-19T15:00:00+01:00"},
		{"date, time behind a comma", "unavailable_after: Wed, 03 Nov 2027, 15:00:00 GMT, noindex", "noindex, unavailable_after: Wed, 03 Nov 2027, 15:00:00 GMT"},
		{"date, then a token", "unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, mybot: nofollow", "nofollow, unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT"},
		{"date for another token", "otherbot: unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, noindex", ""},
		{"date for the token", "mybot: unavailable_after: 2027-11-19, noindex", "noindex, unavailable_after: 2027-11-19"},
		{"date, then a word and a number", "unavailable_after: 1 May 2027, nopagereadaloud, 3", "unavailable_after: 1 May 2027"},
		{"two dates", "unavailable_after: 1 May 2027\nunavailable_after: 2 May 2027", "unavailable_after: 1 May 2027"},
		{"a new field is not part of a date", "unavailable_after: 1 May 2027\nnosnippet, x", "unavailable_after: 1 May 2027"},
		{"date in a separate field", "noarchive\nunavailable_after: 25 Jun 2027", "noarchive, unavailable_after: 25 Jun 2027"},
		{"no date", "unavailable_after:", ""},
		{"no date, then a directive", "unavailable_after: , noindex", "noindex"},
		{"a long date", "unavailable_after: " + strings.Repeat("9", 500), "unavailable_after: " + strings.Repeat("9", maxDate)},

		{"a value is not a directive", "max-image-preview:none, max-snippet: none", ""},
		{"a value is not a directive, spaced", "max-image-preview : none", ""},
		{"a value, then a directive", "max-snippet:50, noindex", "noindex"},
		{"a value, then a directive, no comma", "max-snippet: 50 noindex", "noindex"},
		{"a directive with a colon", "noindex: true, nofollow", "noindex, nofollow"},
		{"a directive is not a crawler's name", "notranslate: x, noindex", "noindex"},
		{"empty", "", ""},
		{"noise", ",:,,otherbot:,mybot:,, noindex", "noindex"},
	} {
		d := HeaderDirectives(http.Header{"X-Robots-Tag": strings.Split(tt.value, "\n")}, "mybot")
		assert.Equalf(t, tt.want, d.String(), "%s: %q", tt.rule, tt.value)
	}
}

func TestXRobotsTag_FieldsAreReadOneByOne(t *testing.T) {
	h := http.Header{}
	h.Add("X-Robots-Tag", "otherbot: noindex")
	h.Add("x-robots-tag", "nofollow") // not otherbot's
	h.Add("X-Robots-Tag", "curtsy: noarchive")
	d := HeaderDirectives(h, "mybot")
	assert.Equal(t, "nofollow, noarchive", d.String())
	assert.Equalf(t, "X-Robots-Tag: nofollow|X-Robots-Tag: curtsy: noarchive", strings.Join(d.Raw, "|"), "Raw %q", d.Raw)
	if d := HeaderDirectives(nil, ""); d.String() != "" || d.Raw != nil {
		t.Errorf("no header: %+v", d)
	}
}

func TestMetaRobots_Rule19(t *testing.T) {
	for _, tt := range []struct{ rule, html, want string }{
		{"robots", `<meta name="robots" content="noindex, nofollow">`, "noindex, nofollow"},
		{"case and space", `<META NAME=" ROBOTS " CONTENT=" NOARCHIVE ">`, "noarchive"},
		{"lines", "<meta name=\"robots\" content=\"\n\tnoindex,\n\tnoarchive\n\">", "noindex, noarchive"},
		{"semicolons", `<meta name="Robots" content="noindex;nofollow">`, "noindex, nofollow"},
		{"spaces", `<meta content="noindex nofollow" name="robots">`, "noindex, nofollow"},
		{"a character reference", `<meta name="robots" content="&#110;oindex">`, "noindex"},
		{"none", `<meta name=robots content=none>`, "noindex, nofollow"},
		{"index does not undo none", `<meta name=robots content="index"><meta name=robots content="NONE">`, "noindex, nofollow"},
		{"the token", `<meta name=MyBot content=noindex>`, "noindex"},
		{"curtsy", `<meta name=curtsy content=noindex>`, "noindex"},
		{"another token", `<meta name=otherbot content=noindex><meta name="mybot" content="nosnippet">`, ""},
		{"united", `<meta name=robots content="index,follow"><meta name=mybot content=nofollow><meta name=robots content=noarchive>`, "nofollow, noarchive"},
		{"the token cannot allow", `<meta name=mybot content="all,index,follow"><meta name=robots content=noindex>`, "noindex"},
		{"another token cannot allow", `<meta name="robots" content="noindex"><meta name="otherbot" content="indexifembedded">`, "noindex"},
		{"a value is not a directive", `<meta name=robots content="max-image-preview:none, max-snippet:-1">`, ""},
		{"a date", `<meta name="robots" content="unavailable_after: Sun, 21 Sep 2027 10:00:00 GMT, noarchive">`, "noarchive, unavailable_after: Sun, 21 Sep 2027 10:00:00 GMT"},
		{"an element is not part of a date", `<meta name="robots" content="unavailable_after: 1 May 2027"><meta name=robots content="follow, x">`, "unavailable_after: 1 May 2027"},
		{"a colon is not an address here", `<meta name=robots content="otherbot: noindex">`, ""},
		{"in the body", `<body><p><meta name=robots content=noindex>`, "noindex"},
		{"in noscript", `<noscript><meta name=robots content=noindex></noscript>`, "noindex"},
		{"not in a template", `<template><meta name=robots content=noindex></template>`, ""},
		{"not in a comment", `<!--<meta name=robots content=noindex>-->`, ""},
		{"no content", `<meta name=robots>`, ""},
		{"another attribute", `<meta property=robots content=noindex><meta http-equiv=robots content=noindex>`, ""},
	} {
		assert.Equalf(t, tt.want, extract(t, tt.html).Robots.String(), "%s: %s", tt.rule, tt.html)
	}
	page := extract(t, `<meta name=robots content=nofollow>`, "X-Robots-Tag", "noarchive")
	assert.Equal(t, "nofollow, noarchive", page.Robots.String(), "element and field")
	assert.Equalf(t, "X-Robots-Tag: noarchive|meta robots: nofollow", strings.Join(page.Robots.Raw, "|"), "Raw %q", page.Robots.Raw)
}

func TestDirectives_RawIsBoundedAndTheRestStillBinds(t *testing.T) {
	html := strings.Repeat(`<meta name=robots content="`+strings.Repeat("é", 5000)+`">`, 100) + `<meta name=robots content=noarchive>`
	d := extract(t, html).Robots
	assert.Equal(t, "noarchive", d.String())
	assert.Len(t, d.Raw, maxRaw)
	for _, r := range d.Raw {
		require.LessOrEqual(t, len(r), maxRawText)
		require.True(t, strings.HasSuffix(r, "é"))
	}
}
