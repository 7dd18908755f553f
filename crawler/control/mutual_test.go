package control_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/control"
)

const secret = "the secret"

// echo answers with what it was asked, as status 202, and counts.
func echo(asked *int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+string(b))
	})
}

// middle changes requests and answers on their way.
type middle struct {
	request func(*http.Request)
	answer  func(*http.Response)
}

func (m middle) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.request != nil {
		m.request(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && m.answer != nil {
		m.answer(resp)
	}
	return resp, err
}

func ask(t *testing.T, secret, url string, by http.RoundTripper) (status int, says string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/a?b=%2f", strings.NewReader("body"))
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: &control.Transport{Secret: secret, Base: by}}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestTheTwoWhoKnowTheSecretUnderstandEachOther(t *testing.T) {
	asked := 0
	s := httptest.NewServer(control.Handler(secret, 100, echo(&asked)))
	defer s.Close()
	var sent http.Header
	status, says, err := ask(t, secret, s.URL, middle{request: func(r *http.Request) { sent = r.Header }})
	if status != http.StatusAccepted || says != "POST /a?b=%2f body" || err != nil || asked != 1 {
		t.Errorf("%d, %q, %v", status, says, err)
	}
	for k, vs := range sent {
		assert.NotContainsf(t, strings.Join(vs, ""), secret, "%s says the secret", k)
	}
}

// Whatever is changed in a request, nobody acts on it.
func TestARequestThatIsNotOfOneWhoKnowsIsRefused(t *testing.T) {
	asked := 0
	s := httptest.NewServer(control.Handler(secret, 100, echo(&asked)))
	defer s.Close()
	for what, change := range map[string]func(*http.Request){
		"method":  func(r *http.Request) { r.Method = http.MethodPut },
		"path":    func(r *http.Request) { r.URL.Path = "/b" },
		"query":   func(r *http.Request) { r.URL.RawQuery = "b=/" },
		"body":    func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("bodi")) },
		"nonce":   func(r *http.Request) { r.Header.Set("Curtsy-Nonce", "x") },
		"code":    func(r *http.Request) { r.Header.Set("Curtsy-Code", strings.Repeat("0", 64)) },
		"no code": func(r *http.Request) { r.Header.Del("Curtsy-Code") },
		"length": func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 101))), 101
		},
	} {
		if _, says, err := ask(t, secret, s.URL, middle{request: change}); !errors.Is(err, control.ErrStranger) {
			t.Errorf("%s: %q, %v", what, says, err)
		}
	}
	if _, _, err := ask(t, "another secret", s.URL, http.DefaultTransport); !errors.Is(err, control.ErrStranger) {
		t.Error(err)
	}
	assert.Equal(t, 0, asked, "requests were let in")
}

// Whatever is changed in an answer, nobody believes it; nor one that was given to another request, nor one's own words.
func TestAnAnswerThatIsNotOfOneWhoKnowsIsNotBelieved(t *testing.T) {
	asked := 0
	s := httptest.NewServer(control.Handler(secret, 100, echo(&asked)))
	defer s.Close()
	var earlier http.Header
	var own string
	for _, c := range []struct {
		what   string
		change middle
	}{
		{"status", middle{answer: func(r *http.Response) { r.StatusCode = http.StatusOK }}},
		{"body", middle{answer: func(r *http.Response) { r.Body = io.NopCloser(strings.NewReader("x")) }}},
		{"code", middle{answer: func(r *http.Response) { earlier = r.Header.Clone(); r.Header.Set("Curtsy-Code", "00") }}},
		{"no code", middle{answer: func(r *http.Response) { r.Header.Del("Curtsy-Code") }}},
		{"an earlier answer's", middle{answer: func(r *http.Response) { r.Header = earlier }}},
		{"the request's own", middle{
			request: func(r *http.Request) { own = r.Header.Get("Curtsy-Code") },
			answer:  func(r *http.Response) { r.Header.Set("Curtsy-Code", own) },
		}},
	} {
		if _, says, err := ask(t, secret, s.URL, c.change); !errors.Is(err, control.ErrStranger) {
			t.Errorf("%s: %q, %v", c.what, says, err)
		}
	}
}
