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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest/visitor"
)

func TestExpectationsAreJudged(t *testing.T) {
	const rule = Rule("hostile: x")
	slow := Page{Raw: Drip(10*time.Second, Head(), "x", time.Second)}
	large := Page{Raw: Say(Head()+strings.Repeat("x", 1000), true)}
	for _, tc := range []struct {
		name    string
		expect  Expect
		page    Page // of "/x"
		rules   Rules
		crawl   func(c *visitor.Client)
		verdict Verdict
		says    string
	}{
		{"misbehaving target not requested", Expect{At: []string{"/x"}, Fetched: []string{"/y"}}, Page{}, Rules{},
			func(c *visitor.Client) { c.Get("a.test/") }, Unshown, ""},
		{"few requests", Expect{Most: 3}, Page{}, Rules{}, func(c *visitor.Client) { c.Get("a.test/x") }, Kept, "2 requests"},
		{"too many requests", Expect{Most: 2}, Page{}, Rules{},
			func(c *visitor.Client) { c.Get("a.test/x"); c.Get("a.test/y") }, Broken, "/y: GET at 0.000s is request 3 at this host; 2 are forgiven"},
		{"too much", Expect{Octets: 1000}, large, Rules{}, func(c *visitor.Client) { c.Get("a.test/x") }, Broken, "/x: GET at 0.000s took "},
		{"not too much", Expect{Octets: 2000}, large, Rules{}, func(c *visitor.Client) { c.Get("a.test/x") }, Kept, "KiB and"},
		{"too long", Expect{Within: 5 * time.Second}, slow, Rules{}, func(c *visitor.Client) { c.Get("a.test/x") }, Broken, "was not over within 5s"},
		{"left in time", Expect{Within: 5 * time.Second}, slow, Rules{}, func(c *visitor.Client) {
			ctx, cancel := context.WithTimeout(c.T.Context(), 4500*time.Millisecond)
			defer cancel()
			c.Do(ctx, http.MethodGet, "http://a.test/x")
		}, Kept, "4.000s"},
		{"nothing fetched after", Expect{Fetched: []string{"/y"}}, Page{}, Rules{},
			func(c *visitor.Client) { c.Get("a.test/x") }, Broken, "a.test/y: never fetched"},
		{"nothing fetched after, in a part of a crawl", Expect{Fetched: []string{"/y"}}, Page{}, Rules{Partial: true},
			func(c *visitor.Client) { c.Get("a.test/x") }, Kept, ""},
		{"a broken answer is not fetched", Expect{Fetched: []string{"/x"}}, Page{Raw: Cut(Head("Content-Length: 9"))}, Rules{},
			func(c *visitor.Client) { c.Do(c.T.Context(), http.MethodGet, "http://a.test/x") }, Broken, "a.test/x: never fetched"},
		{"a forbidden page", Expect{Left: []string{"/x"}}, Page{}, Rules{}, func(c *visitor.Client) { c.Get("a.test/%78") }, Broken, "it is forbidden"},
		{"a page below it", Expect{Left: []string{"/x/"}}, Page{}, Rules{}, func(c *visitor.Client) { c.Get("a.test/x/y") }, Broken, "it is forbidden"},
		{"a page beside it", Expect{Left: []string{"/x/", "/"}}, Page{}, Rules{}, func(c *visitor.Client) { c.Get("a.test/x") }, Kept, ""},
		{"a field", Expect{Fields: []string{"Cookie"}}, Page{}, Rules{}, func(c *visitor.Client) { c.Get("a.test/x", "Cookie", "a=b") }, Broken, "with a Cookie field"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.expect.Rule = rule
			web := New(&Site{Name: "a.test", Expect: &tc.expect, Pages: map[string]Page{"/": {}, "/x": tc.page, "/y": {}}})
			visitor.Bubble(t, web, func(c *visitor.Client) {
				c.Get("a.test/robots.txt")
				tc.crawl(c)
			})
			report := web.Referee().Judge(tc.rules)
			row := report.Row(rule)
			if row.Verdict != tc.verdict || !strings.Contains(row.Evidence, tc.says) {
				t.Errorf("%s: %s; want %s, %q", row.Verdict, row.Evidence, tc.verdict, tc.says)
			}
			if report.Violations() != len(row.Findings) && tc.name != "a field" { // that also breaks a politeness rule
				t.Errorf("other rows are broken too:\n%s", table(t, report))
			}
		})
	}
}

// Over loopback, where crawlers without hooks come, all addresses are equal.
func TestExpectClosed(t *testing.T) {
	private := netip.MustParseAddr("10.0.0.1")
	for _, tc := range []struct {
		name  string
		run   func(*testing.T, visitor.Web, func(*visitor.Client))
		crawl func(c *visitor.Client, web *Web)
		want  Verdict
	}{
		{"one look-up", visitor.Bubble, func(c *visitor.Client, web *Web) { c.Get("a.test/robots.txt") }, Unshown},
		{"two look-ups, the second not followed", visitor.Bubble, func(c *visitor.Client, web *Web) {
			c.Get("a.test/robots.txt")
			if addrs, err := web.Resolve(c.T.Context(), "A.test."); err != nil || addrs[0] != private {
				c.T.Errorf("%v, %v", addrs, err)
			}
		}, Kept},
		{"two look-ups, the second followed", visitor.Bubble, func(c *visitor.Client, web *Web) {
			c.Get("a.test/robots.txt")
			c.HTTP.CloseIdleConnections()
			c.Get("a.test/")
		}, Broken},
		{"over loopback", visitor.Sockets, func(c *visitor.Client, web *Web) {
			c.HTTP.Transport = &http.Transport{}
			url := web.LoopbackURL("10.0.0.1")
			c.Get(url + "robots.txt")
			c.Get(url)
		}, Unshown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const rule = Rule("hostile: x")
			web := New(
				&Site{Name: "a.test", Expect: &Expect{Rule: rule}, Addrs: []netip.Addr{{}, private}},
				&Site{Name: "10.0.0.1", Expect: &Expect{Rule: rule, Closed: true}},
			)
			tc.run(t, web, func(c *visitor.Client) { tc.crawl(c, web) })
			if row := web.Referee().Judge(Rules{}).Row(rule); row.Verdict != tc.want {
				t.Errorf("%s: %s; want %s", row.Verdict, row.Evidence, tc.want)
			}
		})
	}
}

func TestRawEndsWithItsClientAndWithTheWeb(t *testing.T) {
	for name, run := range map[string]func(*testing.T, visitor.Web, func(*visitor.Client)){"pipes": visitor.Bubble, "sockets": visitor.Sockets} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{}, 2)
			web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {Raw: func(ctx context.Context, conn net.Conn, _ *http.Request) bool {
				_, _ = io.WriteString(conn, Head())
				<-ctx.Done()
				ended <- struct{}{}
				return false
			}}}})
			run(t, web, func(c *visitor.Client) {
				begin := func() io.Closer {
					r, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, "http://a.test/", nil)
					require.NoError(t, err)
					resp, err := c.HTTP.Do(r)
					require.NoError(t, err)
					return resp.Body
				}
				_ = begin().Close()
				<-ended
				stays := begin()
				assert.NoError(t, web.Close())
				_ = stays.Close()
			})
			assert.Len(t, ended, 1, "Close came back before the second had ended")
			for _, r := range web.Referee().Requests() {
				if r.Status != http.StatusOK || !r.Cut || r.Octets != int64(len(Head())) || !strings.HasPrefix(r.Answer.Get("Content-Type"), "text/html") {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}
