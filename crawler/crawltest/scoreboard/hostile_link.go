package scoreboard

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"curtsy/crawler/crawltest"
)

// redirectSites send a crawler about.
func redirectSites() []*crawltest.Site {
	const hops = 12
	chain := ill("chain.test", "redirect chain of 12 hops", true,
		crawltest.Expect{At: []string{"/hop/1"}, Left: []string{"/hop/12", "/end.html"}},
		target{"/hop/1", crawltest.Page{Redirect: "/hop/2"}})
	for i := 2; i < hops; i++ {
		chain.Pages[fmt.Sprintf("/hop/%d", i)] = crawltest.Page{Redirect: fmt.Sprintf("/hop/%d", i+1)}
	}
	chain.Pages["/hop/12"] = crawltest.Page{Redirect: "/end.html"}
	chain.Pages["/end.html"] = crawltest.Page{}
	loop := ill("loop.test", "redirect loops", true, crawltest.Expect{Most: 20},
		target{"/still", crawltest.Page{Redirect: "/still"}}, target{"/east", crawltest.Page{Redirect: "/west"}})
	loop.Pages["/west"] = crawltest.Page{Redirect: "/east"}
	endless := ill("onward.test", "endless redirects", true, crawltest.Expect{Most: 40},
		target{"/on/1", crawltest.Page{Redirect: "/on/2"}})
	endless.Traps = []crawltest.Trap{{Prefix: "/on/", Most: 32, Page: func(at string) crawltest.Page {
		var n int
		_, _ = fmt.Sscanf(at, "/on/%d", &n) // what is no number leads to 1
		return crawltest.Page{Redirect: fmt.Sprintf("/on/%d", n+1)}
	}}}
	detour := ill("detour.test", "redirect to what is disallowed", true, crawltest.Expect{Left: []string{"/closed/"}},
		target{"/to-path", crawltest.Page{Redirect: "/closed/page.html"}},
		target{"/to-host", crawltest.Page{Redirect: "http://shut.test/page.html"}})
	detour.Robots.Body = "User-agent: *\nDisallow: /closed/\n"
	detour.Pages["/closed/page.html"] = crawltest.Page{}
	shut := &crawltest.Site{Name: "shut.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /\n"},
		Pages: map[string]crawltest.Page{"/": {}, "/page.html": {}},
		Expect: &crawltest.Expect{Rule: crawltest.Hostile("redirect to what is disallowed"),
			At: []string{crawltest.RobotsPath}, Left: []string{"/", "/page.html"}}}
	schemes := ill("schemes.test", "redirect to other schemes", true, crawltest.Expect{Most: 10},
		target{"/file", crawltest.Page{Redirect: "file:///etc/passwd"}},
		target{"/script", crawltest.Page{Redirect: "javascript:alert(1)"}},
		target{"/ftp", crawltest.Page{Redirect: "ftp://schemes.test/"}},
		target{"/none", crawltest.Page{Redirect: "http://[::1/"}})
	return []*crawltest.Site{loop, chain, endless, detour, shut, schemes}
}

