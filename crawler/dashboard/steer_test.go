package dashboard

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/control"
	"curtsy/storage/ledger"
)

// posted sends a form as a browser does, and returns the page that it leads to.
func posted(t *testing.T, s *Server, form url.Values) (to, page string) {
	t.Helper()
	cookie := "Cookie: curtsy_8800=" + s.guard.session()
	resp := asked(t, s, "POST", "/crawl/0/act", form.Encode(), cookie, "Origin: http://127.0.0.1:8800", "Content-Type: application/x-www-form-urlencoded")
	if resp.StatusCode != http.StatusSeeOther {
		return "", http.StatusText(resp.StatusCode)
	}
	to = resp.Header.Get("Location")
	b, err := io.ReadAll(asked(t, s, "GET", to, "", cookie).Body)
	require.NoError(t, err)
	return to, string(b)
}

// Without a script, trying a pattern shows how many queued URLs it concerns, and a form to apply it, without a change.
func TestSteer_APatternIsShownBeforeItCounts(t *testing.T) {
	c := &fakeCrawl{name: "news", would: control.Changed{Known: true, URLs: 1234, Pending: 56789, Examples: []string{"http://a.test/cal/1"}}}
	c.look.Running = true
	s := New(Options{Sources: []Source{c}, Token: testToken})
	s.watchers[0].once(t.Context(), firstRead)
	form := url.Values{"form": {s.guard.formToken()}, "verb": {"change"}, "setting": {"exclude"}, "value": {"/cal/"}, "try": {"1"}}
	to, page := posted(t, s, form)
	require.Truef(t, len(c.acts) == 0 && len(c.tried) == 1 && c.tried[0] == (control.Change{Setting: "exclude", Value: "/cal/"}), "%+v, tried %+v", c.acts, c.tried)
	for _, want := range []string{`<strong id="concerned">1,234</strong> of 56,789 queued URLs are closed`, "http://a.test/cal/1", `name="value" value="/cal/"`, "Apply", s.guard.formToken()} {
		assert.Containsf(t, strings.ReplaceAll(page, "\u202f", ","), want, "%s has no %q:\n%s", to, want, page)
	}
	assert.NotContains(t, page, `http-equiv="refresh"`, "a page with forms reloads while they are filled in")
	form.Del("try")
	form.Set("reason", "a calendar")
	form.Set("back", to)
	to, page = posted(t, s, form)
	require.Truef(t, len(c.acts) == 1 && c.acts[0].Change.Value == "/cal/" && c.acts[0].Reason == "a calendar", "%+v", c.acts)
	assert.Truef(t, !strings.Contains(to, "try=") && strings.Contains(page, "done") && !strings.Contains(page, `id="concerned"`), "%s:\n%s", to, page)
}

func TestSteer_FormsAreGuarded(t *testing.T) {
	c := &fakeCrawl{name: "news"}
	c.look.Running = true
	s := New(Options{Sources: []Source{c}, Token: testToken})
	s.watchers[0].once(t.Context(), firstRead)
	for what, form := range map[string]url.Values{
		"no token":      {"verb": {"change"}, "setting": {"exclude"}, "value": {"x"}, "try": {"1"}},
		"another token": {"form": {"x"}, "verb": {"change"}, "setting": {"max-pages"}, "value": {"1"}},
		"too long":      {"form": {s.guard.formToken()}, "verb": {"change"}, "setting": {"exclude"}, "value": {strings.Repeat("x", maxChange+1)}},
		"a long reason": {"form": {s.guard.formToken()}, "verb": {"change"}, "setting": {"exclude"}, "value": {"x"}, "reason": {strings.Repeat("x", maxSearch+1)}},
	} {
		_, page := posted(t, s, form)
		assert.Truef(t, len(c.acts)+len(c.tried) == 0, "%s: %+v, %+v; %s", what, c.acts, c.tried, page)
	}
}

func TestSteer_ListsActsOfOperators(t *testing.T) {
	c := &fakeCrawl{name: "news", did: []ledger.Mark{{Time: testTime, Operator: &ledger.Operator{Act: ledger.ActPark, About: "https://a.test", URLs: 7, Note: "asked by phone"}}}}
	c.settings = Settings{Budgets: map[string]string{"max-pages": "500", "max-bytes": "0", "stop-when": "errors>5%\npages=9"}, Exclude: []string{"/cal/"}, Delay: "1s"}
	s := New(Options{Sources: []Source{c}, Token: testToken})
	s.watchers[0].once(t.Context(), firstRead)
	b, err := io.ReadAll(asked(t, s, "GET", "/crawl/0/steer", "", "Cookie: curtsy_8800="+s.guard.session()).Body)
	require.NoError(t, err)
	page := string(b)
	for _, want := range []string{"https://a.test", "asked by phone", "<code>/cal/</code>", ">500<", "errors&gt;5%, pages=9", "no limit", "curtsy config set", "curtsy resume"} {
		assert.Containsf(t, page, want, "no %q", want)
	}
	assert.NotContains(t, page, "<form", "there are forms")
}
