package crawltest

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const now = 1760000000

type forger struct{ private ed25519.PrivateKey }

func newForger() forger { return forger{ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))} }

func (f forger) directory(t testing.TB) (*Directory, string) {
	t.Helper()
	x := base64.RawURLEncoding.EncodeToString(f.private.Public().(ed25519.PublicKey))
	d, err := ParseDirectory([]byte(`{"keys":[{"kty":"EC","crv":"P-256"},{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}`))
	require.NoError(t, err)
	for id := range d.keys {
		return d, id
	}
	return nil, ""
}

func (f forger) sign(input string, lines ...string) request {
	base := strings.Join(append(lines, `"@signature-params": `+input), "\n")
	return request{
		Method: "GET", Scheme: "http", Authority: "a.test", Target: "/x?y", At: time.Unix(now, 0),
		Header: http.Header{
			"Signature-Input": {"sig1=" + input},
			"Signature":       {"sig1=:" + base64.StdEncoding.EncodeToString(ed25519.Sign(f.private, []byte(base))) + ":"},
			"Signature-Agent": {`sig1="https://crawl.library.org"`},
		},
	}
}

func TestEachFaultOfASignatureIsFound(t *testing.T) {
	f := newForger()
	d, id := f.directory(t)
	const agent, member = `"signature-agent";key="sig1": "https://crawl.library.org"`, `"signature-agent";key="sig1"`
	whole := func(created, expires int64, rest string) string {
		return fmt.Sprintf(`("@authority" %s);created=%d;expires=%d;keyid="%s"%s;tag="web-bot-auth"`, member, created, expires, id, rest)
	}
	good := whole(now, now+300, "")
	ok := func() request { return f.sign(good, `"@authority": a.test`, agent) }
	with := func(name string, values ...string) request {
		r := ok()
		r.Header[name] = values
		return r
	}
	at := func(seconds int64) request { r := ok(); r.At = time.Unix(now+seconds, 5e8); return r }
	bare := func(input string, lines ...string) request {
		r := f.sign(input, lines...)
		r.Header.Del("Signature-Agent")
		return r
	}
	params := fmt.Sprintf(`;created=%d;expires=%d;keyid="%s";tag="web-bot-auth"`, now, now+300, id)
	for _, tc := range []struct {
		name    string
		r       request
		outcome outcome
		why     string
	}{
		{"nothing", request{Header: http.Header{}}, none, ""},
		{"right", ok(), botauthVerified, ""},
		{"right, in its first second", at(0), botauthVerified, ""},
		{"right, in its last second", at(300), botauthVerified, ""},
		{"over", at(301), Invalid, "had expired, 1 s before"},
		{"to come", at(-1), Invalid, "in the future, by 1 s"},
		{"ends before it begins", f.sign(whole(now, now-1, ""), `"@authority": a.test`, agent), Invalid, "had expired"},
		{"alg", f.sign(whole(now, now+300, `;alg="ed25519"`), `"@authority": a.test`, agent), botauthVerified, ""},
		{"alg of another", f.sign(whole(now, now+300, `;alg="rsa-pss-sha512"`), `"@authority": a.test`, agent), Invalid, "the key is for ed25519"},
		{"for another authority", f.sign(good, `"@authority": b.test`, agent), Invalid, "does not fit the request that came, to \"a.test\""},
		{"another agent put in", with("Signature-Agent", `sig1="https://other.org"`), Invalid, "does not fit"},
		{"agent of http", f.sign(good, `"@authority": a.test`, `"signature-agent";key="sig1": "http://crawl.library.org"`), Invalid, "does not fit"},
		{"agent not of https", with("Signature-Agent", `sig1="http://crawl.library.org"`), Invalid, "not an https URL"},
		{"agent as a token", with("Signature-Agent", `sig1=crawl`), Invalid, "not an https URL"},
		{"agent without the member", with("Signature-Agent", `sig2="https://crawl.library.org"`), Invalid, "not an https URL"},
		{"malformed agent", with("Signature-Agent", `sig1="`), Invalid, "Signature-Agent is not a dictionary"},
		{"agent without a signature", request{Header: http.Header{"Signature-Agent": {`"https://crawl.library.org"`}}}, Invalid, "do not come together"},
		{"agent not covered", f.sign(`("@authority")`+params, `"@authority": a.test`), Invalid, "sent and not covered"},
		{"no agent", bare(`("@authority")`+params, `"@authority": a.test`), botauthVerified, ""},
		{"target URI", bare(`("@target-uri" "@method")`+params, `"@target-uri": http://a.test/x?y`, `"@method": GET`), botauthVerified, ""},
		{"no authority", bare(`("@path")`+params, `"@path": /x`), Invalid, "neither @authority nor @target-uri"},
		{"nothing covered", bare(`()` + params), Invalid, "neither @authority nor @target-uri"},
		{"covered twice", bare(`("@authority" "@authority")`+params, `"@authority": a.test`, `"@authority": a.test`), Invalid, "covered twice"},
		{"a field that is not there", bare(`("@authority" "accept")`+params, `"@authority": a.test`, `"accept": `), Invalid, "which the request has not"},
		{"upper case", bare(`("@authority" "Accept")`+params, `"@authority": a.test`), Invalid, "lower case"},
		{"not a name", bare(`("@authority" 1)`+params, `"@authority": a.test`), Invalid, "lower case"},
		{"not read here", bare(`("@authority" "@query-param";name="y")`+params, `"@authority": a.test`, `"@query-param";name="y": `), Unverified, "not read here"},
		{"of a response", bare(`("@authority" "@status")`+params, `"@authority": a.test`), Unverified, "not read here"},
		{"no keyid", bare(`("@authority");created=1;expires=2;tag="web-bot-auth"`), Invalid, "no keyid"},
		{"no created", bare(`("@authority");expires=2;keyid="a";tag="web-bot-auth"`), Invalid, "when it was created"},
		{"no expires", bare(`("@authority");created=2;keyid="a";tag="web-bot-auth"`), Invalid, "when it was created"},
		{"another key", bare(`("@authority")`+strings.Replace(params, id, "someone", 1), `"@authority": a.test`), Invalid, `keyid "someone" is not in the key directory`},
		{"another tag", bare(`("@authority");created=2;tag="payments"`), none, ""},
		{"no tag", bare(`("@authority");created=2`), none, ""},
		{"input no dictionary", with("Signature-Input", "sig1=("), Invalid, "Signature-Input is not a dictionary"},
		{"input no list", with("Signature-Input", "sig1=1"), Invalid, "no list of components"},
		{"signature no dictionary", with("Signature", "sig1=:"), Invalid, "Signature is not a dictionary"},
		{"signature no bytes", with("Signature", "sig1=1"), Invalid, "no bytes"},
		{"signature of another label", with("Signature", "sig2=:aaaa:"), Invalid, "no bytes"},
		{"signature too short", with("Signature", "sig1=:aaaa:"), Invalid, "does not fit"},
		{"signature without input", request{Header: http.Header{"Signature": {"sig1=:aaaa:"}}}, Invalid, "do not come together"},
		{"17 KiB", with("Signature", "sig1=:"+strings.Repeat("a", 17<<10)+":"), Invalid, "more than 16384 bytes"},
		{"nine signatures", with("Signature-Input", strings.TrimSuffix(strings.Repeat("s#=(),", 9), ",")), Invalid, "not a dictionary"},
		{"nine labels", with("Signature-Input", "a=(),b=(),c=(),d=(),e=(),f=(),g=(),h=(),i=()"), Invalid, "9 signatures"},
	} {
		if got := d.Check(tc.r); got.Outcome != tc.outcome || !strings.Contains(got.Why, tc.why) {
			t.Errorf("%s: %+v, want %d, %q", tc.name, got, tc.outcome, tc.why)
		}
	}
}

