package canon

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKey_IsNormalisedWithoutLoss(t *testing.T) {
	for _, tt := range []struct{ rule, in, key string }{
		{"the fetch URL where nothing is to be done", "http://h/a?b=c", "http://h/a?b=c"},
		{"RFC 3986 6.2.2.1: escapes in upper case", "http://h/%c3%a9%2f?%3d", "http://h/%C3%A9%2F?%3D"},
		{"RFC 3986 6.2.2.2: unreserved decoded", "http://h/%41%5a%61%7A%30%39%2d%2E%5f%7e", "http://h/AZaz09-._~"},
		{"RFC 3986 6.2.2.2: unreserved decoded in the query", "http://h/?%7Ea=%62", "http://h/?~a=b"},
		{"RFC 3986 2.2: reserved stay encoded", "http://h/%2F%3F%23%5B%40%21%24%26%3D?%26%3d%2b", "http://h/%2F%3F%23%5B%40%21%24%26%3D?%26%3D%2B"},
		{"RFC 3986 2.4: an encoded percent stays", "http://h/%2541%25", "http://h/%2541%25"},
		{"encoded and plain reserved differ", "http://h/a;b", "http://h/a;b"},
		{"empty query dropped", "http://h/a?", "http://h/a"},
		{"empty query dropped, escapes decoded", "http://h/%61?", "http://h/a"},
		{"a query of ? is not empty", "http://h/a??", "http://h/a??"},
		{"no slash is stripped", "http://h//a//", "http://h//a//"},
		{"no parameter is sorted or dropped", "http://h/?b&a=&PHPSESSID=1&utm_source=x", "http://h/?b&a=&PHPSESSID=1&utm_source=x"},
		{"case of the path stays", "http://h/A", "http://h/A"},
		{"a decoded dot in a name", "http://h/%2ea/b%2e", "http://h/.a/b."},
		{"three decoded dots are a name", "http://h/%2e%2e%2e/", "http://h/.../"},
		{"dot segments in escapes are resolved first", "http://h/a/%2e%2e/b", "http://h/b"},
		{"broken escapes stay", "http://h/%/%4/%zz?%", "http://h/%/%4/%zz?%"},
		{"decoding makes no escape: digits behind %", "http://h/%%34%31", "http://h/%%341"},
		{"decoding makes no escape: digit behind %4", "http://h/%4%31", "http://h/%4%31"},
		{"decoding makes no escape: digit between % and a digit", "http://h/%%341", "http://h/%%341"},
		{"decoding makes no dot", "http://h/%2%65/%2%65%2%45", "http://h/%2%65/%2%65%2%45"},
		{"behind a broken escape other octets are decoded", "http://h/%%7e%4%7e", "http://h/%~%4~"},
		{"an octet that is not UTF-8", "http://h/\xe9", "http://h/%E9"},
	} {
		u := mustParse(t, tt.in)
		assert.Equalf(t, tt.key, u.Key(), "%s: %q", tt.rule, tt.in)
	}
}

func TestKey_FetchURLKeepsDroppedParts(t *testing.T) {
	a, errA := Parse("http://h/%7ejoe?")
	b, errB := Parse("http://h/~joe")
	if errA != nil || errB != nil || a.Key() != b.Key() || a == b || a.RequestURI() != "/%7ejoe?" {
		t.Errorf("%q (key %q, %v) and %q (key %q, %v)", a, a.Key(), errA, b, b.Key(), errB)
	}
}
