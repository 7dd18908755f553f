package dashboard

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testToken = "0123456789abcdef0123456789abcdef"

// asked returns the response to a request with fields like "Name: value".
func asked(t *testing.T, s *Server, method, target, body string, fields ...string) reply {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8800"
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	if body != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	s.guard.ServeHTTP(w, r)
	resp := w.Result()
	defer resp.Body.Close()
	return reply{resp.StatusCode, resp.Header, w.Body, resp.Cookies()}
}

type reply struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
	Cookies    []*http.Cookie
}

// guarded returns a dashboard of one crawl, with its cookie.
func guarded(t *testing.T) (s *Server, c *fakeCrawl, cookie string) {
	t.Helper()
	c = &fakeCrawl{name: "news"}
	s = New(Options{Sources: []Source{c}, Token: testToken, Names: []string{"crawl.example.org"}, Profile: true})
	s.watchers[0].once(t.Context(), firstRead)
	resp := asked(t, s, "GET", "/?token="+testToken, "")
	require.Truef(t, resp.StatusCode == http.StatusSeeOther && len(resp.Cookies) == 1, "%d, %v", resp.StatusCode, resp.Cookies)
	return s, c, "Cookie: " + resp.Cookies[0].Name + "=" + resp.Cookies[0].Value
}

func TestTheTokenOpensThePageAndLeavesTheAddress(t *testing.T) {
	s, _, _ := guarded(t)
	resp := asked(t, s, "GET", "/crawl/0/hosts?q=a&token="+testToken, "")
	c := resp.Cookies[0]
	assert.Equal(t, "/crawl/0/hosts?q=a", resp.Header.Get("Location"))
	assert.Truef(t, c.HttpOnly && c.SameSite == http.SameSiteStrictMode && c.Path == "/" && !strings.Contains(c.Value, testToken) && c.Name == "curtsy_8800", "%+v", c)
	for _, target := range []string{"//evil.test/?token=", "/\\evil.test?token="} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Host, r.URL = "127.0.0.1", &url.URL{Path: strings.TrimSuffix(target, "?token="), RawQuery: "token=" + testToken}
		w := httptest.NewRecorder()
		s.guard.ServeHTTP(w, r)
		to := w.Result().Header.Get("Location")
		assert.Truef(t, !strings.HasPrefix(to, "//") && !strings.HasPrefix(to, "/\\") && !strings.Contains(to, "://"), "%s leads to %q", target, to)
	}
}

