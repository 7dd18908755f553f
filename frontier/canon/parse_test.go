package canon

import (
	"net/url"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustParse(t *testing.T, raw string) URL {
	t.Helper()
	u, err := Parse(raw)
	require.NoError(t, err)
	return u
}

// accepted are absolute URLs and their fetch URLs, by section of the URL Standard.
var accepted = []struct{ rule, in, fetch string }{
	{"canonical", "https://example.com/a/b?c=d", "https://example.com/a/b?c=d"},
	{"4.4 trim C0 and space", "\x00\x1f \t http://h/a \r\n\x01", "http://h/a"},
	{"4.4 space is trimmed at the ends only", "http://h/ #f", "http://h/%20"},
	{"4.4 no other white space is trimmed", "http://h/a\u00a0", "http://h/a%C2%A0"},
	{"4.4 tab and newline are removed", "ht\ntp:\t//h\r/a\tb\n?c\nd", "http://h/ab?cd"},
	{"4.4 tab in a dot segment", "http://h/a/.\t./b", "http://h/b"},
	{"4.4 scheme folds case", "HtTpS://h/", "https://h/"},
	{"4.4 special authority slashes", "http:h/a", "http://h/a"},
	{"4.4 special authority slashes", "http:/h/a", "http://h/a"},
	{"4.4 special authority ignore slashes", `https:\/\\/h\a`, "https://h/a"},
	{"4.4 fragment is dropped", "http://h/a#b#c?d", "http://h/a"},
	{"4.4 fragment ends the host", "http://h#@evil.example/", "http://h/"},
	{"4.4 userinfo is dropped", "http://user:pass@h/", "http://h/"},
	{"4.4 the last @ ends userinfo", "http://a@b:c@d@h:81/", "http://h:81/"},
	{"4.4 @ behind the host is path", "http://h/a@b", "http://h/a@b"},
	{"4.4 backslash ends the host", `http://h\@evil.example/`, "http://h/@evil.example/"},
	{"4.4 ? ends the host", "http://h?a/b", "http://h/?a/b"},
	{"4.4 port: default", "http://h:80/", "http://h/"},
	{"4.4 port: default", "https://h:443/", "https://h/"},
	{"4.4 port: default of the other scheme", "https://h:80/", "https://h:80/"},
	{"4.4 port: empty", "http://h:/", "http://h/"},
	{"4.4 port: leading zeros", "http://h:0000000008080/", "http://h:8080/"},
	{"4.4 port: leading zeros of the default", "http://h:080/", "http://h/"},
	{"4.4 port: greatest and least", "http://h:65535/", "http://h:65535/"},
	{"4.4 port: greatest and least", "http://h:0/", "http://h:0/"},
	{"4.4 path start: empty path", "http://h", "http://h/"},
	{"4.4 path start: empty path and query", "http://h?", "http://h/?"},
	{"4.4 path: backslash", `http://h/a\b\..\c`, "http://h/a/c"},
	{"4.4 path: single dots", "http://h/./a/./b/.", "http://h/a/b/"},
	{"4.4 path: double dots", "http://h/a/b/../c/..", "http://h/a/"},
	{"4.4 path: double dots above the root", "http://h/../../a", "http://h/a"},
	{"4.4 path: double dots at the root", "http://h/..", "http://h/"},
	{"4.1 %2e is a dot", "http://h/a/%2e/b/%2E%2e/c/.%2e/d/%2E.", "http://h/a/"},
	{"4.1 %2e is a dot", "http://h/a/%2e", "http://h/a/"},
	{"4.1 three dots are a name", "http://h/.../%2e%2e%2e/..%2e", "http://h/.../%2e%2e%2e/..%2e"},
	{"4.1 dots with more are a name", "http://h/.a/..a/a../%2ea/..%2", "http://h/.a/..a/a../%2ea/..%2"},
	{"4.4 path: empty segments stay", "http://h//a///b//", "http://h//a///b//"},
	{"4.4 path: double dots remove an empty segment", "http://h//../a", "http://h/a"},
	{"4.4 path: double dots remove one empty segment", "http://h/a//../b", "http://h/a/b"},
	{"4.4 query: dots are not segments", "http://h/?a/../b", "http://h/?a/../b"},
	{"4.4 query: backslash stays", `http://h/?a\b`, `http://h/?a\b`},
	{"4.4 query: ? and / stay", "http://h/??a/b?", "http://h/??a/b?"},
	{"4.4 query: order and empty parts stay", "http://h/?b=1&&a=2&b", "http://h/?b=1&&a=2&b"},
	{"4.4 query: + is not a space", "http://h/?a+b%20c", "http://h/?a+b%20c"},
	{"1.3 path percent-encode set", "http://h/ \"<>`{}^\x7f\x01|'[]!$&()*+,;=:@~", "http://h/%20%22%3C%3E%60%7B%7D%5E%7F%01|'[]!$&()*+,;=:@~"},
	{"1.3 special-query percent-encode set", "http://h/? \"<>'\x7f\x01`{}^|[]!$&()*+,;=:@~", "http://h/?%20%22%3C%3E%27%7F%01`{}^|[]!$&()*+,;=:@~"},
	{"1.3 UTF-8 percent-encode", "http://h/é/日本?ü=€", "http://h/%C3%A9/%E6%97%A5%E6%9C%AC?%C3%BC=%E2%82%AC"},
	{"escapes stay as written", "http://h/%41%7e%2f%2F%c3%A9?%41%7e", "http://h/%41%7e%2f%2F%c3%A9?%41%7e"},
	{"broken escapes stay as written", "http://h/%/%1/%zz/%%41?%", "http://h/%/%1/%zz/%%41?%"},
	{"the quote does not re-encode the path", `http://h/a%2fb"`, "http://h/a%2fb%22"},
	{"octets that are not UTF-8", "http://h/\xe9/\xc3?\xff\xfe", "http://h/%E9/%C3?%FF%FE"},
	{"surrogates in UTF-8 are octets", "http://h/\xed\xa0\x80", "http://h/%ED%A0%80"},
}

func TestURLStandard_Accepted(t *testing.T) {
	for _, tt := range accepted {
		u := mustParse(t, tt.in)
		assert.Equalf(t, tt.fetch, u.String(), "%s: Parse(%q)\n got %q", tt.rule, tt.in, u)
	}
}

func TestRobotsHole_AQuoteDoesNotReencodeThePath_AsItDoesInNetURL(t *testing.T) {
	const in = `http://h/a%2fb"`
	u := mustParse(t, in)
	assert.Equalf(t, "/a%2fb%22", u.RequestURI(), "%s: target", in)
	v, err := url.Parse(in)
	if err != nil || v.EscapedPath() != "/a/b%22" {
		t.Errorf("net/url has changed (%q, %v): the reason given in the package comment is out of date", v.EscapedPath(), err)
	}
}

// resolved are references and their URLs against resolveBase.
var resolved = []struct{ rule, ref, fetch string }{
	{"4.4 no scheme: empty", "", "http://h:81/a/b;c/d?q"},
	{"4.4 relative: fragment", "#f", "http://h:81/a/b;c/d?q"},
	{"4.4 relative: white space", " \t\n ", "http://h:81/a/b;c/d?q"},
	{"4.4 relative: query", "?x=1#f", "http://h:81/a/b;c/d?x=1"},
	{"4.4 relative: empty query", "?", "http://h:81/a/b;c/d?"},
	{"4.4 relative: path", "x", "http://h:81/a/b;c/x"},
	{"4.4 relative: path", "x/y?z", "http://h:81/a/b;c/x/y?z"},
	{"4.4 relative: path with a colon behind a slash", "x/y:z", "http://h:81/a/b;c/x/y:z"},
	{"4.4 relative: path like a scheme except for its start", "1:x", "http://h:81/a/b;c/1:x"},
	{"4.4 relative: path like a scheme except for a character", "x_y:z", "http://h:81/a/b;c/x_y:z"},
	{"4.4 relative: dots", ".", "http://h:81/a/b;c/"},
	{"4.4 relative: dots", "./x", "http://h:81/a/b;c/x"},
	{"4.4 relative: dots", "..", "http://h:81/a/"},
	{"4.4 relative: dots", "../x", "http://h:81/a/x"},
	{"4.4 relative: dots", "../../../x", "http://h:81/x"},
	{"4.4 relative: dots in escapes", "%2e%2E/x", "http://h:81/a/x"},
	{"4.4 relative slash", "/x", "http://h:81/x"},
	{"4.4 relative slash", `\x`, "http://h:81/x"},
	{"4.4 relative slash", "/", "http://h:81/"},
	{"4.4 relative slash: authority", "//g/x", "http://g/x"},
	{"4.4 relative slash: authority", `/\g/x`, "http://g/x"},
	{"4.4 relative slash: authority", `\\//g/x`, "http://g/x"},
	{"4.4 relative slash: authority of the base", "//h:81", "http://h:81/"},
	{"4.4 relative slash: authority of the base", "//u@h:81?x", "http://h:81/?x"},
	{"4.4 special relative or authority", "http:x", "http://h:81/a/b;c/x"},
	{"4.4 special relative or authority", "HTTP:/x", "http://h:81/x"},
	{"4.4 special relative or authority", "http:?x", "http://h:81/a/b;c/d?x"},
	{"4.4 special relative or authority", "http:", "http://h:81/a/b;c/d?q"},
	{"4.4 special relative or authority", "http://g", "http://g/"},
	{"4.4 special authority slashes: other scheme", "https:g/x", "https://g/x"},
	{"4.4 special authority slashes: same site, other scheme", "https://h:81/x", "https://h:81/x"},
	{"4.4 removed tab makes an authority", "/\t/g/x", "http://g/x"},
}

const resolveBase = "http://user@h:81/a/b;c/d?q#f"

func TestURLStandard_Resolved(t *testing.T) {
	base := mustParse(t, resolveBase)
	for _, tt := range resolved {
		u, err := base.Resolve(tt.ref)
		require.NoError(t, err)
		assert.Equalf(t, tt.fetch, u.String(), "%s: Resolve(%q)\n got %q", tt.rule, tt.ref, u)
	}
}

func TestRFC3986_5_4_ReferencesResolveAsInTheExamples(t *testing.T) {
	base := mustParse(t, "http://a/b/c/d;p?q")
	// 5.4.1 and 5.4.2, fragments dropped; "http:g" as 5.4.2 resolves it "for backward compatibility".
	for ref, want := range map[string]string{
		"g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g", "//g": "http://g/",
		"?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", "#s": "http://a/b/c/d;p?q", "g#s": "http://a/b/c/g",
		"g?y#s": "http://a/b/c/g?y", ";x": "http://a/b/c/;x", "g;x": "http://a/b/c/g;x", "": "http://a/b/c/d;p?q",
		".": "http://a/b/c/", "./": "http://a/b/c/", "..": "http://a/b/", "../": "http://a/b/", "../g": "http://a/b/g",
		"../..": "http://a/", "../../": "http://a/", "../../g": "http://a/g", "../../../g": "http://a/g",
		"/./g": "http://a/g", "/../g": "http://a/g", "g.": "http://a/b/c/g.", ".g": "http://a/b/c/.g",
		"g..": "http://a/b/c/g..", "..g": "http://a/b/c/..g", "./../g": "http://a/b/g", "./g/.": "http://a/b/c/g/",
		"g/./h": "http://a/b/c/g/h", "g/../h": "http://a/b/c/h", "g;x=1/./y": "http://a/b/c/g;x=1/y",
		"g;x=1/../y": "http://a/b/c/y", "g?y/./x": "http://a/b/c/g?y/./x", "http:g": "http://a/b/c/g",
	} {
		u, err := base.Resolve(ref)
		assert.Truef(t, err == nil && u.String() == want, "Resolve(%q) = %q, %v; want %q", ref, u, err, want)
	}
}

func TestResolve_ZeroBaseTakesAbsoluteReferences(t *testing.T) {
	u, err := URL{}.Resolve("http://h/a")
	require.NoError(t, err)
	assert.Equalf(t, "http://h/a", u.String(), "absolute: got %q", u)
	for _, ref := range []string{"", "a", "/a", "//h/a", "?a", "#a"} {
		u, err := (URL{}).Resolve(ref)
		assert.Truef(t, ReasonOf(err) == Malformed && u.IsZero(), "Resolve(%q) = %q, %v; want %s", ref, u, err, Malformed)
	}
}

func TestURL_PartsOfTheRequest(t *testing.T) {
	for _, tt := range []struct{ in, target, path, query string }{
		{"http://h", "/", "/", ""},
		{"http://h/a/b", "/a/b", "/a/b", ""},
		{"http://h/a?", "/a?", "/a", ""},
		{"http://h/a?b?c", "/a?b?c", "/a", "b?c"},
		{"http://h:81//x?/", "//x?/", "//x", "/"},
	} {
		u, err := Parse(tt.in)
		if err != nil || u.RequestURI() != tt.target || u.Path() != tt.path || u.Query() != tt.query {
			t.Errorf("%s: %v; target %q, path %q, query %q", tt.in, err, u.RequestURI(), u.Path(), u.Query())
		}
	}
}

func TestURL_ZeroIsEmpty(t *testing.T) {
	var u URL
	got := u.String() + u.Key() + u.RequestURI() + u.Path() + u.Query() + u.Scheme() + u.Host() + u.RegistrableDomain() + u.Authority().String()
	assert.Truef(t, u.IsZero() && got == "", "zero URL: IsZero %t, %q", u.IsZero(), got)
}

func TestURL_TextRoundTrip(t *testing.T) {
	for _, tt := range accepted {
		u := mustParse(t, tt.in)
		text, err := u.MarshalText()
		require.NoError(t, err)
		v := URL{fetch: "left over"}
		err = v.UnmarshalText(text)
		assert.Truef(t, err == nil && v == u, "%q came back as %q, %v", u, v, err)
	}
	u := URL{fetch: "left over"}
	err := u.UnmarshalText(nil)
	assert.Truef(t, err == nil && u == (URL{}), "no octets gave %v, %v; want the zero URL", u, err)
	err = u.UnmarshalText([]byte("mailto:a"))
	assert.Truef(t, ReasonOf(err) == Scheme, "mailto: gave %v; want %s", err, Scheme)
}

func TestParse_RetainsNoInput(t *testing.T) {
	page := strings.Repeat("http://h:81/a ", 1000) // a link cut out of a page must not keep the page
	u := mustParse(t, page[:13])
	assert.True(t, unsafe.StringData(u.String()) != unsafe.StringData(page), "the URL is a part of its input")
	assert.True(t, unsafe.StringData(u.Authority().String()) != unsafe.StringData(u.String()), "the authority is a part of the URL")
}
