package canon

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The oracle is an independent implementation of the URL Standard, with the caret added to the path percent-encode set
// (2025, whatwg/url pull request 846).
var oracleParser = whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')))

// oracle returns the oracle's fetch URL of ref, resolved against base ("" for none), with those differences of the
// package comment applied that change a URL rather than refuse it.
func oracle(base, ref string) (fetch string, ok bool) {
	u, err := oracleParser.ParseRef(base, escapeNonText(ref))
	if err != nil || u.Scheme() != "http" && u.Scheme() != "https" {
		return "", false
	}
	if _, err := oracleParser.Parse("http://" + u.Hostname()); err != nil {
		return "", false // the Bidi rule, missed before mapping by the IDNA package that both parsers use
	}
	fetch = u.Scheme() + "://" + strings.TrimSuffix(u.Hostname(), ".")
	if u.Port() != "" {
		fetch += ":" + u.Port()
	}
	fetch += u.Pathname()
	if _, query, ok := strings.Cut(u.Href(true), "?"); ok { // Search does not distinguish an empty query from none
		fetch += "?" + query
	}
	return fetch, true
}

func escapeNonText(s string) string {
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			b.WriteByte('%')
			b.WriteByte(upperHex[s[0]>>4])
			b.WriteByte(upperHex[s[0]&15])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// The oracle's own departures from the Standard.
var (
	// "[[::1]]" is taken for "[::1]": all brackets are trimmed off. URL Standard 3.5 step 1 removes one of each.
	manyBrackets = regexp.MustCompile(`\[[^/]*\[|\][^/]*\]`)
	// "-256" is taken for 255.255.255.0. The IPv4 number parser of 3.5 knows digits only.
	signedNumber = regexp.MustCompile(`(^|\.)(0x?)?[+-][^.]*$`)
	// A name that needs A-labels must be of these octets. It applies UseSTD3ASCIIRules, which 3.3 sets to false.
	strictName = regexp.MustCompile(`^[a-z0-9.-]*$`)
)

func isOurRefusal(err error) bool {
	e := err.(*Error)
	return e.Reason == Scheme || e.Reason == TooLong || e.Cause == errLabel || e.Cause == errHostLong
}

func isSigned(err error, ref string) bool {
	return err.(*Error).Cause == errIPv4 && strings.ContainsAny(unescapeAll(ref), "+-＋－")
}

// isFolded reports whether a reference has A-labels: in ASCII they are only folded since June 2026.
func isFolded(u URL, ref string) bool {
	return strings.Contains(u.Host(), "xn--") && strings.Contains(strings.ToLower(stripBreaks(unescapeAll(ref))), "xn--")
}

// agree fails t unless u and err agree with the oracle, where it is right. The base was made by Parse, or is zero.
func agree(t *testing.T, base URL, ref string, u URL, err error) {
	t.Helper()
	_, known := oracle("", base.String())
	if !base.IsZero() && !known || signedNumber.MatchString(base.Host()) || signedNumber.MatchString(u.Host()) {
		return
	}
	want, ok := oracle(base.String(), ref)
	switch {
	case err == nil && isFolded(u, ref):
	case err != nil && ok && !isOurRefusal(err) && !isSigned(err, ref) && !manyBrackets.MatchString(stripBreaks(ref)):
		t.Errorf("%q against %q: %v; the oracle has %q", ref, base, err, want)
	case err == nil && !ok && strictName.MatchString(u.Host()):
		t.Errorf("%q against %q: %q; the oracle refuses it", ref, base, u)
	case err == nil && ok && u.String() != want && !strings.Contains(unescapeAll(ref)+unescapeAll(base.String()), "\u1E9E"):
		t.Errorf("%q against %q:\n     got %q\n  oracle %q", ref, base, u, want)
	}
}

func TestOracle_AgreesWithTheTables(t *testing.T) {
	for _, tt := range accepted {
		u, err := Parse(tt.in)
		agree(t, URL{}, tt.in, u, err)
	}
	for _, tt := range hosts {
		in := "http://" + tt.in + "/"
		u, err := Parse(in)
		agree(t, URL{}, in, u, err)
	}
	base := mustParse(t, resolveBase)
	for _, tt := range resolved {
		u, err := base.Resolve(tt.ref)
		agree(t, base, tt.ref, u, err)
	}
}

// TestOracle_AgreesWithRandomURLs joins pieces that have a meaning to the parser and that random bytes seldom hit.
func TestOracle_AgreesWithRandomURLs(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector")
	}
	pieces := strings.Fields("http: HTTPS: ftp: / / // /// \\ ? # @ : :80 :443 :0081 :99999 . .. %2e %2E. %2f a b c A Z 0 1 9 " +
		"255 256 0x 0x7f 07 08 . 127.0.0.1 [ ] [::1] [1:2::] : ff :: ::1.2.3.4 xn-- xn--bcher-kva é ü ß 。 １ \u0627 \u00ad \u200d - _ ~ " +
		"! ' \" < > ^ ` { } | % %4 %41 %c3%a9 %E9 + = & ; , $ * ( ) \xe9 \x01 \x7f user:pw@ example.com")
	pieces = append(pieces, " ", "\t", "\n", "\x00")
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) string {
		s := ""
		for range random.IntN(n) {
			s += pieces[random.IntN(len(pieces))]
		}
		return s
	}
	const runs = 30_000
	accepted := 0
	for range runs {
		base, err := Parse("http://" + draw(3) + "/" + draw(6))
		if err != nil {
			base, _ = Parse(resolveBase)
		}
		for _, raw := range []string{draw(10), "http://" + draw(6), "https://h/" + draw(10)} {
			u, err := Parse(raw)
			agree(t, URL{}, raw, u, err)
			v, err := base.Resolve(raw)
			agree(t, base, raw, v, err)
			if !u.IsZero() {
				accepted++
			}
		}
		if t.Failed() {
			return
		}
	}
	assert.Truef(t, accepted >= runs, "only %d of %d were URLs: the pieces do not fit together", accepted, 3*runs)
}

const maxFuzzed = 512

func addSeeds(f *testing.F) {
	for _, tt := range accepted {
		f.Add(tt.in)
	}
	for _, tt := range hosts {
		f.Add("http://" + tt.in + "/")
	}
	for _, tt := range resolved {
		f.Add(tt.ref)
	}
}

func FuzzParse_EqualsTheURLStandard(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, raw string) {
		if len(raw) <= maxFuzzed {
			u, err := Parse(raw)
			agree(t, URL{}, raw, u, err)
		}
	})
}

// Resolving against a resolved URL equals resolving against its text, and an absolute reference ignores the base.
func FuzzResolve_EqualsTheURLStandard(f *testing.F) {
	for _, base := range []string{resolveBase, "https://example.com", "http://[::1]/a//b/../?", "https://xn--bcher-kva.test/%2E/%7e/x?/y/z"} {
		for _, tt := range resolved {
			f.Add(base, tt.ref)
		}
	}
	f.Fuzz(func(t *testing.T, rawBase, ref string) {
		base, err := Parse(rawBase)
		if err != nil || len(rawBase)+len(ref) > maxFuzzed {
			return
		}
		u, err := base.Resolve(ref)
		agree(t, base, ref, u, err)
		if err != nil {
			return
		}
		v := mustParse(t, u.String())
		require.Equalf(t, u, v, "%q against %q: %#v; its text: %#v, %v", ref, base, u, v, err)
		v, err = base.Resolve(u.String())
		require.Truef(t, err == nil && v == u, "%q against %q: %#v; resolved again: %#v, %v", ref, base, u, v, err)
	})
}
