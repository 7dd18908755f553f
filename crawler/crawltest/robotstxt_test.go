package crawltest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest/visitor"
)

func chain(n int) *Site {
	s := &Site{Name: "a.test", Robots: Robots{Redirect: "/1"}, Pages: map[string]Page{}}
	for i := 1; i < n; i++ {
		s.Pages[fmt.Sprintf("/%d", i)] = Page{Redirect: fmt.Sprintf("/%d", i+1)}
	}
	s.Pages[fmt.Sprintf("/%d", n)] = Page{Body: "User-agent: *\nDisallow: /x\n", Type: "text/plain"}
	return s
}

// RFC 9309 2.3.1, by the log and by the site's description.
func TestRobotsPolicyByAnswer(t *testing.T) {
	rules := "User-agent: *\nDisallow: /x\n"
	status := func(s int) *Site { return &Site{Name: "a.test", Robots: Robots{Status: s, Body: rules}} }
	for _, tc := range []struct {
		rule string
		site *Site
		want policyKind
	}{
		{"2.3.1.1 successful", status(200), ruled},
		{"2.3.1.1 successful, another status", status(203), ruled},
		{"2.3.1.1 successful and empty", &Site{Name: "a.test", Robots: Robots{Status: 200}}, ruled},
		{"2.3.1.1 part of it is not it", status(206), down},
		{"2.3.1.2 one redirect", chain(1), ruled},
		{"2.3.1.2 five redirects", chain(5), ruled},
		{"2.3.1.2 six redirects", chain(6), open},
		{"2.3.1.2 a loop", &Site{Name: "a.test", Robots: Robots{Redirect: "/1"}, Pages: map[string]Page{"/1": {Redirect: "/robots.txt"}}}, down},
		{"2.3.1.2 to itself", &Site{Name: "a.test", Robots: Robots{Redirect: "/robots.txt"}}, down},
		{"2.3.1.2 to nowhere", &Site{Name: "a.test", Robots: Robots{Redirect: "http://elsewhere.test/"}}, down},
		{"2.3.1.2 without Location", status(302), down},
		{"2.3.1.2 to a page of HTML", &Site{Name: "a.test", Robots: Robots{Redirect: "/"}, Pages: map[string]Page{"/": {}}}, ruled},
		{"2.3.1.2 to a missing page", &Site{Name: "a.test", Robots: Robots{Redirect: "/1"}}, open},
		{"2.3.1.2 to a broken page", &Site{Name: "a.test", Robots: Robots{Redirect: "/1"}, Pages: map[string]Page{"/1": {Status: 500}}}, down},
		{"2.3.1.3 unavailable", status(404), open},
		{"2.3.1.3 gone", status(410), open},
		{"2.3.1.3 forbidden", status(403), open},
		{"2.3.1.3 unauthorised", status(401), open},
		{"2.3.1.3 too many requests is transient", status(429), down},
		{"2.3.1.3 request time-out is transient", status(408), down},
		{"2.3.1.4 server error", status(500), down},
		{"2.3.1.4 unavailable server", status(503), down},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			web := New(tc.site)
			assert.Equal(t, tc.want, web.configured(web.order[0], nil).kind, "as described")
			visitor.Bubble(t, web, func(c *visitor.Client) { askRobots(c, "http://a.test/robots.txt") })
			held := web.policies(web.Referee().exchanges())["a.test"]
			assert.Equal(t, tc.want, held[len(held)-1].kind, "as served")
			if got := held[len(held)-1]; got.kind == ruled && strings.Contains(string(got.body), "Disallow") && got.disallows([]string{"any"}, "/x") == "" {
				t.Errorf("the rules are lost: %q", got.body)
			}
		})
	}
}

func askRobots(c *visitor.Client, raw string) {
	for range maxRobotsHops + 1 {
		a := c.Get(raw)
		u, err := url.Parse(raw)
		if err != nil {
			c.T.Fatal(err)
		}
		to, err := u.Parse(a.Header.Get("Location"))
		if a.Status/100 != 3 || err != nil || to.Hostname() != "a.test" {
			return
		}
		raw = to.String()
	}
}

