package optout

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func url(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

func list(t testing.TB, text string) *List {
	t.Helper()
	l, err := Parse("list", []byte(text))
	require.NoError(t, err)
	return l
}

func TestRule16_Entries(t *testing.T) {
	for _, tt := range []struct {
		entry    string
		in, free string // URLs
	}{
		{"example.org", "http://example.org/ https://example.org/a?b http://example.org:8080/robots.txt", "http://www.example.org/ http://example.org.test/ http://xexample.org/"},
		{"EXAMPLE.org.", "http://example.org/", "http://www.example.org/"},
		{"bücher.test", "http://xn--bcher-kva.test/", "http://bucher.test/"},
		{"example.org:8080", "http://example.org:8080/ https://example.org:8080/x", "http://example.org/"},
		{"example.org:80", "http://example.org/", "https://example.org/ http://example.org:8080/"},
		{"https://example.org", "https://example.org/ https://example.org/a", "http://example.org/ https://example.org:8443/"},
		{"https://example.org/", "https://example.org/a", "http://example.org/"},
		{"http://example.org:8080/", "http://example.org:8080/a", "http://example.org/ https://example.org:8080/"},
		{".example.org", "http://example.org/ http://www.example.org/ https://a.b.example.org:1/x", "http://badexample.org/ http://example.org.test/ http://org/"},
		{".test", "http://a.test/ http://test/", "http://a.org/"},
		{"192.0.2.7", "http://192.0.2.7/ http://192.0.2.7:81/x http://[::ffff:192.0.2.7]/", "http://192.0.2.8/"},
		{"0xc0.0.2.7", "http://192.0.2.7/", "http://192.0.2.8/"},
		{"192.0.2.7:81", "http://192.0.2.7:81/", "http://192.0.2.7/"},
		{"2001:db8::7", "http://[2001:db8::7]/", "http://[2001:db8::8]/"},
		{"[2001:db8::7]", "http://[2001:DB8:0::7]/", "http://[2001:db8::8]/"},
		{"[2001:db8::7]:81", "http://[2001:db8::7]:81/", "http://[2001:db8::7]/"},
		{"192.0.2.0/24", "http://192.0.2.0/ http://192.0.2.255/x", "http://192.0.3.0/ http://example.org/"},
		{"0.0.0.0/0", "http://1.2.3.4/", "http://[2001:db8::1]/ http://example.org/"},
		{"2001:db8::/32", "http://[2001:db8:ffff::1]/", "http://[2001:db9::]/"},
		{"example.org/private/", "http://example.org/private/ http://example.org/private/x?y https://example.org:1/private/ http://example.org/%70rivate/x", "http://example.org/private http://example.org/Private/ http://example.org/ http://www.example.org/private/"},
		{"example.org/priv", "http://example.org/private", "http://example.org/pri"},
		{"example.org/a/../b/", "http://example.org/b/x", "http://example.org/a/"},
		{"example.org/caf%C3%A9", "http://example.org/caf%c3%a9/1 http://example.org/café", "http://example.org/cafe"},
		{"example.org/search?q=", "http://example.org/search?q=rye", "http://example.org/search http://example.org/search?p=1"},
		{"example.org/?p=1", "http://example.org/?p=12", "http://example.org/"},
		{"example.org/2024", "http://example.org/2024/x", "http://example.org/2023"},
		{"https://example.org/p/", "https://example.org/p/1", "http://example.org/p/1 https://example.org:1/p/1"},
		{"example.org:81/p/", "http://example.org:81/p/1", "http://example.org/p/1"},
		{"192.0.2.7/p/", "http://192.0.2.7/p/1", "http://192.0.2.7/q"},
	} {
		l := list(t, tt.entry)
		for _, raw := range strings.Fields(tt.in) {
			_, ok := l.URL(url(t, raw))
			assert.Truef(t, ok, "%q does not hold %s", tt.entry, raw)
		}
		for _, raw := range strings.Fields(tt.free) {
			e, ok := l.URL(url(t, raw))
			assert.Truef(t, !ok, "%q holds %s: %+v", tt.entry, raw, e)
		}
	}
}

func TestRule16_AListIsReadLineByLine(t *testing.T) {
	l := list(t, "\ufeff# who asked\r\n\r\n  example.org\tby mail, 3 May  \r\n\t# indented\n.example.net # by phone # twice\na.test#at once\n192.0.2.0/24\t\nlast.test")
	want := `[{3 example.org by mail, 3 May} {5 .example.net by phone # twice} {6 a.test at once} {7 192.0.2.0/24 } {8 last.test }]`
	got := fmt.Sprint(l.Entries())
	assert.Truef(t, got == want, "\n got %s\nwant %s", got, want)
	e, ok := l.URL(url(t, "http://www.example.net/x"))
	assert.Truef(t, ok && e.Line == 5 && e.Reason == "by phone # twice", "%+v, %v", e, ok)
	assert.Equal(t, "[]", fmt.Sprint(list(t, "# nobody\n\n").Entries()))
}

func TestRule16_MistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"example.org\nbad host.test":   `list:2: "bad host.test": one entry on a line`,
		"*.example.org":                "write .example.org",
		"example.org/*":                "write example.org/",
		"https://example.org/p/*?q":    "write https://example.org/p/",
		"ftp://example.org":            "only http and https",
		"https://":                     "no host",
		"/private/":                    "no host",
		"192.0.2.1/24":                 "the network of that length is 192.0.2.0/24",
		"192.0.2.0/33":                 "write it like 192.0.2.0/24",
		"2001:db8::/129":               "write it like",
		"::ffff:192.0.2.0/120":         "write a network of IPv4",
		".example.org/private/":        "no path",
		"https://.example.org":         "no scheme",
		".":                            "list:1",
		".192.0.2.1":                   "a domain is expected",
		".example.org:80":              "a domain is expected",
		"user@example.org":             "write a host",
		"example.org?x=1":              "write a host",
		"a..b":                         "malformed",
		"2001:db8::7/private/":         "malformed",
		"example.org:99999":            "malformed",
		"a.test\x00":                   "control character",
		"a.test\xff":                   "not UTF-8",
		strings.Repeat("a", maxLine+1): "longer than",
		// Entries that no URL matches are mistakes.
		"*":                                "* is taken literally",
		"127.*":                            "a network like",
		"10.0.*.*":                         "a network like",
		"www.*.example.org":                "* is taken literally",
		".*.example.org":                   "* is taken literally",
		"example.*":                        "* is taken literally",
		"*:8080":                           "* is taken literally",
		"https://*":                        "* is taken literally",
		"https://www.*/x":                  "* is taken literally",
		"\uff0a.example.org":               "* is taken literally", // the full-width one becomes the other
		"127":                              "0.0.0.127, which nobody has",
		"10/":                              "0.0.0.10, which nobody has",
		"example!.org":                     "no host has such a name",
		"(example.org)":                    "no host has such a name",
		"example.org,example.net":          "no host has such a name",
		"example.org;":                     "no host has such a name",
		".example.org,":                    "no host has such a name",
		strings.Repeat("a", 64) + ".test":  "over 63 bytes",
		strings.Repeat("a.", 127) + "test": "too long for a domain name",
	} {
		_, err := Parse("list", []byte(text))
		assert.Truef(t, err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "list:"), "%.40q: %v; want %q", text, err, want)
	}
	_, err := Parse("list", []byte(strings.Repeat("no good\n", 1000)))
	n := strings.Count(err.Error(), "list:")
	assert.Truef(t, n == maxMistakes && strings.Contains(err.Error(), "more"), "%d mistakes are named: %v", n, err)
}

