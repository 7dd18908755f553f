package crawltest

import (
	"crypto/ed25519"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testdata/vectors.json has the drafts' vectors of Ed25519 and RSA-PSS, all for https://example.com/path/to/resource.
//
//go:embed testdata/vectors.json
var vectorFile []byte

type vector struct {
	Key                     json.RawMessage
	Created                 int64
	Agent, Input, Signature string
}

func vectors(t testing.TB) (all []vector) {
	t.Helper()
	if err := json.Unmarshal(vectorFile, &all); err != nil || len(all) != 8 {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	return all
}

func (v vector) request() request {
	h := http.Header{"Signature-Input": {v.Input}, "Signature": {v.Signature}}
	if v.Agent != "" {
		h.Set("Signature-Agent", v.Agent)
	}
	return request{
		Method: "GET", Scheme: "https", Authority: "example.com", Target: "/path/to/resource", Header: h,
		At: time.Unix(v.Created, 0),
	}
}

func (v vector) directory(t testing.TB) *Directory {
	t.Helper()
	d, err := ParseDirectory([]byte(`{"keys":[` + string(v.Key) + `]}`))
	require.NoError(t, err)
	return d
}

func TestDraft_TestVectorsVerify(t *testing.T) {
	for i, v := range vectors(t) {
		r, d := v.request(), v.directory(t)
		assert.Equalf(t, botauthVerified, d.Check(r).Outcome, "vector %d", i)
		r.Authority = "Example.COM:443" // RFC 9421 2.2.3
		assert.Equalf(t, botauthVerified, d.Check(r).Outcome, "vector %d, by another spelling of the authority", i)
		r.Authority = "example.org"
		if got := d.Check(r); got.Outcome != Invalid || !strings.Contains(got.Why, "does not fit") {
			t.Errorf("vector %d, sent to another: %+v", i, got)
		}
		assert.Equalf(t, Unverified, (*Directory)(nil).Check(v.request()).Outcome, "vector %d without a directory", i)
	}
}

// RFC 9421 B.2.6; its key has a name, not a thumbprint, and its signature no tag.
func TestRFC9421_B_2_6_Ed25519(t *testing.T) {
	r := request{
		Method: "POST", Scheme: "https", Authority: "example.com", Target: "/foo?param=Value&Pet=dog",
		Header: http.Header{
			"Date": {"Tue, 20 Apr 2021 02:07:55 GMT"}, "Content-Type": {"application/json"}, "Content-Length": {"18"},
		},
	}
	const input = `sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`
	in, err := httpsfv.UnmarshalDictionary([]string{input})
	require.NoError(t, err)
	list, _ := in.Get("sig-b26")
	got, v := base(r, list.(httpsfv.InnerList))
	const want = `"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@authority": example.com
"content-type": application/json
"content-length": 18
"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`
	require.Equal(t, want, got)
	require.Equal(t, none, v.Outcome)
	signature, err := base64.StdEncoding.DecodeString("wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==")
	require.NoError(t, err)
	public, err := base64.RawURLEncoding.DecodeString("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs")
	require.NoError(t, err)
	assert.True(t, fits(ed25519.PublicKey(public), got, signature), "it does not verify")
}

// RFC 9421 B.2.3 and 2.2.
func TestRFC9421_2_2_DerivedComponents(t *testing.T) {
	r := request{Method: "POST", Scheme: "https", Authority: "www.Example.com:8443", Target: "/path?param=value", Header: http.Header{
		"X-Dict": {" a=1,    b=2;x=1;y=2, ", "c=(a   b   c)"}, "X-Many": {" one ", "two"},
	}}
	for id, want := range map[string]string{
		`"@method"`: "POST", `"@target-uri"`: "https://www.Example.com:8443/path?param=value", `"@scheme"`: "https",
		`"@authority"`: "www.example.com:8443", `"@request-target"`: "/path?param=value", `"@path"`: "/path",
		`"@query"`: "?param=value", `"host"`: "www.Example.com:8443", `"x-many"`: "one, two",
	} {
		item, err := httpsfv.UnmarshalItem([]string{id})
		require.NoError(t, err)
		if got, v := component(r, item); got != want || v.Outcome != none {
			t.Errorf("%s: %q, %+v, want %q", id, got, v, want)
		}
	}
	r.Header.Set("X-Dict", "a=1,    b=2;x=1;y=2,   c=(a   b    c), d") // RFC 9421 2.1.2
	for key, want := range map[string]string{"a": "1", "d": "?1", "b": "2;x=1;y=2", "c": "(a b c)"} {
		item, err := httpsfv.UnmarshalItem([]string{`"x-dict";key="` + key + `"`})
		require.NoError(t, err)
		if got, v := component(r, item); got != want || v.Outcome != none {
			t.Errorf("%s: %q, %+v, want %q", key, got, v, want)
		}
	}
}
