package crawltest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// polite is a User-Agent as it should be.
const polite = "curtsy/1.0 (+https://crawler.example/about)"

// client asks what the test tells it to, and nothing else: it follows no redirect and keeps no rule.
type client struct {
	t     *testing.T
	web   *Web
	http  *http.Client
	agent string
}

func newClient(t *testing.T, web *Web) *client {
	return &client{t: t, web: web, agent: polite, http: &http.Client{
		Transport:     &http.Transport{DialContext: web.Dial, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what came back, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// do makes one exchange. fields are names and values by turns.
func (c *client) do(ctx context.Context, method, url string, fields ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("User-Agent", c.agent)
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "Host" {
			r.Host = fields[i+1]
		}
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}

// get fetches "a.test/x", and fails the test if there is no answer.
func (c *client) get(url string, fields ...string) answer {
	c.t.Helper()
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	a, err := c.do(c.t.Context(), http.MethodGet, url, fields...)
	if err != nil {
		c.t.Fatalf("GET %s: %v", url, err)
	}
	return a
}

// bubble runs f on the web in virtual time, and fails if anything of the web is left over.
func bubble(t *testing.T, web *Web, f func(c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		web.StartPipe()
		c := newClient(t, web)
		f(c)
		c.http.CloseIdleConnections()
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	})
}

// sockets runs f on the web over loopback.
func sockets(t *testing.T, web *Web, f func(c *client)) {
	t.Helper()
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, web)
	f(c)
	c.http.CloseIdleConnections()
	if err := web.Close(); err != nil {
		t.Error(err)
	}
}

// mustKeep fails the test with the table when a rule was broken.
func mustKeep(t *testing.T, r Report) {
	t.Helper()
	if !r.OK() {
		t.Errorf("the referee found:\n%s", table(t, r))
	}
}

func table(t *testing.T, r Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// second is the pace of most tests.
const second = time.Second
