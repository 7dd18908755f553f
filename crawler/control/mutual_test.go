package control

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// securely serves on a loopback port, to clients that know a secret.
func securely(t *testing.T, secret string, by http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(by)
	terms, err := Secure(secret)
	require.NoError(t, err)
	s.TLS, s.Config.ErrorLog = terms, complaints
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestSecure_RequiresTheSecret(t *testing.T) {
	t.Parallel()
	asked := 0
	s := securely(t, "the secret", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	}))
	for _, secret := range []string{"the secret", "another", ""} {
		terms, err := Secure(secret)
		require.NoError(t, err)
		for _, believes := range []bool{false, true} {
			if believes { // only the server checks that the client knows the secret
				terms.VerifyConnection = nil
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: terms, DisableKeepAlives: true}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, http.NoBody)
			require.NoError(t, err)
			resp, err := client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			assert.Equalf(t, secret == "the secret", err == nil, "%q: %v", secret, err)
			assert.Truef(t, err == nil || believes || errors.Is(err, ErrStranger), "%q: %v", secret, err)
		}
	}
	assert.Equal(t, 2, asked, "requests that were let in")
}
