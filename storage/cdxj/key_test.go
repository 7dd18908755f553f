package cdxj

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func TestKey(t *testing.T) {
	for url, want := range map[string]string{
		"http://www.Example.test/A?b=2&a=1": "test,example)/a?a=1&b=2",
		"https://example.test:443/":         "test,example)/",
		"https://example.test:8443/":        "test,example:8443)/",
		"http://127.0.0.1:8080/x":           "1,0,0,127:8080)/x",
		"http://[2001:DB8::80]/":            "[2001:db8::80])/",
		"http://bücher.test/ä":              "test,xn--bcher-kva)/%C3%A4",
		"http://xn--bcher-kva.test/%C3%A4":  "test,xn--bcher-kva)/%c3%a4", // as warcio has it
		"dns:example.test":                  "dns:example.test",
		"urn:a b\nc":                        "urn:a%20b%0ac",
		"":                                  "-",
	} {
		assert.Equal(t, want, Key(url), url)
	}
}

// A key is one word. That of a canonical URL does not depend on case, the order of the query or "www.".
func FuzzKey(f *testing.F) {
	for _, s := range []string{"http://www.a.test/X?b&a", "https://[::1]:8443/", "http://127.0.0.1/%7e", "dns:x y", "http://a.test/\u2028", "http://www1.www2.a.test:81/a;b?c=d&c=D&"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key := Key(s)
		require.Truef(t, key != "" && !strings.ContainsAny(key, " \t\r\n\x00\x7f"), "%q: key %q is not a word", s, key)
		u, err := canon.Parse(s)
		if err != nil {
			return
		}
		c := u.String()
		key = Key(c)
		lower := Key(strings.ToLower(c))
		require.Truef(t, lower == key, "%q: %q, in lower case %q", c, key, lower)
		if path, query, ok := strings.Cut(c, "?"); ok {
			first, others, more := strings.Cut(query, "&")
			turned := Key(path + "?" + others + "&" + first)
			require.Falsef(t, more && turned != key, "%q: %q, turned round %q", c, key, turned)
		}
		scheme, rest, _ := strings.Cut(c, "://")
		if with, err := canon.Parse(scheme + "://www." + rest); err == nil && !strings.HasPrefix(rest, "www") && with.Host() == "www."+u.Host() && Key(with.String()) != key {
			t.Fatalf("%q: %q, with www. %q", c, key, Key(with.String()))
		}
		require.Containsf(t, key, ")/", "%q: %q has no host", c, key)
	})
}
