package canon

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAuthority_Parts(t *testing.T) {
	for _, tt := range []struct{ in, s, scheme, host, port, hostPort, addr string }{
		{"http://h/a", "http://h:80", "http", "h", "80", "h", ""},
		{"https://h/a", "https://h:443", "https", "h", "443", "h", ""},
		{"http://h:443/", "http://h:443", "http", "h", "443", "h:443", ""},
		{"https://h:80/", "https://h:80", "https", "h", "80", "h:80", ""},
		{"https://h:8443/", "https://h:8443", "https", "h", "8443", "h:8443", ""},
		{"http://h:8080/", "http://h:8080", "http", "h", "8080", "h:8080", ""},
		{"http://127.1/", "http://127.0.0.1:80", "http", "127.0.0.1", "80", "127.0.0.1", "127.0.0.1"},
		{"http://[::1]/", "http://[::1]:80", "http", "[::1]", "80", "[::1]", "::1"},
		{"https://[::1]:80/", "https://[::1]:80", "https", "[::1]", "80", "[::1]:80", "::1"},
		{"http://[::ffff:1.2.3.4]:81", "http://[::ffff:102:304]:81", "http", "[::ffff:102:304]", "81", "[::ffff:102:304]:81", "::ffff:1.2.3.4"},
		{"http://a1/", "http://a1:80", "http", "a1", "80", "a1", ""},
		{"http://fe80.example.x1/", "http://fe80.example.x1:80", "http", "fe80.example.x1", "80", "fe80.example.x1", ""},
	} {
		u := mustParse(t, tt.in)
		a := u.Authority()
		addr := ""
		if ip, ok := a.Addr(); ok {
			addr = ip.String()
		}
		got := []string{a.String(), a.Scheme(), a.Host(), a.Port(), a.HostPort(), addr}
		want := []string{tt.s, tt.scheme, tt.host, tt.port, tt.hostPort, tt.addr}
		assert.Equalf(t, strings.Join(want, " "), strings.Join(got, " "), "%s:\n got %q\nwant %q", tt.in, got, want)
		b, err := ParseAuthority(a.String())
		assert.Truef(t, err == nil && a == b, "%s came back as %q, %v", a, b, err)
	}
}

func TestAuthority_ZeroIsEmpty(t *testing.T) {
	var a Authority
	_, isAddr := a.Addr()
	got := a.String() + a.Scheme() + a.Host() + a.Port() + a.HostPort() + a.RegistrableDomain()
	assert.Truef(t, a.IsZero() && !isAddr && got == "", "zero Authority: IsZero %t, address %t, %q", a.IsZero(), isAddr, got)
	u, err := a.URL("/")
	assert.Truef(t, ReasonOf(err) == NoHost, "its URL: %q, %v", u, err)
}

func TestAuthority_EqualForAllSpellings(t *testing.T) {
	var made []Authority
	for _, in := range []string{"http://h", "HTTP://H:80/b", "http://u@h./c?d"} {
		u := mustParse(t, in)
		v, err := u.Resolve("../x")
		require.NoError(t, err)
		w, err := u.Resolve("//h:080/y")
		require.NoError(t, err)
		made = append(made, u.Authority(), v.Authority(), w.Authority())
	}
	count := map[Authority]int{}
	for _, a := range made {
		count[a]++
	}
	assert.Truef(t, len(count) == 1 && count[made[0]] == 9, "one authority was counted as %v", count)
}

