package webbotauth

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDraft_FormOfSignatureAgent(t *testing.T) {
	const date = 1760000000
	keyid := `;created=1760000000;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1760000300`
	for _, tc := range []struct {
		draft        Draft
		agent, input string
		nonce        bool
	}{
		{IETF01, `sig1="https://crawl.library.org/.well-known/http-message-signatures-directory"`, `("@authority" "signature-agent";key="sig1")`, false},
		{IETF00, `sig1="https://crawl.library.org"`, `("@authority" "signature-agent";key="sig1")`, false},
		{Architecture05, `sig1="https://crawl.library.org"`, `("@authority" "signature-agent";key="sig1")`, true},
		{Architecture03, `"https://crawl.library.org"`, `("@authority" "signature-agent")`, true},
	} {
		s, err := New(key(t, rfcKey), agent(t, "https://crawl.library.org"), tc.draft, DefaultLife)
		require.NoError(t, err)
		lines := strings.Split(string(s.Append([]byte("Host: a.test\r\n"), "a.test", time.Unix(date, 999))), "\r\n")
		if len(lines) != 5 || lines[0] != "Host: a.test" || lines[4] != "" || lines[1] != "Signature-Agent: "+tc.agent {
			t.Fatalf("%s: %q", tc.draft, lines)
		}
		rest, ok := strings.CutPrefix(lines[2], "Signature-Input: sig1="+tc.input+keyid)
		if !ok || !strings.HasSuffix(rest, `;tag="web-bot-auth"`) || strings.Contains(rest, ";nonce=") != tc.nonce {
			t.Errorf("%s: %s", tc.draft, lines[2])
		}
		assert.True(t, strings.HasPrefix(lines[3], "Signature: sig1=:"), tc.draft)
		assert.True(t, strings.HasSuffix(lines[3], ":"), tc.draft)
	}
}

// Client MUST ensure that this nonce is unique for the validity window (architecture-03, Anti-replay).
func TestDraft_NoncesDiffer(t *testing.T) {
	s, err := New(key(t, rfcKey), agent(t, "https://crawl.library.org"), Architecture03, DefaultLife)
	require.NoError(t, err)
	seen := map[string]bool{}
	for range 100 {
		seen[string(s.Append(nil, "a.test", time.Unix(1760000000, 0)))] = true
	}
	assert.Len(t, seen, 100, "some of 100 requests are the same")
}

func TestAgent_IsTheURLOfAKeyDirectory(t *testing.T) {
	const own = "https://crawl.library.org/keys.json"
	for text, want := range map[string]string{
		"https://Crawl.Library.org":                  "https://crawl.library.org" + WellKnown,
		"https://crawl.library.org/":                 "https://crawl.library.org" + WellKnown,
		"https://crawl.library.org:443/":             "https://crawl.library.org" + WellKnown,
		"https://crawl.library.org:8443":             "https://crawl.library.org:8443" + WellKnown,
		"https://crawl.library.org" + WellKnown:      "https://crawl.library.org" + WellKnown,
		own:                                          own,
		"https://crawl.library.org/k%22ey\".json":    "https://crawl.library.org/k%22ey%22.json",
		"http://crawl.library.org":                   "",
		"crawl.library.org":                          "",
		"":                                           "",
		"ftp://crawl.library.org":                    "",
		"https://me@crawl.library.org":               "",
		"https://crawl.library.org/?a=b":             "",
		"https://crawl.library.org/#a":               "",
		"https://a.test/" + strings.Repeat("a", 250): "",
		"https://a.test/\r\nCookie: a":               "https://a.test/Cookie:%20a",
	} {
		a, err := ParseAgent(text)
		if want == "" {
			assert.ErrorContainsf(t, err, "signature agent", "%q", text)
			continue
		}
		require.NoError(t, err)
		assert.Equalf(t, want, a.URL(), "%q: %v", text, a)
	}
	for _, d := range Drafts() {
		_, err := New(key(t, rfcKey), agent(t, own), Draft(d), DefaultLife)
		assert.Equalf(t, (Draft(d) == IETF01), (err == nil), "%s: a directory of any place: %v", d, err)
		if _, perr := Publish(key(t, rfcKey), agent(t, own), Draft(d), time.Now(), DefaultDirectoryLife); (perr == nil) != (err == nil) {
			t.Errorf("%s: %v, but %v", d, err, perr)
		}
	}
}

func TestBadInputIsRefused(t *testing.T) {
	k, a := key(t, rfcKey), agent(t, "https://crawl.library.org")
	for _, life := range []time.Duration{0, LeastLife - 1, MostLife + 1, -time.Hour} {
		_, err := New(k, a, IETF01, life)
		assert.ErrorContains(t, err, "10s is the least")
	}
	for _, life := range []time.Duration{0, LeastDirectoryLife - 1, MostDirectoryLife + 1} {
		if _, err := Publish(k, a, IETF01, time.Now(), life); err == nil {
			t.Errorf("directory for %v", life)
		}
	}
	_, err := New(k, a, "ietf-99", DefaultLife)
	assert.ErrorContains(t, err, "ietf-01, ietf-00")
	if _, err := NewKey(make([]byte, 31)); err == nil {
		t.Error("a key of 31 bytes")
	}
}
