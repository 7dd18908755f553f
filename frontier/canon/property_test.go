package canon

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func FuzzURL_Invariants(f *testing.F) {
	addSeeds(f)
	for _, s := range []string{"http://h/%%34%31", "http://h/%4%31?%", "http://h/%%%2565", "http://h/%2%65%2f.%%2e", "http://h/%25%32%65"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw)
		if err != nil {
			e, ok := err.(*Error)
			require.Truef(t, ok && e.Reason != "" && u.IsZero(), "%q: refused with %#v, URL %#v", raw, err, u)
			return
		}
		checkForm(t, u)
		v, err := Parse(u.String())
		assert.Truef(t, err == nil && v == u, "Parse(String): %#v, %v; was %#v", v, err, u)
		if v, err := Parse(u.Key()); err != nil || v.String() != u.Key() || v.Key() != u.Key() {
			t.Errorf("Parse(Key): %#v, %v; was %#v", v, err, u)
		}
		if v, err := u.Authority().URL(u.RequestURI()); err != nil || v != u {
			t.Errorf("Authority.URL(RequestURI): %#v, %v; was %#v", v, err, u)
		}
		a, err := ParseAuthority(u.Authority().String())
		assert.Truef(t, err == nil && a == u.Authority(), "ParseAuthority(String): %#v, %v; was %#v", a, err, u.Authority())
		if unescapeAll(strings.TrimSuffix(u.Key(), "?")) != unescapeAll(strings.TrimSuffix(u.String(), "?")) {
			t.Errorf("the key %q does not mean the octets of %q", u.Key(), u)
		}
	})
}

var (
	fetchForm     = regexp.MustCompile(`^https?://([^\x00-\x20#/:<>?@\[\\\]^|%\x7f-\xffA-Z]+|\[[0-9a-f:]+\])(:[0-9]+)?/[^?#\\"<>` + "`" + `{}^]*(\?[^#"<>']*)?$`)
	authorityForm = regexp.MustCompile(`^https?://.+:[0-9]+$`)
	dotSegment    = regexp.MustCompile(`(?i)/(\.|%2e){1,2}(/|$)`)
)

// checkForm checks u against "Canonical form" of the package comment.
func checkForm(t *testing.T, u URL) {
	t.Helper()
	s, a := u.String(), u.Authority()
	for i := range len(s) {
		require.Truef(t, s[i] > ' ' && s[i] <= '~', "%q holds octet %#x", s, s[i])
	}
	assert.Truef(t, len(s) <= MaxLength && len(a.Host()) <= MaxHost && fetchForm.MatchString(s) && !dotSegment.MatchString(u.Path()), "%q is not in canonical form", s)
	assert.Truef(t, len(u.Key()) <= len(s) && (!dotSegment.MatchString(u.Key()[u.root:]) || strings.Contains(u.Key(), "?")), "key %q of %q", u.Key(), s)
	if !authorityForm.MatchString(a.String()) || strings.HasSuffix(a.Host(), ".") || u.Scheme()+"://"+a.HostPort()+u.RequestURI() != s {
		t.Errorf("authority %q of %q", a, s)
	}
	domain := u.RegistrableDomain()
	assert.Truef(t, domain != "" && strings.HasSuffix(a.Host(), domain), "registrable domain %q of %q", domain, s)
}

// naivePath and naiveQuery have the percent-encode sets of URL Standard 1.3, byte by byte.
func naivePath(s string) string  { return naiveEncode(s, " \"#<>?^`{}") }
func naiveQuery(s string) string { return naiveEncode(s, " \"#<>'") }

func naiveEncode(s, set string) string {
	out := ""
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7e || strings.Contains(set, string(rune(c))) {
			out += "%" + upperHex[c>>4:c>>4+1] + upperHex[c&15:c&15+1]
		} else {
			out += string(rune(c))
		}
	}
	return out
}

// Without the characters with a meaning in the Standard (dot segments, backslashes, breaks, "#", and "?" in the path),
// path and query are sent as written except for the percent-encode sets. In particular all escapes stay.
func FuzzParse_KeepsOctetsOfPathAndQuery(f *testing.F) {
	f.Add(`a%2fb"`, "a=%2f'&&b")
	f.Add("//%7e/%C3%a9/\xff", "\xe9=%e9;a=?+")
	f.Add("%%2/%zz", "%")
	f.Fuzz(func(t *testing.T, path, query string) {
		path, query = "/"+path, "?"+query+"x" // x: white space at the end would be trimmed
		if len(path)+len(query) > maxInput/4 {
			return // the naive one is quadratic
		}
		if strings.ContainsAny(path, "?#\\\t\r\n") || strings.ContainsAny(query, "#\t\r\n") || dotSegment.MatchString(path) {
			return
		}
		want := naivePath(path) + "?" + naiveQuery(query[1:])
		u, err := Parse("http://h" + path + query)
		if len(want) > MaxLength-len("http://h") {
			require.Equalf(t, TooLong, ReasonOf(err), "%q, %v", u, err)
			return
		}
		require.NoError(t, err)
		assert.Equalf(t, want, u.RequestURI(), "%q%q", path, query)
		v, err := u.Resolve(path + query)
		if strings.HasPrefix(path, "//") {
			return // a reference to another site
		}
		require.NoError(t, err)
		assert.Equalf(t, u, v, "resolved: %q, %v; want %q", v, err, u)
	})
}

var anyEscape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// The key is the fetch URL with each escape normalised separately, without broken escapes, for which that would
// be wrong.
func FuzzKey_EqualsNaive(f *testing.F) {
	f.Add("a%7e%2f%41%c3%a9", "%3d=%30")
	oneUnreserved := regexp.MustCompile(`^[A-Za-z0-9._~-]$`)
	f.Fuzz(func(t *testing.T, path, query string) {
		u, err := Parse("http://h/" + path + "?" + query)
		if err != nil || strings.Contains(anyEscape.ReplaceAllString(u.String(), ""), "%") {
			return
		}
		want := anyEscape.ReplaceAllStringFunc(u.String(), func(e string) string {
			if c := unescapeAll(e); oneUnreserved.MatchString(c) {
				return c
			}
			return strings.ToUpper(e)
		})
		if strings.Count(want, "?") == 1 {
			want = strings.TrimSuffix(want, "?")
		}
		assert.Equalf(t, want, u.Key(), "key of %q", u)
	})
}