func TestTheGuardRefuses(t *testing.T) {
	s, c, cookie := guarded(t)
	form := url.Values{"form": {s.guard.formToken()}, "verb": {"pause"}}.Encode()
	for _, a := range []struct {
		rule, method, target, body string
		fields                     []string
		status                     int
	}{
		{"no access without the token", "GET", "/crawl/0/", "", nil, 401},
		{"no wrong token in the address", "GET", "/?token=0123456789abcdef0123456789abcdee", "", nil, 403},
		{"no empty token in the address", "GET", "/?token=", "", nil, 403},
		{"no wrong cookie", "GET", "/crawl/0/", "", []string{"Cookie: curtsy_8800=0"}, 401},
		{"no token as a cookie", "GET", "/crawl/0/", "", []string{"Cookie: curtsy_8800=" + testToken}, 401},
		{"no cookie of another port", "GET", "/crawl/0/", "", []string{strings.Replace(cookie, "8800", "8801", 1)}, 401},
		{"no wrong bearer", "GET", "/api/status", "", []string{"Authorization: Bearer x"}, 401},
		{"no empty bearer", "GET", "/api/status", "", []string{"Authorization: Bearer "}, 401},
		{"no act by a bearer: a form has its token", "POST", "/crawl/0/act", form, []string{"Authorization: Bearer " + testToken, "Origin: http://127.0.0.1:8800"}, 401},
		{"no profile without the token", "GET", "/debug/pprof/heap", "", nil, 401},
		{"no metrics without the token", "GET", "/metrics", "", nil, 401},

		{"DNS rebinding: another name", "GET", "/crawl/0/", "", []string{cookie, "Host: evil.test:8800"}, 421},
		{"DNS rebinding: another name, with the token", "GET", "/?token=" + testToken, "", []string{"Host: evil.test"}, 421},
		{"DNS rebinding: a name that begins as an address", "GET", "/crawl/0/", "", []string{cookie, "Host: 127.0.0.1.evil.test:8800"}, 421},
		{"DNS rebinding: a name that ends as localhost", "GET", "/crawl/0/", "", []string{cookie, "Host: evil.localhost.test"}, 421},
		{"DNS rebinding: a name below localhost", "GET", "/crawl/0/", "", []string{cookie, "Host: x.localhost"}, 421},
		{"DNS rebinding: no name", "GET", "/crawl/0/", "", []string{cookie, "Host: "}, 421},
		{"DNS rebinding: another name with a dot at its end", "GET", "/crawl/0/", "", []string{cookie, "Host: evil.test.:8800"}, 421},
		{"DNS rebinding: localhost with a dot at its end, which the name system may answer", "GET", "/crawl/0/", "", []string{cookie, "Host: localhost.:8800"}, 421},
		{"DNS rebinding: an address with a dot at its end is a name", "GET", "/crawl/0/", "", []string{cookie, "Host: 127.0.0.1.:8800"}, 421},
		{"DNS rebinding: an address in other spellings is a name", "GET", "/crawl/0/", "", []string{cookie, "Host: 0x7f.1:8800"}, 421},
		{"DNS rebinding: a name in brackets", "GET", "/crawl/0/", "", []string{cookie, "Host: [evil.test]:8800"}, 421},
		{"DNS rebinding: a name with an address of IPv6 before it", "GET", "/crawl/0/", "", []string{cookie, "Host: [::1].evil.test:8800"}, 421},
		{"DNS rebinding: a user before the name", "GET", "/crawl/0/", "", []string{cookie, "Host: localhost@evil.test"}, 421},
		{"DNS rebinding: a name of the operator's below another", "GET", "/crawl/0/", "", []string{cookie, "Host: crawl.example.org.evil.test"}, 421},
		{"DNS rebinding: an act", "POST", "/crawl/0/act", form, []string{cookie, "Host: evil.test:8800", "Origin: http://evil.test:8800", "Sec-Fetch-Site: same-origin"}, 421},
		{"DNS rebinding: health", "GET", "/healthz", "", []string{"Host: evil.test"}, 421},

		{"CSRF: a form of another site", "POST", "/crawl/0/act", form, []string{cookie, "Origin: https://evil.test"}, 403},
		{"CSRF: a form of another port", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://127.0.0.1:8801"}, 403},
		{"CSRF: a form over another scheme", "POST", "/crawl/0/act", form, []string{cookie, "Origin: https://127.0.0.1:8800"}, 403},
		{"CSRF: a form of localhost to the address: another origin", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://localhost:8800"}, 403},
		{"CSRF: an origin that begins like the dashboard's", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://127.0.0.1:88001"}, 403},
		{"CSRF: an origin with the dashboard as its user", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://127.0.0.1:8800@evil.test"}, 403},
		{"CSRF: an empty origin", "POST", "/crawl/0/act", form, []string{cookie, "Origin: "}, 403},
		{"CSRF: text that is sent without a preflight", "POST", "/crawl/0/act", form, []string{cookie, "Origin: https://evil.test", "Content-Type: text/plain"}, 403},
		{"CSRF: text from the same origin is not a form", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://127.0.0.1:8800", "Content-Type: text/plain"}, 403},
		{"CSRF: JSON is not a form", "POST", "/crawl/0/act", `{"form":"` + s.guard.formToken() + `","verb":"pause"}`, []string{cookie, "Origin: http://127.0.0.1:8800", "Content-Type: application/json"}, 403},
		{"CSRF: a form in parts of another site", "POST", "/crawl/0/act", form, []string{cookie, "Origin: https://evil.test", "Content-Type: multipart/form-data; boundary=x"}, 403},
		{"CSRF: a method in a field", "GET", "/crawl/0/act?" + form, "", []string{cookie, "X-HTTP-Method-Override: POST"}, 405},
		{"CSRF: HEAD does not act either", "HEAD", "/crawl/0/act?" + form, "", []string{cookie}, 405},
		{"CSRF: the token opens no form", "POST", "/crawl/0/act?token=" + testToken, form, []string{"Origin: http://127.0.0.1:8800"}, 403},
		{"CSRF: the cookie is not a token of a form", "POST", "/crawl/0/act", "verb=pause&form=" + s.guard.session(), []string{cookie, "Origin: http://127.0.0.1:8800"}, 403},
		{"a cookie that another port has fixed", "GET", "/crawl/0/", "", []string{"Cookie: curtsy_8800=" + strings.Repeat("0", 32)}, 401},
		{"a socket that another site opens", "GET", "/crawl/0/", "", []string{cookie, "Connection: Upgrade", "Upgrade: websocket", "Origin: https://evil.test"}, 403},
		{"events that another site listens to", "GET", "/crawl/0/", "", []string{cookie, "Accept: text/event-stream", "Sec-Fetch-Site: same-site"}, 403},
		{"CSRF: a form of origin null", "POST", "/crawl/0/act", form, []string{cookie, "Origin: null"}, 403},
		{"CSRF: two origins", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://127.0.0.1:8800", "Origin: https://evil.test"}, 403},
		{"CSRF: no origin", "POST", "/crawl/0/act", form, []string{cookie}, 403},
		{"CSRF: a browser reports cross-site", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://127.0.0.1:8800", "Sec-Fetch-Site: cross-site"}, 403},
		{"CSRF: a browser reports same-site, of another port", "GET", "/crawl/0/", "", []string{cookie, "Sec-Fetch-Site: same-site"}, 403},
		{"CSRF: another site's page reads", "GET", "/api/status", "", []string{cookie, "Sec-Fetch-Site: cross-site"}, 403},
		{"CSRF: another site's script reads", "GET", "/api/status", "", []string{cookie, "Origin: https://evil.test"}, 403},
		{"CSRF: no token of the form", "POST", "/crawl/0/act", "verb=pause", []string{cookie, "Origin: http://127.0.0.1:8800"}, 403},
		{"CSRF: a wrong token of the form", "POST", "/crawl/0/act", "verb=pause&form=" + testToken, []string{cookie, "Origin: http://127.0.0.1:8800"}, 403},
		{"CSRF: the token of the form only in the address", "POST", "/crawl/0/act?form=" + s.guard.formToken() + "&verb=pause", "x=y", []string{cookie, "Origin: http://127.0.0.1:8800"}, 403},
		{"an act by GET", "GET", "/crawl/0/act?verb=pause", "", []string{cookie}, 405},
		{"no other method", "DELETE", "/crawl/0/", "", []string{cookie}, 405},
		{"no other method: preflight", "OPTIONS", "/crawl/0/act", "", []string{cookie, "Origin: https://evil.test"}, 405},
		{"no form without an end", "POST", "/crawl/0/act", form + "&x=" + strings.Repeat("y", mostForm), []string{cookie, "Origin: http://127.0.0.1:8800"}, 403},
	} {
		t.Run(a.rule, func(t *testing.T) {
			resp := asked(t, s, a.method, a.target, a.body, a.fields...)
			assert.Equalf(t, a.status, resp.StatusCode, "status %d, want %d", resp.StatusCode, a.status)
			assert.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"), "another origin may read it")
		})
	}
	assert.Empty(t, c.acts, "the crawl obeyed")
}

func TestTheGuardLetsIn(t *testing.T) {
	s, c, cookie := guarded(t)
	form := url.Values{"form": {s.guard.formToken()}, "verb": {"pause"}, "back": {"/crawl/0/hosts?q=x"}}.Encode()
	for _, a := range []struct {
		rule, method, target, body string
		fields                     []string
		status                     int
	}{
		{"with the cookie", "GET", "/crawl/0/", "", []string{cookie}, 200},
		{"by localhost, whatever the port: a tunnel has another", "GET", "/crawl/0/", "", []string{strings.Replace(cookie, "8800", "9", 1), "Host: localhost:9"}, 200},
		{"by an address of IPv6", "GET", "/crawl/0/", "", []string{cookie, "Host: [::1]:8800"}, 200},
		{"beside a cookie that another port has fixed", "GET", "/crawl/0/", "", []string{"Cookie: curtsy_8800=0; " + strings.TrimPrefix(cookie, "Cookie: ")}, 200},
		{"by a name that the operator gave", "GET", "/crawl/0/", "", []string{cookie, "Host: Crawl.Example.Org:8800"}, 200},
		{"a browser's own page", "GET", "/crawl/0/", "", []string{cookie, "Sec-Fetch-Site: same-origin"}, 200},
		{"a program with the token", "GET", "/api/status", "", []string{"Authorization: Bearer " + testToken}, 200},
		{"a form of the page", "POST", "/crawl/0/act", form, []string{cookie, "Origin: http://127.0.0.1:8800", "Sec-Fetch-Site: same-origin"}, 303},
		{"a form of the page behind a server that speaks TLS", "POST", "/crawl/0/act", form, []string{strings.Replace(cookie, "8800", "0", 1), "Host: crawl.example.org", "Origin: https://crawl.example.org"}, 303},
		{"health without a token", "GET", "/healthz", "", nil, 200},
		{"readiness without a token", "GET", "/readyz", "", nil, 200},
		{"a profile with the token", "GET", "/debug/pprof/cmdline", "", []string{cookie}, 200},
	} {
		t.Run(a.rule, func(t *testing.T) {
			resp := asked(t, s, a.method, a.target, a.body, a.fields...)
			assert.Truef(t, resp.StatusCode == a.status, "status %d, want %d", resp.StatusCode, a.status)
		})
	}
	assert.Truef(t, len(c.acts) == 2 && c.acts[0].Verb == ActPause, "%+v", c.acts)
}

func TestEveryAnswerHasThePolicy(t *testing.T) {
	s, _, cookie := guarded(t)
	for _, target := range []string{"/crawl/0/", "/crawl/0/hosts", "/crawl/0/decisions", "/crawl/9/", "/api/status", "/assets/page.js", "/assets/none", "/none"} {
		for _, fields := range [][]string{{cookie}, nil, {"Host: evil.test"}} {
			h := asked(t, s, "GET", target, "", fields...).Header
			csp := h.Get("Content-Security-Policy")
			assert.Truef(t, strings.HasPrefix(csp, "default-src 'none'; ") && strings.Contains(csp, "frame-ancestors 'none'"), "%s: %q", target, csp)
			assert.Falsef(t, strings.Contains(csp, "unsafe") || strings.Contains(csp, "*"), "%s: %q", target, csp)
			for field, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
				"Referrer-Policy":              "same-origin", // the address may have the token
				"Cross-Origin-Opener-Policy":   "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin",
			} {
				assert.Equalf(t, want, h.Get(field), "%s: %s", target, field)
			}
		}
	}
}

func TestAFormLeadsBackToItsOwnCrawl(t *testing.T) {
	for text, want := range map[string]string{
		"/crawl/0/hosts?q=x&did=5": "/crawl/0/hosts?did=7&q=x", "": "/crawl/0/?did=7", "https://evil.test/crawl/0/": "/crawl/0/?did=7",
		"//evil.test/crawl/0/": "/crawl/0/?did=7", "/crawl/01/": "/crawl/0/?did=7", "/crawl/0/../../x": "/crawl/0/?did=7", "\x00": "/crawl/0/?did=7",
		"javascript:alert(1)": "/crawl/0/?did=7",
	} {
		assert.Equal(t, want, back(text, 0, paramDid, "7", ""), text)
	}
}

func TestPoliteness_NoActLowersIt(t *testing.T) {
	for _, verb := range []string{"", "pace", "delay", "faster", "ignore robots", "robots", "Park", "PAUSE", "release all"} {
		a, err := actOf(url.Values{"verb": {verb}, "host": {"http://a.test"}})
		assert.Errorf(t, err, "%q is obeyed: %+v", verb, a)
	}
	for text, wrong := range map[string]url.Values{
		"an invalid time":          {"verb": {"park"}, "host": {"http://a.test"}, "for": {"soon"}},
		"a time below zero":        {"verb": {"park"}, "host": {"http://a.test"}, "for": {"-1h"}},
		"no host":                  {"verb": {"drop"}},
		"a seed that is not a URL": {"verb": {"seed"}, "seed": {"ftp://a.test/"}},
		"a reason without an end":  {"verb": {"park"}, "host": {"http://a.test"}, "reason": {strings.Repeat("x", 201)}},
	} {
		a, err := actOf(wrong)
		assert.Errorf(t, err, "%s: %+v", text, a)
	}
}
