package crawler

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
)

// No disguise, no cookies kept, no login, no forms, GET only: whatever a site does to bring them about.
func TestRule03_NoCookiesNoCredentialsNoFormsGETOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cookie := map[string]string{"Set-Cookie": "id=1; Path=/; Max-Age=99999", "Accept-CH": "Sec-CH-UA-Platform", "Alt-Svc": `h2=":443"`}
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/": {
				Header: cookie,
				Links:  []string{"http://user:secret@a.test/in", "/login", "/moved", "/401", "/captcha"},
				Body: `<a href="http://user:secret@a.test/in">in</a> <a href=/login>l</a> <a href=/moved>m</a> <a href=/401>4</a> <a href=/captcha>c</a>
					<form action=/search><input name=q value=x></form> <form method=post action=/post><input type=submit formaction=/other></form>
					<a href=/in ping=/ping>in</a> <script>document.cookie="a=b";fetch("/scripted")</script>`,
			},
			"/in":      {Header: cookie},
			"/login":   {Status: 403, Header: cookie},
			"/moved":   {Redirect: "http://other:word@a.test/in2", Header: cookie},
			"/in2":     {Header: cookie},
			"/401":     {Status: 401, Header: map[string]string{"WWW-Authenticate": `Basic realm="x"`}},
			"/captcha": {Status: 403, Text: "Are you a robot?"},
		}}
		site.Robots = crawltest.Robots{Body: "User-agent: *\nAllow: /\n", Header: cookie}
		w := newWorld(t, []string{"http://us:pw@a.test/"}, site)
		w.run()
		w.seeds = []string{"http://a.test/"}
		asked := w.asked("a.test")
		slices.Sort(asked)
		if want := []string{"/", "/401", "/captcha", "/in", "/in2", "/login", "/moved", "/robots.txt"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %q, want %q, each once", asked, want)
		}
		allowed := []string{"User-Agent", "From", "Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "Connection"}
		for i, r := range w.web.Referee().Requests() {
			if accept := r.Header.Get("Accept"); (accept == "text/plain, */*;q=0.5") != (i == 0) { // robots.txt comes first
				t.Errorf("%s: Accept: %s", r.Target, accept)
			}
			if r.Method != http.MethodGet {
				t.Errorf("%s %s", r.Method, r.Target)
			}
			for name := range r.Header {
				if !slices.Contains(allowed, name) {
					t.Errorf("%s carried %s: %q", r.Target, name, r.Header[name])
				}
			}
			if r.UserAgent != w.web.Referee().Requests()[0].UserAgent {
				t.Errorf("%s came as %q", r.Target, r.UserAgent)
			}
		}
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}
