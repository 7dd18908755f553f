package crawltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRFC3986_6_2_2_Key(t *testing.T) {
	for _, tc := range []struct{ target, key string }{
		{"", "/"}, {"/", "/"}, {"/?", "/"}, {"/??", "/??"}, {"?q=1", "/?q=1"}, {"/%7euser", "/~user"},
		{"/%41%2d%2E%5f", "/A-._"}, {"/a%2fb", "/a%2Fb"}, {"/a/b", "/a/b"}, {"/stra\u00dfe", "/stra%C3%9Fe"},
		{"/stra%c3%9fe", "/stra%C3%9Fe"}, {"/a b\"<>", "/a%20b%22%3C%3E"}, {"/?b=2&a=1", "/?b=2&a=1"},
		{"/100%", "/100%"}, {"/%zz", "/%zz"}, {"/a#b", "/a"}, {"/a;b=1,2!$'()*+@:", "/a;b=1,2!$'()*+@:"},
	} {
		assert.Equalf(t, tc.key, Key(tc.target), "Key(%q)", tc.target)
	}
}

func TestResolveAsOnAPage(t *testing.T) {
	web := New(&Site{Name: "a.test"}, &Site{Name: "b.test:81"})
	from := place{"a.test", "/dir/page?q=1"}
	for _, tc := range []struct{ ref, want string }{
		{"x.html", "http://a.test/dir/x.html"}, {"../y", "http://a.test/y"},
		{"./a/./b/../c%2Fd", "http://a.test/dir/a/c%2Fd"}, {"%2e%2e/z", "http://a.test/z"},
		{"?r=\u00e9", "http://a.test/dir/page?r=%C3%A9"}, {"#top", "http://a.test/dir/page?q=1"},
		{" //b.test:81 ", "http://b.test:81/"},
		{"HTTP://A.Test:80/x", "http://a.test/x"}, {"http://b.test/", ""}, {"https://a.test/", ""},
		{"mailto:x@a.test", ""}, {"http://c.test/", ""}, {"http://a.test:x/", ""},
	} {
		got, ok := web.resolve(from, tc.ref)
		if ok != (tc.want != "") || ok && got.String() != tc.want {
			t.Errorf("%q leads to %s, %v; want %q", tc.ref, got, ok, tc.want)
		}
	}
}

// Escaping unreserved bytes does not change the key.
func FuzzKeyOfEquivalentSpellings(f *testing.F) {
	f.Add("/a/~b?c=d", uint(3))
	f.Add("/stra\u00dfe/%2f", uint(1))
	f.Add("/%%34%31", uint(0))
	f.Fuzz(func(t *testing.T, target string, at uint) {
		k := Key(target)
		if !strings.Contains(target, "%") {
			assert.Equal(t, k, Key(k))
		}
		if i := int(at % uint(len(k))); i > 0 && unreserved(k[i]) && !strings.Contains(k, "%") {
			for _, escape := range []string{"%%%02x", "%%%02X"} {
				assert.Equal(t, k, Key(k[:i]+fmt.Sprintf(escape, k[i])+k[i+1:]))
			}
		}
	})
}
