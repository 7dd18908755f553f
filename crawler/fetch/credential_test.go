package fetch

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const password = "Tr0ub4dor&3-zebra"

func TestAuthIsBasicOrBearer(t *testing.T) {
	for file, want := range map[string]string{
		"jo:s3cr3t":               "Authorization: Basic am86czNjcjN0\r\n",
		"jo:":                     "Authorization: Basic am86\r\n",
		"jo:a:b c":                "Authorization: Basic am86YTpiIGM=\r\n",
		"Bearer abc.DEF-123_~+/=": "Authorization: Bearer abc.DEF-123_~+/=\r\n",
		"bearer abc":              "Authorization: Bearer abc\r\n",
		"":                        "",
		"jo":                      "",
		":x":                      "",
		"Bearer ":                 "",
		"Bearer a b":              "",
		"jo:a\x00b":               "",
		"jo:a\r\nX: y":            "",
	} {
		f, err := ParseAuth(file)
		if want == "" {
			if err == nil || len(file) > 8 && strings.Contains(err.Error(), file) {
				t.Errorf("%q: %v", file, err)
			}
			continue
		}
		if err != nil || f.Line() != want || f.Shown() != "Authorization: (masked)\r\n" {
			t.Errorf("%q: %q, %v", file, f.Line(), err)
		}
	}
}

func TestHeaderFilesHaveFieldsThatAreNotTheCrawlers(t *testing.T) {
	all, err := ParseFields("X-Api-Key: " + password + "\r\n\nCookie: session=abcdefghij; theme=dark\n")
	if err != nil || len(all) != 2 || all[0].Line() != "X-Api-Key: "+password+"\r\n" || all[1].Name != "Cookie" {
		t.Fatalf("%v, %v", all, err)
	}
	for _, file := range []string{"", "X", "X:", ": " + password, "X Y: " + password, "Host: " + password, "user-agent: " + password,
		"Proxy-Authorization: " + password, "If-None-Match: " + password, "X: " + password + "\nx: " + password, "X: a\x01" + password,
		"Content-Length: " + password, strings.Repeat("X", 9) + ": " + strings.Repeat("x", maxValue+1)} {
		if _, err := ParseFields(file); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestFieldsBelongToOneAuthority(t *testing.T) {
	f, err := ParseAuth("jo:" + password)
	require.NoError(t, err)
	var s Set
	require.NoError(t, s.Add(authority(t, "https://own.test/"), f))
	if err := s.Add(authority(t, "https://own.test/x"), f); err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("twice: %v", err)
	}
	for _, other := range []string{"http://own.test/", "https://own.test:8443/", "https://www.own.test/", "https://own.test.evil.test/", "https://test/"} {
		assert.Falsef(t, s.Has(authority(t, other)), "%s has credentials", other)
	}
	if !s.Has(authority(t, "https://OWN.test:443/a?b")) || (*Set)(nil).Has(authority(t, "https://own.test/")) {
		t.Error("the authority itself has none, or that of no set some")
	}
}

func TestNoPrintingShowsAValue(t *testing.T) {
	f, err := ParseAuth("jo:" + password)
	require.NoError(t, err)
	s := &Set{}
	require.NoError(t, s.Add(authority(t, "https://own.test/"), f))
	deep := struct {
		set    *Set
		inner  Set
		fields []field
	}{s, *s, []field{f}}
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb, f)
		fmt.Fprintf(&b, verb, s)
		fmt.Fprintf(&b, verb, *s)
		fmt.Fprintf(&b, verb, deep)
	}
	_ = json.NewEncoder(&b).Encode(s) //nolint:staticcheck // functions have no JSON: the test is that no secret is encoded, and an error is also fine
	_ = json.NewEncoder(&b).Encode(f)
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "f", f, "s", s, "deep", deep)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "f", f, "s", s, "deep", deep)
	for _, secret := range []string{password, "am86VHIw", fmt.Sprintf("%x", password), strings.Trim(fmt.Sprint([]byte(password)), "[]")} {
		assert.NotContains(t, b.String(), secret, "the secret is printed")
	}
}

func TestRepeated_WhateverWayAPageWritesIt(t *testing.T) {
	basic, err := ParseAuth("jo:" + password)
	require.NoError(t, err)
	cookie, err := ParseFields("Cookie: session=abcdefghij; theme=dark\nX-Key: ab")
	require.NoError(t, err)
	fields := append(cookie, basic)
	for page, want := range map[string]bool{
		"": false, "jo": false, "theme=dark": false, "; theme=dark": false, "ab": false, "session=abcdefghi": false,
		"Basic am86VHIwdWI0ZG9yJjMtemVicmE=":                                 true,
		"<b>am86VHIwdWI0ZG9yJjMtemVicmE</b>":                                 true,
		"the password " + password:                                           true,
		"Tr0ub4dor&amp;3-zebra":                                              true,
		"?p=Tr0ub4dor%263-zebra":                                             true,
		`{"p":"Tr0ub4dor\u00263-zebra"}`:                                     true,
		"547230756234646f7226332d7a65627261":                                 true,
		"your session: abcdefghij":                                           true,
		"547230756234646F7226332D7A65627261":                                 true,
		"TR0UB4DOR&3-ZEBRA":                                                  true,
		"Location: /x?k=%54%72%30%75%62%34%64%6f%72%26%33%2d%7a%65%62%72%61": true,
		"Location: /x?k=%54%72%30%75%62%34%64%6F%72%26%33%2D%7A%65%62%72%61": true,
		"&#84;&#114;&#48;&#117;&#98;&#52;&#100;&#111;&#114;&amp;&#51;-&#x7a;&#X65;&#x00062;&#114;&#97;": true,
		`\u0054r0ub4dor\u00263-\x7Aebra`: true,
		`Tr0ub4dor&3\-zebra`:             true,
		base64.StdEncoding.EncodeToString([]byte("x" + password + "yz")):              true,
		base64.URLEncoding.EncodeToString([]byte("xy" + password + "y")):              true,
		base64.StdEncoding.EncodeToString([]byte("xyz" + password + "yzx")):           true,
		"%54%72%30%75%62%34%64%6f%72%26%33%2d%7a%65%62%72":                            false, // one byte is missing
		"%%5&#;&#x;&#84\\u00\\x5\\":                                                   false,
		strings.Repeat("x", 64<<10-9) + strings.ReplaceAll(password, "-", "&#00045;"): true,
		strings.Repeat("x", 64<<10-5) + password:                                      true,
		strings.Repeat("x", 128<<10-9) + password:                                     true,
	} {
		if got, err := credentialRepeated(fields, strings.NewReader(page)); err != nil || got != want {
			t.Errorf("%.60q: %v, %v", page, got, err)
		}
	}
}
