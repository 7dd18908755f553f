package webbotauth

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rfcKey is test-key-ed25519 (RFC 9421 B.1.4), which also signed the drafts' vectors.
const rfcKey = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"

func key(t testing.TB, seed string) *Key {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(seed)
	require.NoError(t, err)
	k, err := NewKey(b)
	require.NoError(t, err)
	return k
}

func agent(t testing.TB, url string) Agent {
	t.Helper()
	a, err := ParseAgent(url)
	require.NoError(t, err)
	return a
}

func TestRFC8037_A_3_Thumbprint(t *testing.T) {
	k := key(t, "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	assert.Equal(t, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", k.x)
	assert.Equal(t, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", k.ID())
}

func TestRFC9421_B_2_6_Ed25519(t *testing.T) {
	input, signature := key(t, rfcKey).sign(`;created=1618884473;keyid="test-key-ed25519"`,
		covered{`"date"`, "Tue, 20 Apr 2021 02:07:55 GMT"}, covered{`"@method"`, "POST"}, covered{`"@path"`, "/foo"},
		covered{`"@authority"`, "example.com"}, covered{`"content-type"`, "application/json"},
		covered{`"content-length"`, "18"})
	const wantInput = `("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`
	const want = ":wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"
	assert.Equal(t, wantInput, input)
	assert.Equal(t, want, signature)
}

// The vectors' labels, keys of the member and ends replace the signer's.
func TestDraft_TestVectors_EdDSA(t *testing.T) {
	const keyid = `;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519"`
	for _, v := range []struct {
		name, id       string
		draft          Draft
		expires        int64
		nonce          string
		input, written string
	}{
		{
			name: "-01 Test Vectors, EdDSA", draft: Architecture05, id: `"signature-agent";key="agent2"`, expires: 4889289600,
			nonce:   "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==",
			input:   `("@authority" "signature-agent";key="agent2");created=1735689600` + keyid + `;expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"`,
			written: ":RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:",
		},
		{
			name: "-01 Test Vectors, Legacy Signature-Agent", draft: Architecture03, id: `"signature-agent"`, expires: 1735693200,
			nonce:   "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==",
			input:   `("@authority" "signature-agent");created=1735689600` + keyid + `;expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";tag="web-bot-auth"`,
			written: ":jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:",
		},
	} {
		s, err := New(key(t, rfcKey), agent(t, "https://signature-agent.test"), v.draft, time.Hour)
		require.NoError(t, err)
		s.agent.id, s.life = v.id, v.expires-1735689600
		if input, signature := s.sign("example.com", 1735689600, v.nonce); input != v.input || signature != v.written {
			t.Errorf("%s:\n%s\n%s", v.name, input, signature)
		}
	}
}

func TestDraft_TestVectors_SignedDirectoryResponse(t *testing.T) {
	k := key(t, rfcKey)
	p, err := Publish(k, agent(t, "https://signature-agent.test"), IETF01, time.Unix(1735689600, 0), MostDirectoryLife)
	require.NoError(t, err)
	const body = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}`
	const digest = "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"
	assert.Equal(t, body, string(p.Body))
	assert.Equal(t, (Field{"Content-Digest", digest}), p.Fields[2])
	// The vector is valid for a century, which Publish does not allow.
	input, signature := k.sign(`;created=1735689600;expires=4889289600;keyid="`+k.ID()+`";tag="http-message-signatures-directory"`,
		covered{`"@authority";req`, "signature-agent.test"}, covered{`"content-digest"`, digest})
	const want = ":l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:"
	assert.Equal(t, want, signature, input)
	short, _ := k.sign(`;created=1735689600;expires=1767312000;keyid="`+k.ID()+`";tag="http-message-signatures-directory"`,
		covered{`"@authority";req`, ""}, covered{`"content-digest"`, ""})
	assert.Equal(t, (Field{"Signature-Input", "binding=" + short}), p.Fields[3])
}
