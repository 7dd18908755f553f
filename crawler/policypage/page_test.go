package policypage

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

func TestThePageAndItsDocuments(t *testing.T) {
	full := statement()
	full.Earlier = []EarlierKey{{Key: "curtsy-11111111+22222222+AAAA", Until: noon.AddDate(-1, 0, 0)}}
	full.Directory = "https://www.library.org/.well-known/http-message-signatures-directory"
	least := Statement{
		Token: "curtsy", UserAgent: "curtsy/0.1.0 (+a@b.org)", Operator: "Ada", Purpose: "A thesis.", Contact: "https://b.org/write",
		Retention: "One year.", Made: noon,
	}
	for name, s := range map[string]Statement{"full": full, "least": least} {
		for ending, write := range map[string]func() ([]byte, error){".html": s.Page, "-ranges.json": s.RangesJSON, "-card.json": s.CardJSON} {
			b, err := write()
			require.NoError(t, err)
			golden(t, name+ending, b)
		}
	}
}

func TestPage_HostileValuesAreText(t *testing.T) {
	plain := statement()
	plain.Earlier = []EarlierKey{{Key: verifier, Until: noon}}
	want, err := plain.Page()
	require.NoError(t, err)
	for _, hostile := range []string{
		`<script>alert(1)</script>`, `</title><img src=x onerror=y>`, `"><svg onload=z>`, `' onclick='a`, `--><b>`, `{{.Key}}`,
		`&lt;b&gt; &amp; &#39;`, `javascript:alert(1)`, `]]>`, "`${x}`", `<!-- curtsy identity sha256=`, `</pre></dd>`, strings.Repeat("<", MaxOperator),
	} {
		s := statement()
		s.Operator, s.Purpose, s.Retention = hostile, hostile, hostile
		s.UserAgent, s.Key = hostile, hostile
		s.Earlier = []EarlierKey{{Key: hostile, Until: noon}}
		s.Contact = strings.ReplaceAll(hostile, " ", "") // which the command refuses before
		b, err := s.Page()
		require.NoError(t, err)
		if got, want := shape(t, b), shape(t, want); got != want {
			t.Errorf("%q: the page has\n%s\nwant\n%s", hostile, got, want)
		}
		p, err := ReadPage(b)
		require.NoError(t, err)
		for _, what := range []string{"operator", "purpose", "retention", "key"} {
			if got, ok := p.has(what, hostile); !ok {
				t.Errorf("%q: the %s reads back as %q", hostile, what, got)
			}
		}
		for _, write := range []func() ([]byte, error){s.RangesJSON, s.CardJSON} {
			b, err := write()
			if err != nil || !json.Valid(b) || bytes.ContainsAny(b, "<>") || !bytes.Contains(b[:100], []byte(Mark)) {
				t.Errorf("%q: %v\n%s", hostile, err, b)
			}
		}
	}
}

func shape(t *testing.T, b []byte) string {
	t.Helper()
	var said strings.Builder
	z := html.NewTokenizer(bytes.NewReader(b))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return said.String()
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			tok := z.Token()
			said.WriteString("<" + tok.Data)
			for _, a := range tok.Attr {
				said.WriteString(" " + a.Key)
				if a.Key == "href" && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
					t.Errorf("a link leads to %s", a.Val)
				}
			}
			said.WriteString(">\n")
		case html.CommentToken:
			said.WriteString("comment\n")
		}
	}
}

func TestPage_HasNoRequisites(t *testing.T) {
	s := statement()
	b, err := s.Page()
	require.NoError(t, err)
	z := html.NewTokenizer(bytes.NewReader(b))
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		switch tok.Data {
		case "script", "img", "iframe", "object", "embed", "form", "base":
			t.Errorf("an element %s", tok.Data)
		}
		for _, a := range tok.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || tok.Data == "link" && a.Key == "rel" && a.Val == "stylesheet" {
				t.Errorf("%s has %s", tok.Data, a.Key)
			}
		}
	}
	if bytes.Contains(b, []byte("url(")) || bytes.Contains(b, []byte("@import")) {
		t.Error("the style loads something")
	}
}