func TestRule16_AddressesOfNarrowAndWideNetworks(t *testing.T) {
	l := list(t, "192.0.2.0/24\n192.0.0.0/16\n192.0.2.7\n2001:db8::/32\n64:ff9b::/96")
	for addr, want := range map[string]int{
		"192.0.2.7": 3, "192.0.2.8": 1, "192.0.3.1": 2, "192.1.0.0": 0, "::ffff:192.0.2.7": 3,
		"2001:db8::1": 4, "2001:db8::1%eth0": 4, "2001:db9::": 0, "64:ff9b::1": 5,
	} {
		e, _ := l.Addr(netip.MustParseAddr(addr))
		assert.Truef(t, e.Line == want, "%s: line %d, want %d", addr, e.Line, want)
	}
	_, ok := l.Addr(netip.Addr{})
	assert.True(t, !ok, "no address is listed")
}

func TestLookingUpAllocatesNothing(t *testing.T) {
	l := list(t, "a.test\n.b.test\n192.0.2.0/24\nc.test/private/\n2001:db8::/32")
	us := []canon.URL{url(t, "http://x.y.b.test/"), url(t, "http://c.test/public"), url(t, "http://192.0.2.1/"), url(t, "http://z.test/")}
	if n := testing.AllocsPerRun(100, func() {
		for _, u := range us {
			l.URL(u)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	f := newFolder(t)
	f.write("list", "a.test\n.x.test\n")
	w := f.open(File{Path: "list"})
	n := testing.AllocsPerRun(100, func() { w.URL(us[1]) })
	assert.Truef(t, n <= 0, "%v allocations by a Watch", n)
}

// askable matches names that resolvers accept (RFC 1123 2.1, and underscores).
var askable = regexp.MustCompile(`^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$`)

// An accepted entry covers its own host, also when it is parsed again from Entries.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"example.org", "2.0.2.0/24$", ".a.test\tx", "192.0.2.0/24 # y", "a.test/p?q", "https://[::1]:8/", "1.2.3", "0/8", "*", ".*.a", "a!b", "\uff0a.a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse("list", []byte(text))
		if err != nil {
			return
		}
		var again strings.Builder
		for _, e := range l.Entries() {
			fmt.Fprintln(&again, e.Text)
			raw := e.Text
			switch {
			case strings.Contains(raw, "://"):
			case raw[0] == '.':
				raw = "http://below" + raw
			default:
				if p, err := netip.ParsePrefix(raw); err == nil {
					raw = p.Addr().String()
				}
				if a, err := netip.ParseAddr(raw); err == nil {
					_, ok := l.Addr(a)
					require.Truef(t, ok, "%q: %s is not found", text, a)
					continue
				}
				raw = "http://" + raw
			}
			u, err := canon.Parse(strings.TrimSuffix(raw, "$")) // the end of the path
			if err != nil {
				continue // longer below than a name may be
			}
			_, ok := l.URL(u)
			require.Truef(t, ok, "%q: %s is not found", text, u)
			_, literal := u.Authority().Addr()
			require.Falsef(t, !literal && !askable.MatchString(u.Authority().Host()), "%q: no crawl ever meets %s", text, u)
		}
		m, err := Parse("list", []byte(again.String()))
		require.Truef(t, err == nil && len(m.Entries()) == len(l.Entries()), "%q: read again: %v", text, err)
	})
}