func TestParseAuthority_TakesOnlyOrigins(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:80": "http://h:80", "https://H": "https://h:443", "HTTP://bücher.test.:81": "http://xn--bcher-kva.test:81",
		"http://[::1]": "http://[::1]:80",
	} {
		a, err := ParseAuthority(in)
		assert.Truef(t, err == nil && a.String() == want, "%q: %q, %v; want %q", in, a, err, want)
	}
	for in, want := range map[string]Reason{
		"": Malformed, "h": Malformed, "h:80": Malformed, "http:h": Malformed, "http://h/": Malformed, "http://h?": Malformed,
		"http://h#": Malformed, "http://u@h": Malformed, `http://h\`: Malformed, "http://": NoHost, "ftp://h": Scheme,
		"http://h:x": Malformed, " ://": Malformed,
	} {
		a, err := ParseAuthority(in)
		assert.Truef(t, ReasonOf(err) == want && a.IsZero(), "%q: %q, %v; want %s", in, a, err, want)
	}
}

func TestAuthority_URL_TargetIsAlwaysPath(t *testing.T) {
	a, err := ParseAuthority("https://h:8443")
	require.NoError(t, err)
	for target, want := range map[string]string{
		"/":             "https://h:8443/",
		"/robots.txt":   "https://h:8443/robots.txt",
		"//evil/x":      "https://h:8443//evil/x",
		"/@evil/":       "https://h:8443/@evil/",
		"/a?b=%2f\"#c":  "https://h:8443/a?b=%2f%22",
		"/http://evil/": "https://h:8443/http://evil/",
	} {
		u, err := a.URL(target)
		assert.Truef(t, err == nil && u.String() == want && u.Authority() == a, "URL(%q) = %q, %v; want %q", target, u, err, want)
	}
	for _, target := range []string{"", "a", "@evil/", ".evil/", ":80/", "?a", `\a`, " /a"} {
		u, err := a.URL(target)
		assert.Truef(t, ReasonOf(err) == Malformed, "URL(%q) = %q, %v; want %s", target, u, err, Malformed)
	}
}

func TestRegistrableDomain_IsThePublicSuffixAndOneLabel(t *testing.T) {
	for in, want := range map[string]string{
		"http://example.com":            "example.com",
		"http://a.b.example.com.":       "example.com",
		"http://www.example.co.uk":      "example.co.uk",
		"http://co.uk":                  "co.uk",
		"http://a.joe.github.io":        "joe.github.io", // a private suffix
		"http://github.io":              "github.io",
		"http://www.city.kawasaki.jp":   "city.kawasaki.jp", // an exception rule
		"http://www.食狮.公司.cn":           "xn--85x722f.xn--55qx5d.cn",
		"http://deep.bakery.test":       "bakery.test", // no rule: the last label is the suffix
		"http://localhost:8080":         "localhost",
		"http://127.0.0.1":              "127.0.0.1",
		"http://1.2.3.4:81":             "1.2.3.4",
		"http://[2001:db8::1]":          "[2001:db8::1]",
		"http://under_score.example.de": "example.de",
	} {
		u := mustParse(t, in)
		assert.Equal(t, want, u.RegistrableDomain(), in)
	}
}

func TestJSON_ValuesMapKeysAndZeros(t *testing.T) {
	type line struct {
		URL       URL
		Authority Authority
		Hosts     map[Authority]int
		None      URL
	}
	u := mustParse(t, "http://H./%7e?")
	in := line{URL: u, Authority: u.Authority(), Hosts: map[Authority]int{u.Authority(): 1}}
	text, err := json.Marshal(in)
	want := `{"URL":"http://h/%7e?","Authority":"http://h:80","Hosts":{"http://h:80":1},"None":""}`
	assert.Truef(t, err == nil && string(text) == want, "got  %s, %v\nwant %s", text, err, want)
	var out line
	require.NoError(t, json.Unmarshal(text, &out))
	assert.Truef(t, out.URL == in.URL && out.Authority == in.Authority && out.Hosts[u.Authority()] == 1 && out.None.IsZero(), "came back as %+v", out)
	assert.Equal(t, Malformed, ReasonOf(json.Unmarshal([]byte(`{"Authority":"http://h/a"}`), &out)), "an authority with a path")
	a := u.Authority()
	err = a.UnmarshalText(nil)
	assert.Truef(t, err == nil && a.IsZero(), "no octets gave %q, %v; want the zero Authority", a, err)
}
