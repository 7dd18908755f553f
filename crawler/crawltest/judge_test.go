package crawltest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest/visitor"
)

// Each crawl breaks exactly one rule, or none.
func TestRefereeCatches(t *testing.T) {
	for _, tc := range []struct {
		name     string
		sites    []*Site // nil: a.test
		rules    Rules
		crawl    func(c *visitor.Client)
		broken   Rule     // "" without a violation
		evidence []string // in the text of its findings
		findings int      // zero means 1
	}{
		{name: "nothing: robots.txt, then a page a pace later",
			rules: Rules{Pace: second}, crawl: visit("/robots.txt", second, "/")},
		{name: "a page before robots.txt, at the same instant", crawl: visit("/", "/robots.txt"), broken: RobotsFirst,
			evidence: []string{"a.test/: GET at 0.000s before any robots.txt"}},
		{name: "a page while robots.txt is still being answered",
			sites: []*Site{{Name: "a.test", Robots: Robots{Body: "#", Delay: second}}}, rules: Rules{Width: 2},
			crawl: func(c *visitor.Client) {
				c.Aside(func() { c.Get("a.test/robots.txt") }, func() { time.Sleep(second / 2); c.Get("a.test/") })
			}, broken: RobotsFirst, evidence: []string{"a.test/: GET at 0.500s before any robots.txt"}},
		{name: "the robots.txt of one host does not count for another",
			sites: []*Site{{Name: "a.test"}, {Name: "a.test:8080"}}, crawl: visit("/robots.txt", "/", "a.test:8080/"),
			broken: RobotsFirst, evidence: []string{"a.test:8080/"}},
		{name: "HEAD for robots.txt does not bring it",
			crawl:  func(c *visitor.Client) { c.Do(c.T.Context(), "HEAD", "http://a.test/robots.txt"); c.Get("a.test/") },
			broken: RobotsFirst, evidence: []string{"a.test/: GET"}},
		{name: "a redirect of robots.txt not followed",
			sites: []*Site{{Name: "a.test", Robots: Robots{Redirect: "/r.txt"}, Pages: map[string]Page{"/": {}, "/r.txt": {}}}},
			crawl: visit("/robots.txt", "/"), broken: RobotsFirst,
			evidence: []string{"redirected to http://a.test/r.txt"}},
		{name: "a disallowed page",
			sites: []*Site{{Name: "a.test", Robots: Robots{Body: "User-agent: *\nDisallow: /x\n"}, Pages: map[string]Page{"/": {Links: []string{"/x"}}, "/x": {}}}},
			crawl: visit("/robots.txt", "/", second, "/x"), broken: RobotsObeyed,
			evidence: []string{"a.test/x: GET at 1.000s", "line 2 of robots.txt", "for curtsy", "served at 0.000s"}},
		{name: "a group that names curtsy binds every token",
			sites: []*Site{{Name: "a.test", Robots: Robots{Body: "User-agent: lantern\nAllow: /\nUser-agent: curtsy\nDisallow: /x\n"},
				Pages: map[string]Page{"/": {Links: []string{"/x"}}, "/x": {}}}}, rules: Rules{Token: "lantern"},
			crawl: func(c *visitor.Client) {
				c.Agent = "lantern/2 (+https://lantern.example/) curtsy/1"
				c.Get("a.test/robots.txt")
				c.Get("a.test/")
				c.Get("a.test/x")
			}, broken: RobotsObeyed, evidence: []string{"line 4", "for curtsy"}},
		{name: "disallowed by a robots.txt that redirects to another host",
			sites:  []*Site{{Name: "a.test", Robots: Robots{Redirect: "http://b.test/for-a.txt"}, Pages: map[string]Page{"/": {Links: []string{"/x"}}, "/x": {}}}, {Name: "b.test", Pages: map[string]Page{"/": {}, "/for-a.txt": {Body: "User-agent: *\nDisallow: /x"}}}},
			crawl:  visit("/robots.txt", "b.test/for-a.txt", "/", "/x", "b.test/robots.txt", "b.test/"),
			broken: RobotsObeyed, evidence: []string{"a.test/x", "line 2"}},
		{name: "a page though robots.txt answered 503", sites: []*Site{{Name: "a.test", Robots: Robots{Status: 503}}},
			crawl: visit("/robots.txt", second, "/"), broken: RobotsDown,
			evidence: []string{"a.test/: GET at 1.000s though robots.txt answered 503 at 0.000s"}},
		{name: "a page though robots.txt answered 429", sites: []*Site{{Name: "a.test", Robots: Robots{Status: 429}}},
			crawl: visit("/robots.txt", "/"), broken: RobotsDown, evidence: []string{"answered 429"}},
		{name: "a page on a robots.txt of yesterday", crawl: visit("/robots.txt", 24*time.Hour+1, "/"),
			broken: RobotsFresh, evidence: []string{"a.test/: GET at 86400.000s on a robots.txt of 0.000s"}},
		{name: "a gap one nanosecond short, from robots.txt to the page", rules: Rules{Pace: second},
			crawl: visit("/robots.txt", second-1, "/"), broken: Pace,
			evidence: []string{"a.test/: GET at 1.000s began 1.000s after the end of /robots.txt (0.000s); pace 1s"}},
		{name: "a gap counted from the start of the exchange before",
			sites: []*Site{{Name: "a.test", Robots: Robots{Body: "#", Delay: second / 2}}},
			rules: Rules{Pace: second}, crawl: func(c *visitor.Client) {
				begun := time.Now()
				c.Get("a.test/robots.txt")
				time.Sleep(time.Until(begun.Add(second)))
				c.Get("a.test/")
			}, broken: Pace, evidence: []string{"began 0.500s after the end of /robots.txt (0.500s)"}},
		{name: "a gap counted from the exchange that began last, not from the one that ended last",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{
				"/": {Delay: 10 * second, Links: []string{"/x", "/y"}}, "/x": {}, "/y": {}}}},
			rules: Rules{Pace: second, Width: 2}, crawl: func(c *visitor.Client) {
				c.Get("a.test/robots.txt")
				time.Sleep(second)
				c.Aside(func() { c.Get("a.test/") }, func() { time.Sleep(second); c.Get("a.test/x") })
				time.Sleep(second / 2)
				c.Get("a.test/y")
			}, broken: Pace,
			evidence: []string{"a.test/x: GET at 2.000s began 9.000s before the end of / (11.000s)", "a.test/y: GET at 11.500s began 0.500s after the end of / (11.000s)"},
			findings: 2},
		{name: "a Crawl-delay ignored from the first page on",
			sites: []*Site{{Name: "a.test", Robots: Robots{Body: "User-agent: *\nCrawl-delay: 2.5\n"}}},
			rules: Rules{Pace: second}, crawl: visit("/robots.txt", 2*second, "/"), broken: CrawlDelay,
			evidence: []string{"began 2.000s after the end of /robots.txt (0.000s); Crawl-delay 2.5s"}},
		{name: "two at once",
			sites: []*Site{{Name: "a.test", Latency: second, Pages: map[string]Page{"/": {Links: []string{"/x"}}, "/x": {}}}},
			crawl: func(c *visitor.Client) {
				c.Get("a.test/robots.txt")
				c.Aside(func() { c.Get("a.test/") }, func() { time.Sleep(second / 2); c.Get("a.test/x") })
			}, broken: InFlight,
			evidence: []string{"a.test/x: GET at 1.500s while 1 of the host under way, / since 1.000s; allowed are 1"}},
		{name: "two at once where two are allowed",
			sites: []*Site{{Name: "a.test", Latency: second, Pages: map[string]Page{"/": {Links: []string{"/x"}}, "/x": {}}}},
			rules: Rules{Width: 2}, crawl: func(c *visitor.Client) {
				c.Get("a.test/robots.txt")
				c.Aside(func() { c.Get("a.test/") }, func() { c.Get("a.test/x") })
			}},
		{name: "Retry-After in seconds, any page of the host",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {FailFirst: 1, FailStatus: 429, RetryAfter: "10", Links: []string{"/x"}}, "/x": {}}}},
			crawl: visit("/robots.txt", "/", 10*second-1, "/x", second, "/"), broken: RetryAfter,
			evidence: []string{"a.test/x: GET at 10.000s though 429 for / required a delay from 0.000s to 10.000s"}},
		{name: "Retry-After obeyed to the instant",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {FailFirst: 1, RetryAfter: "10"}}}},
			crawl: visit("/robots.txt", "/", 10*second, "/")},
		{name: "Retry-After as a date", // bubbles begin at midnight UTC of 1 January 2000
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {FailFirst: 1, RetryAfter: "Sat, 01 Jan 2000 00:00:30 GMT"}}}},
			crawl: visit("/robots.txt", "/", 29*second, "/"), broken: RetryAfter,
			evidence: []string{"503 for / required a delay from 0.000s to 30.000s"}},
		{name: "Retry-After that cannot be read asks for a day",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {FailFirst: 1, RetryAfter: "soon"}}}},
			crawl: visit("/robots.txt", "/", 23*time.Hour, "/"), broken: RetryAfter,
			evidence: []string{"to 86400.000s"}},
		{name: "Retry-After of a robots.txt that is down",
			sites: []*Site{{Name: "a.test", Robots: Robots{Status: 500, RetryAfter: "60"}}},
			crawl: visit("/robots.txt", second, "/robots.txt"), broken: RetryAfter,
			evidence: []string{"500 for /robots.txt"}},
		{name: "another name for robots.txt", crawl: func(c *visitor.Client) {
			c.Get("a.test/robots.txt")
			c.Agent = "curtsy/1.0 (another)"
			c.Get("a.test/")
		}, broken: Identity, evidence: []string{`as "curtsy/1.0 (another)", but at 0.000s as "` + visitor.Polite}},
		{name: "a User-Agent without the token",
			crawl:  func(c *visitor.Client) { c.Agent = "Mozilla/5.0"; c.Get("a.test/robots.txt"); c.Get("a.test/") },
			broken: Identity, evidence: []string{`as "Mozilla/5.0", which does not carry the token curtsy`},
			findings: 2},
		{name: "POST", crawl: func(c *visitor.Client) {
			c.Get("a.test/robots.txt")
			c.Get("a.test/")
			c.Do(c.T.Context(), "POST", "http://a.test/")
		}, broken: Manners, evidence: []string{"POST at 0.000s is neither GET nor HEAD"}},
		{name: "a cookie",
			crawl:  func(c *visitor.Client) { c.Get("a.test/robots.txt"); c.Get("a.test/", "Cookie", "id=1") },
			broken: Manners, evidence: []string{"with a Cookie field"}},
		{name: "a signature whose time is over", crawl: func(c *visitor.Client) {
			c.Get("a.test/robots.txt")
			c.Get("a.test/", "Signature-Input", `a=("@authority");created=1;expires=2;keyid="b";tag="web-bot-auth"`, "Signature", "a=:AAAA:")
		}, broken: Signatures,
			evidence: []string{"a.test/: GET at 0.000s with a signature that does not count: the signature had expired"}},
		{name: "a link with rel=nofollow",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {NoFollow: []string{"/x"}}, "/x": {}}}},
			crawl: visit("/robots.txt", "/", "/x"), broken: NoFollow,
			evidence: []string{"a.test/x: GET at 0.000s though only links with nofollow lead there, one of them in http://a.test/"}},
		{name: "a link of a page with X-Robots-Tag: nofollow",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {Links: []string{"/x"}, Header: map[string]string{"x-robots-tag": "curtsy: noindex, none"}}, "/x": {}}}},
			crawl: visit("/robots.txt", "/", "/x"), broken: NoFollow, evidence: []string{"a.test/x"}},
		{name: "a link with nofollow that another page has without",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {NoFollow: []string{"/x"}, Links: []string{"/y"}}, "/y": {Links: []string{"x"}}, "/x": {}}}},
			crawl: visit("/robots.txt", "/", "/y", "/x")},
		{name: "one request too many in a trap",
			sites: []*Site{{Name: "a.test", Traps: []Trap{endless(2)}, Pages: map[string]Page{"/": {Links: []string{"/t/"}}}}},
			crawl: visit("/robots.txt", "/", "/t/", "/t/x/", "/t/x/x/"), broken: Traps,
			evidence: []string{"a.test/t/x/x/: GET at 0.000s is request 3 in the trap /t/; 2 are forgiven"}},
		{name: "a page without a link to it", crawl: visit("/robots.txt", "/", "/favicon.ico"), broken: Scope,
			evidence: []string{"a.test/favicon.ico: GET at 0.000s though no link in scope leads there"}},
		{name: "a host that is not in scope",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {Links: []string{"http://b.test/"}}}}, {Name: "b.test"}},
			rules: Rules{Seeds: []string{"http://a.test/"}},
			crawl: visit("/robots.txt", "/", "b.test/robots.txt", "b.test/"), broken: Scope,
			evidence: []string{"b.test/: GET"}},
		{name: "a page forgotten",
			sites:  []*Site{{Name: "a.test", Pages: map[string]Page{"/": {Links: []string{"/x"}, Embeds: []string{"y.png"}}, "/x": {}, "/y.png": {}}}},
			crawl:  visit("/robots.txt", "/", "/x"),
			broken: Coverage, evidence: []string{"a.test/y.png: never fetched; linked from http://a.test/"}},
		{name: "a seed forgotten", sites: []*Site{{Name: "a.test"}, {Name: "b.test"}},
			crawl: visit("/robots.txt", "/"), broken: Coverage, evidence: []string{"b.test/: never fetched; a seed"}},
		{name: "a page given up after one failure",
			sites:  []*Site{{Name: "a.test", Pages: map[string]Page{"/": {FailFirst: 1}}}},
			crawl:  visit("/robots.txt", "/"),
			broken: Coverage, evidence: []string{"requested 1 time, the last response 503 at 0.000s, and not again"}},
		{name: "pages beyond a budget",
			sites: []*Site{{Name: "a.test"}, {Name: "b.test"}}, rules: Rules{Partial: true},
			crawl: visit("/robots.txt", "/")},
		{name: "a page fetched twice, in two spellings",
			sites:  []*Site{{Name: "a.test", Pages: map[string]Page{"/": {Links: []string{"/~x"}}, "/~x": {}}}},
			crawl:  visit("/robots.txt", "/", "/~x", second, "/%7Ex"),
			broken: Once, evidence: []string{"a.test/%7Ex: GET at 1.000s again: at 0.000s it was answered with 200"}},
		{name: "retries of a page that never works",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {Status: 500}}}},
			crawl: visit("/robots.txt", "/", "/", "/")},
		{name: "a page sent on to another spelling of itself",
			sites: []*Site{{Name: "a.test", Pages: map[string]Page{"/": {Links: []string{"/%7Ex"}}, "/robots.txt": {}},
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.RequestURI == "/%7Ex" {
						http.Redirect(w, r, "/~x", http.StatusMovedPermanently)
					}
				})}}, crawl: visit("/robots.txt", "/", "/%7Ex", "/~x")},
		{name: "as many repeats as a kill excuses", rules: Rules{Repeats: 1},
			crawl: visit("/robots.txt", "/", "/")},
		{name: "more repeats than a kill excuses", rules: Rules{Repeats: 1},
			crawl: visit("/robots.txt", "/", "/", "/"), broken: Once, evidence: []string{"a.test/: GET"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.sites == nil {
				tc.sites = []*Site{{Name: "a.test"}}
			}
			web := New(tc.sites...)
			visitor.Bubble(t, web, tc.crawl)
			report := web.Referee().Judge(tc.rules)
			if tc.broken == "" {
				mustKeep(t, report)
				return
			}
			for _, row := range report.Rows {
				assert.Equalf(t, (row.Rule == tc.broken), (row.Verdict == Broken), "%s: %s: %s", row.Rule, row.Verdict, row.Evidence)
			}
			row := report.Row(tc.broken)
			if want := max(tc.findings, 1); len(row.Findings) != want || report.Violations() != want {
				t.Errorf("%d findings, %d violations, want %d", len(row.Findings), report.Violations(), want)
			}
			text := table(t, report)
			flat := strings.Join(strings.Fields(text), " ")
			for _, want := range tc.evidence {
				assert.Containsf(t, flat, want, "no %q in\n%s", want, text)
			}
		})
	}
}

func visit(steps ...any) func(c *visitor.Client) {
	return func(c *visitor.Client) {
		for _, step := range steps {
			switch step := step.(type) {
			case string: // of a.test, where no host is named
				if step[0] == '/' {
					step = "a.test" + step
				}
				c.Get(step)
			case time.Duration:
				time.Sleep(step)
			}
		}
	}
}

func endless(most int) Trap {
	return Trap{Prefix: "/t/", Most: most, Page: func(string) Page { return Page{Links: []string{"x/"}} }}
}

func TestBrokenOffExchangeIsLoggedAsCut(t *testing.T) {
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {Delay: time.Hour}}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		c.Get("a.test/robots.txt")
		ctx, cancel := context.WithTimeout(c.T.Context(), second)
		defer cancel()
		if _, err := c.Do(ctx, http.MethodGet, "http://a.test/"); err == nil {
			t.Error("an answer before its time")
		}
		time.Sleep(second)
		r := web.Referee().Requests()
		if len(r) != 2 || !r[1].Cut || r[1].Status != 0 || r[1].End.Sub(r[1].Start) != second {
			t.Errorf("log: %+v", r)
		}
	})
	assert.Len(t, web.Referee().Judge(Rules{}).Row(Coverage).Findings, 1, "coverage")
}