// The draft, Multiple Signatures.
func TestTheWorstOfSeveralSignaturesCounts(t *testing.T) {
	f := newForger()
	d, id := f.directory(t)
	params := fmt.Sprintf(`("@authority");created=%d;expires=%d;keyid="%s";tag="web-bot-auth"`, now, now+300, id)
	r := f.sign(params, `"@authority": a.test`)
	r.Header.Del("Signature-Agent")
	sound := strings.TrimPrefix(r.Header.Get("Signature"), "sig1=")
	for _, tc := range []struct {
		second  string
		outcome outcome
	}{
		{sound, botauthVerified},
		{":aaaa:", Invalid},
	} {
		for _, order := range [][2]string{{"sig1", "sig2"}, {"sig2", "sig1"}} {
			r.Header["Signature-Input"] = []string{order[0] + "=" + params, order[1] + "=" + params}
			r.Header["Signature"] = []string{"sig1=" + sound + ", sig2=" + tc.second}
			assert.Equalf(t, tc.outcome, d.Check(r).Outcome, "%v with %s", order, tc.second)
		}
	}
}

func TestBadDirectoriesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "is a JWK Set",
		"[]":                       "is a JWK Set",
		`{"keys":1}`:               "is a JWK Set",
		`{}`:                       "no key of Ed25519 or RSA",
		`{"keys":[{"kty":"oct"}]}`: "no key of Ed25519 or RSA",
		`{"keys":[1]}`:             "key 1 of the directory",
		`{"keys":[{"kty":1}]}`:     "key 1 of the directory",
		`{"keys":[{"kty":"RSA"}]}`: "not a public key of RSA",
		`{"keys":[]} {"keys":[]}`:  "is a JWK Set",
		`{"keys":[{"kty":"RSA","n":"AQ","e":"AQABAQAB"}]}`:                                            "not a public key of RSA",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`:                                           "x is not a public key",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs="}]}`: "x is not a public key",
		`{"keys":[` + strings.Repeat(`{},`, 1000) + `{}]}`:                                            "1001 keys",
		strings.Repeat(" ", MaxDirectory+1):                                                           "more than 1048576 bytes",
	} {
		_, err := ParseDirectory([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}

// Without a key, the outcome is at most Unverified.
func FuzzCheck(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Input, v.Signature, v.Agent)
	}
	f.Add(`sig1=("@authority" "a";key="b";sf "@query-param");created=1;expires=2;keyid="a";tag="web-bot-auth"`, `sig1=:aaaa:`, `a=1;b, c=(1 2)`)
	f.Add(`sig1=("@authority");created=1;expires=2;keyid=@1;tag="web-bot-auth"`, `sig1=%"a"`, `"\"`)
	d, _ := newForger().directory(f)
	f.Fuzz(func(t *testing.T, input, signature, agent string) {
		r := request{Method: "GET", Scheme: "http", Authority: "a.test", Target: "/", At: time.Unix(1735689600, 0), Header: http.Header{
			"Signature-Input": {input}, "Signature": {signature}, "Signature-Agent": {agent},
		}}
		if v := d.Check(r); v.Outcome == botauthVerified || (v.Outcome == Invalid || v.Outcome == Unverified) != (v.Why != "") {
			t.Errorf("%+v", v)
		} else if strings.ContainsFunc(v.Why, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q is not plain", v.Why)
		}
	})
}

func FuzzParseDirectory(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}`))
	for _, v := range vectors(f) {
		f.Add([]byte(`{"keys":[` + string(v.Key) + `]}`))
	}
	all := vectors(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := ParseDirectory(b)
		require.NotEqualf(t, (err == nil), (d == nil), "%v, %v", d, err)
		for _, v := range all { // whatever the keys are, they are used without harm
			d.Check(v.request())
		}
	})
}
