package crawltest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// Each case is a crawl of a site with one expectation: the referee must see when it is not met, and name no other row.
func TestExpectationsAreJudged(t *testing.T) {
	const rule = Rule("hostile: x")
	slow := Page{Raw: drip(10*time.Second, ok(), "x", time.Second)}
	large := Page{Raw: say(ok()+strings.Repeat("x", 1000), true)}
	for _, tc := range []struct {
		name    string
		expect  Expect
		page    Page // of "/x"
		rules   Rules
		crawl   func(c *client)
		verdict Verdict
		says    string
	}{
		{"not asked for what is ill", Expect{At: []string{"/x"}, Fetched: []string{"/y"}}, Page{}, Rules{},
			func(c *client) { c.get("a.test/") }, Unshown, ""},
		{"few requests", Expect{Most: 3}, Page{}, Rules{}, func(c *client) { c.get("a.test/x") }, Kept, "2 requests"},
		{"too many requests", Expect{Most: 2}, Page{}, Rules{},
			func(c *client) { c.get("a.test/x"); c.get("a.test/y") }, Broken, "/y: GET at 0.000s is request 3 at this host; 2 are forgiven"},
		{"too much", Expect{Octets: 1000}, large, Rules{}, func(c *client) { c.get("a.test/x") }, Broken, "/x: GET at 0.000s took "},
		{"not too much", Expect{Octets: 2000}, large, Rules{}, func(c *client) { c.get("a.test/x") }, Kept, "octets"},
		{"too long", Expect{Within: 5 * time.Second}, slow, Rules{}, func(c *client) { c.get("a.test/x") }, Broken, "was not over within 5s"},
		{"left in time", Expect{Within: 5 * time.Second}, slow, Rules{}, func(c *client) {
			ctx, cancel := context.WithTimeout(c.t.Context(), 4500*time.Millisecond)
			defer cancel()
			c.do(ctx, http.MethodGet, "http://a.test/x")
		}, Kept, "4.000s"},
		{"nothing fetched after", Expect{Fetched: []string{"/y"}}, Page{}, Rules{},
			func(c *client) { c.get("a.test/x") }, Broken, "a.test/y: never fetched"},
		{"nothing fetched after, in a part of a crawl", Expect{Fetched: []string{"/y"}}, Page{}, Rules{Partial: true},
			func(c *client) { c.get("a.test/x") }, Kept, ""},
		{"a broken answer is not fetched", Expect{Fetched: []string{"/x"}}, Page{Raw: cut(ok("Content-Length: 9"))}, Rules{},
			func(c *client) { c.do(c.t.Context(), http.MethodGet, "http://a.test/x") }, Broken, "a.test/x: never fetched"},
		{"what must be left", Expect{Left: []string{"/x"}}, Page{}, Rules{}, func(c *client) { c.get("a.test/%78") }, Broken, "must be left alone"},
		{"what is below it", Expect{Left: []string{"/x/"}}, Page{}, Rules{}, func(c *client) { c.get("a.test/x/y") }, Broken, "must be left alone"},
		{"what is beside it", Expect{Left: []string{"/x/", "/"}}, Page{}, Rules{}, func(c *client) { c.get("a.test/x") }, Kept, ""},
		{"a field", Expect{Fields: []string{"Cookie"}}, Page{}, Rules{}, func(c *client) { c.get("a.test/x", "Cookie", "a=b") }, Broken, "with a Cookie field"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.expect.Rule = rule
			web := New(&Site{Name: "a.test", Expect: &tc.expect, Pages: map[string]Page{"/": {}, "/x": tc.page, "/y": {}}})
			bubble(t, web, func(c *client) {
				c.get("a.test/robots.txt")
				tc.crawl(c)
			})
			report := web.Referee().Judge(tc.rules)
			row := report.Row(rule)
			if row.Verdict != tc.verdict || !strings.Contains(row.Evidence, tc.says) {
				t.Errorf("%s: %s; want %s, %q", row.Verdict, row.Evidence, tc.verdict, tc.says)
			}
			if report.Violations != len(row.Findings) && tc.name != "a field" { // that is bad manners as well
				t.Errorf("other rows are broken too:\n%s", table(t, report))
			}
		})
	}
}

// A site at an address that is not public: whoever comes has gone too far, however he was led there; but over loopback,
// where crawlers without hooks come, all addresses are alike.
func TestExpectClosed(t *testing.T) {
	private := netip.MustParseAddr("10.0.0.1")
	for _, tc := range []struct {
		name  string
		run   func(*testing.T, *Web, func(*client))
		crawl func(c *client)
		want  Verdict
	}{
		{"one look-up", bubble, func(c *client) { c.get("a.test/robots.txt") }, Unshown},
		{"two look-ups, the second not followed", bubble, func(c *client) {
			c.get("a.test/robots.txt")
			if addrs, err := c.web.Resolve(c.t.Context(), "A.test."); err != nil || addrs[0] != private {
				c.t.Errorf("%v, %v", addrs, err)
			}
		}, Kept},
		{"two look-ups, the second followed", bubble, func(c *client) {
			c.get("a.test/robots.txt")
			c.http.CloseIdleConnections()
			c.get("a.test/")
		}, Broken},
		{"over loopback", sockets, func(c *client) {
			c.http.Transport = &http.Transport{}
			url := c.web.LoopbackURL("10.0.0.1")
			c.get(url + "robots.txt")
			c.get(url)
		}, Unshown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const rule = Rule("hostile: x")
			web := New(
				&Site{Name: "a.test", Expect: &Expect{Rule: rule}, Addrs: []netip.Addr{{}, private}},
				&Site{Name: "10.0.0.1", Expect: &Expect{Rule: rule, Closed: true}},
			)
			tc.run(t, web, tc.crawl)
			if row := web.Referee().Judge(Rules{}).Row(rule); row.Verdict != tc.want {
				t.Errorf("%s: %s; want %s", row.Verdict, row.Evidence, tc.want)
			}
		})
	}
}

// A Raw is told when its client leaves, and Close does not wait for one that never ends.
func TestRawEndsWithItsClientAndWithTheWeb(t *testing.T) {
	for name, run := range map[string]func(*testing.T, *Web, func(*client)){"pipes": bubble, "sockets": sockets} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{}, 2)
			web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {Raw: func(ctx context.Context, conn net.Conn, _ *http.Request) bool {
				_, _ = io.WriteString(conn, ok())
				<-ctx.Done()
				ended <- struct{}{}
				return false
			}}}})
			run(t, web, func(c *client) {
				begin := func() io.Closer {
					r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://a.test/", nil)
					if err != nil {
						t.Fatal(err)
					}
					resp, err := c.http.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					return resp.Body
				}
				_ = begin().Close()
				<-ended
				stays := begin()
				if err := web.Close(); err != nil {
					t.Error(err)
				}
				_ = stays.Close()
			})
			if len(ended) != 1 {
				t.Error("Close came back before the second had ended")
			}
			for _, r := range web.Referee().Requests() {
				if r.Status != http.StatusOK || !r.Cut || r.Octets != int64(len(ok())) || !strings.HasPrefix(r.Answer.Get("Content-Type"), "text/html") {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}