// linkSites have too much to follow, or what must not be followed.
func linkSites() []*crawltest.Site {
	calendar := ill("calendar.test", "infinite calendar", true, crawltest.Expect{},
		target{"/calendar?month=1", month("/calendar?month=1")})
	calendar.Traps = []crawltest.Trap{{Prefix: "/calendar?month=", Most: 1100, Page: month}}
	tree := ill("tree.test", "infinite path tree", true, crawltest.Expect{Most: 60},
		target{"/deep/", crawltest.Page{Links: []string{"deeper/"}}})
	tree.Traps = []crawltest.Trap{{Prefix: "/deep/deeper/", Most: 50,
		Page: func(string) crawltest.Page { return crawltest.Page{Links: []string{"deeper/"}} }}}
	many := ill("many.test", "100,000 links on a page", true, crawltest.Expect{Left: []string{"/l/"}},
		raw("/many.html", manyLinks))
	many.Robots.Body = "User-agent: *\nDisallow: /l/\n"
	charset := ill("charset.test", "invalid charset", true, crawltest.Expect{}, target{"/charset.html", crawltest.Page{
		Body:   "<!DOCTYPE html><title>\xff\xfe\xc3(</title><a href=\"/found.html\">\x80\x81</a>",
		Links:  []string{"/found.html"},
		Header: map[string]string{"Content-Type": "text/html; charset=x-\"klingon"},
	}})
	charset.Pages["/found.html"] = crawltest.Page{}
	quiet := ill("quiet.test", "directives on the page", true, crawltest.Expect{Left: []string{"/unfollowed/"}},
		target{"/none.html", crawltest.Page{Robots: "NONE", Links: []string{"/unfollowed/a.html"}}},
		target{"/header.html", crawltest.Page{Header: map[string]string{"X-Robots-Tag": "noindex, nofollow"},
			Links: []string{"/unfollowed/b.html"}}},
		target{"/rel.html", crawltest.Page{NoFollow: []string{"/unfollowed/c.html"}}},
		target{"/noindex.html", crawltest.Page{Robots: "noindex", Links: []string{"/followed.html"}}})
	for _, at := range []string{"/unfollowed/a.html", "/unfollowed/b.html", "/unfollowed/c.html", "/followed.html"} {
		quiet.Pages[at] = crawltest.Page{}
	}
	quiet.Expect.Fetched = append(quiet.Expect.Fetched, "/followed.html")
	return []*crawltest.Site{
		calendar, tree, many, charset, quiet,
		ill("nested.test", "100,000 nested elements", true, crawltest.Expect{}, raw("/nested.html", nested)),
		ill("dense.test", "HTML that grows in memory", true, crawltest.Expect{}, raw("/dense.html", dense),
			raw("/anew.html", anew)),
	}
}

// month is a page of a calendar without appointments: but for the next month it says always the same.
func month(at string) crawltest.Page {
	var n int
	_, _ = fmt.Sscanf(at, "/calendar?month=%d", &n) // what is no number leads to 1
	next := fmt.Sprintf("/calendar?month=%d", n+1)
	return crawltest.Page{
		Body:  "<!DOCTYPE html><title>Calendar</title><p>No appointments.</p><a href=\"" + next + "\">Next month</a>",
		Links: []string{next},
	}
}

// manyLinks has 100,000 links, all of them to what robots.txt disallows.
func manyLinks(_ context.Context, conn net.Conn, _ *http.Request) bool {
	return pour(conn, crawltest.Head()+"<!DOCTYPE html><title>Links</title>", func(b *strings.Builder, i int) {
		fmt.Fprintf(b, "<a href=\"/l/%d.html\">%d</a>\n", i, i)
	})
}

// nested has 100,000 elements, each in the one before, and a link in the last.
func nested(_ context.Context, conn net.Conn, _ *http.Request) bool {
	return pour(conn, crawltest.Head()+"<!DOCTYPE html><title>Nested</title>",
		func(b *strings.Builder, _ int) { b.WriteString("<div>") })
}

// dense is 24 MiB of the shortest elements there are.
func dense(_ context.Context, conn net.Conn, _ *http.Request) bool {
	if _, err := io.WriteString(conn, crawltest.Head()+"<!DOCTYPE html><title>Dense</title>"); err == nil {
		flow(conn, []byte(strings.Repeat("<p>x", 8<<10)), 24<<20)
	}
	return true
}

// anew leaves 400 formatting elements open: each of the paragraphs that follow opens all of them anew (HTML Standard
// 13.2.4.3), so that 400 KiB become forty million elements.
func anew(_ context.Context, conn net.Conn, _ *http.Request) bool {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "<font size=%d>", i)
	}
	return pour(conn, crawltest.Head()+"<!DOCTYPE html><title>Anew</title><p>"+b.String(),
		func(b *strings.Builder, _ int) { b.WriteString("<p>x") })
}

// pour writes a head and 100,000 pieces.
func pour(conn net.Conn, head string, piece func(b *strings.Builder, i int)) bool {
	_, err := io.WriteString(conn, head)
	for i := 0; i < 100_000 && err == nil; {
		var b strings.Builder
		for end := i + 1000; i < end; i++ {
			piece(&b, i)
		}
		_, err = io.WriteString(conn, b.String())
	}
	return true
}
