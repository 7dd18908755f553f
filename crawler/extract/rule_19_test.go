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
		{"text/html", element, "nofollow, noarchive"}, {"text/html", utf16, "nofollow, noarchive"},
		{"", element, "nofollow, noarchive"}, {"text/plain", element, "nofollow"},
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

// FuzzXRobotsTag: noindex beside any field binds, and a field for another token has no effect.
func FuzzXRobotsTag(f *testing.F) {
	for _, s := range []string{
		"noindex, otherbot: nofollow", "unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, none", `"a:b;`, "max-snippet: none", "max-image-preview:none, x: y",
	} {
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
		require.Truef(t, read("mybot", "noindex, "+value).NoIndex, "noindex is lost before %q", value)
		require.Equal(t, alone.String(), read("mybot", value, "otherbot: none, noarchive").String(), value)
		if others := read("mybot", "otherbot: "+value); !strings.Contains(value, ":") && (others.String() != "" || others.Raw != nil) {
			t.Fatalf("otherbot: %q binds us: %+v", value, others)
		}
		if len(alone.UnavailableAfter) > maxDate || len(alone.Raw) > 1 || len(alone.Raw) == 1 && len(alone.Raw[0]) > maxRawText {
			t.Fatalf("%q: %+v", value, alone)
		}
		if nobody := read("", value); nobody.NoIndex && !alone.NoIndex || nobody.NoFollow && !alone.NoFollow || nobody.NoArchive && !alone.NoArchive {
			t.Fatalf("%q: %q binds everyone, but us only %q", value, nobody, alone)
		}
	})
}