func TestRFC9309_2_4_FreshCopyOutlivesAFailure(t *testing.T) {
	rules := "User-agent: *\nDisallow: /x\n"
	for _, tc := range []struct {
		name   string
		first  Robots
		second Robots
		after  time.Duration
		broken Rule
	}{
		{"503 while the copy is fresh", Robots{Body: rules}, Robots{Status: 503}, time.Hour, ""},
		{"503 when the copy is a day old", Robots{Body: rules}, Robots{Status: 503}, 24 * time.Hour, RobotsDown},
		{"503 after a 404 while that is fresh", Robots{Status: 404}, Robots{Status: 503}, time.Hour, ""},
		{"other rules count at once", Robots{Body: rules}, Robots{Body: "User-agent: *\nDisallow: /\n"}, time.Hour, RobotsObeyed},
		{"a 404 lifts rules", Robots{Body: rules}, Robots{Status: 404}, time.Hour, ""},
		{"200 after 503", Robots{Status: 503}, Robots{Body: rules}, time.Hour, ""},
		{"503 after 503", Robots{Status: 503}, Robots{Status: 503}, time.Hour, RobotsDown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			web := New(&Site{Name: "a.test", Robots: tc.first})
			visitor.Bubble(t, web, func(c *visitor.Client) {
				c.Get("a.test/robots.txt")
				web.Change("a.test", func(s *Site) { s.Robots = tc.second })
				time.Sleep(tc.after)
				c.Get("a.test/robots.txt")
				c.Get("a.test/")
			})
			r := web.Referee().Judge(Rules{Partial: true})
			for _, row := range r.Rows {
				assert.Equalf(t, (row.Rule == tc.broken), (row.Verdict == Broken), "%s: %s: %s", row.Rule, row.Verdict, row.Evidence)
			}
		})
	}
}

// RFC 9309 2.4, RFC 9110 15.4.5.
func TestNotModifiedRefreshesTheRules(t *testing.T) {
	web := New(&Site{Name: "a.test", Robots: Robots{Body: "User-agent: *\nDisallow: /x\n"}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		tag := c.Get("a.test/robots.txt").Header.Get("ETag")
		time.Sleep(20 * time.Hour)
		assert.Equal(t, http.StatusNotModified, c.Get("a.test/robots.txt", "If-None-Match", tag).Status, "status")
		time.Sleep(20 * time.Hour)
		c.Get("a.test/")
		c.Get("a.test/x")
	})
	r := web.Referee().Judge(Rules{})
	if r.Row(RobotsFresh).Verdict != Kept || len(r.Row(RobotsObeyed).Findings) != 1 {
		t.Errorf("\n%s", table(t, r))
	}
}

func TestRobots_RefetchForgetsTheOldRedirect(t *testing.T) {
	web := New(&Site{Name: "a.test", Robots: Robots{Redirect: "/1"}, Pages: map[string]Page{"/": {}, "/1": {FailFirst: 1}}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		c.Get("a.test/robots.txt")
		c.Get("a.test/1")
		web.Change("a.test", func(s *Site) { s.Robots = Robots{Body: "User-agent: *\nDisallow: /1\n"} })
		c.Get("a.test/robots.txt")
		c.Get("a.test/")
		c.Get("a.test/1")
	})
	if f := web.Referee().Judge(Rules{}).Row(RobotsObeyed).Findings; len(f) != 1 || f[0].Target != "/1" {
		t.Errorf("findings: %v", f)
	}
}

// RFC 9309 2.3.1.4.
func TestRobotsBrokenOffIsDown(t *testing.T) {
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {}}, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "User-agent: *\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		if _, err := c.Do(c.T.Context(), http.MethodGet, "http://a.test/robots.txt"); err == nil {
			t.Error("the answer was whole")
		}
		c.Get("a.test/")
	})
	r := web.Referee().Judge(Rules{})
	if f := r.Row(RobotsDown).Findings; len(f) != 1 || !strings.Contains(f[0].Text, "was broken off") {
		t.Errorf("\n%s", table(t, r))
	}
}