func TestTextIsOneParagraphOfPrintableCharacters(t *testing.T) {
	for _, c := range []struct {
		in  string
		bad string
	}{
		{"The Library", ""}, {"Bücherei – 図書館 📚", ""}, {strings.Repeat("é", 50), ""}, {strings.Repeat("é", 51), "over 50 characters"},
		{"", "empty"}, {"  ", "empty"}, {"a\nb", `control character '\n'`}, {"a\x00b", "control character"}, {"a\u202eb", `'\u202e'`},
		{"\x1b[31m", `'\x1b'`}, {"a\xffb", "not UTF-8"}, {"a\u2028b", "control character"}, {"\ufeffa", "control character"},
	} {
		err := Text(c.in, 50)
		if (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%q: %v, want %q", c.in, err, c.bad)
		}
		if err != nil && strings.IndexFunc(err.Error(), unicode.IsControl) >= 0 {
			t.Errorf("%q: the error is not printable: %q", c.in, err)
		}
	}
}

func TestPage_URLNamesItsFiles(t *testing.T) {
	for _, c := range []struct{ url, name, card string }{
		{"", "index.html", "agent-card.json"},
		{"https://www.library.org", "index.html", "https://www.library.org/agent-card.json"},
		{"https://www.library.org/bot/", "index.html", "https://www.library.org/bot/agent-card.json"},
		{"https://www.library.org/crawler.html", "crawler.html", "https://www.library.org/agent-card.json"},
		{"https://www.library.org/a/bot", "bot.html", "https://www.library.org/a/agent-card.json"},
		{"http://127.0.0.1:8080/x/..%5c", "index.html", "http://127.0.0.1:8080/x/agent-card.json"},
	} {
		s := Statement{URL: c.url}
		assert.Equalf(t, c.name, s.PageName(), "%s: the file", c.url)
		assert.Equal(t, c.card, s.beside(CardName), c.url)
		if c.url != "" {
			assert.NoError(t, PageURL(c.url), c.url)
		}
	}
	for _, bad := range []string{
		"", "library.org/bot", "ftp://library.org/", "https://", "https:///x", "https://me@library.org/", "https://library.org/?a=b", "https://library.org/?",
		"https://library.org/#top", "https://library.org/#", "https://library.org/a b", "https://library.org/ü", "https://library.org/\x00", "https://library.org/" + strings.Repeat("a", maxURL),
		"mailto:a@library.org", "javascript:alert(1)",
	} {
		assert.Errorf(t, PageURL(bad), "%q is taken", bad)
	}
}

func TestARangeIsAnAddressOrANetwork(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.0/28": "192.0.2.0/28", "192.0.2.17/28": "192.0.2.16/28", " 192.0.2.1 ": "192.0.2.1/32", "2001:db8::1": "2001:db8::1/128",
		"2001:db8::1/48": "2001:db8::/48", "::ffff:192.0.2.1": "192.0.2.1/32", "0.0.0.0/0": "0.0.0.0/0",
		"192.0.2.0/33": "", "192.0.2/24": "", "": "", "fe80::1%eth0": "", "::ffff:192.0.2.0/120": "", "library.org": "",
	} {
		got, err := ParseRange(in)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v; want %q", in, got, err, want)
		}
	}
	got := SortRanges([]netip.Prefix{netip.MustParsePrefix("2001:db8::/48"), netip.MustParsePrefix("192.0.2.0/28"), netip.MustParsePrefix("2001:db8::/48")})
	assert.Equal(t, "192.0.2.0/28, 2001:db8::/48", list(got), got)
}

func TestAChangeByHandIsSeen(t *testing.T) {
	s := statement()
	b, err := s.Page()
	require.NoError(t, err)
	require.False(t, Edited(b), "a page as it was written counts as edited")
	for i := 0; i < len(b); i += 7 {
		changed := bytes.Clone(b)
		changed[i] ^= 1
		require.Truef(t, Edited(changed), "byte %d was changed without notice", i)
	}
	for _, other := range [][]byte{nil, []byte("<!DOCTYPE html>\n"), b[:100], b[:len(b)-1], append(bytes.Clone(b), '\n')} {
		assert.Truef(t, Edited(other), "%.60q counts as unedited", other)
	}
}

func TestSyncToken_ChangesOnlyWithTheRanges(t *testing.T) {
	token := func(s Statement) string {
		b, err := s.RangesJSON()
		require.NoError(t, err)
		var doc rangesJSON
		require.NoError(t, json.Unmarshal(b, &doc))
		return doc.SyncToken
	}
	s, later, fewer := statement(), statement(), statement()
	later.Made, later.Operator = noon.Add(time.Hour), "Another"
	later.Ranges = []netip.Prefix{s.Ranges[1], s.Ranges[0]}
	fewer.Ranges = fewer.Ranges[:1]
	if token(s) != token(later) || token(s) == token(fewer) {
		t.Errorf("%s, %s, %s", token(s), token(later), token(fewer))
	}
}
