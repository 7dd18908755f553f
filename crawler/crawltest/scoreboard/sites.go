package scoreboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"curtsy/crawler/crawltest"
)

// crawlDelay: a site that asks for three seconds.
func crawlDelay() occasion {
	s := board("delay.test", "User-agent: *\nCrawl-delay: 3\n", "/a.html", "/b.html", "/c.html")
	return alone(s, 7, crawltest.CrawlDelay, "Crawl-delay",
		func(t *crawltest.Trial) crawltest.Row { return t.Only(s.Name).Judge(crawltest.CrawlDelay) })
}

// slowServer: one that takes its time is asked less often, five times its response time apart.
func slowServer() occasion {
	const latency, times = 400 * time.Millisecond, 5
	s := board("slow.test", "", "/a.html", "/b.html", "/c.html")
	s.Latency = latency
	return alone(s, 9, "pace: slow server spared", "curtsy; as Heritrix does", func(t *crawltest.Trial) crawltest.Row {
		return spaced(t, crawltest.Gaps(t.Host(s.Name)), times*latency, func(crawltest.Gap) bool { return true })
	})
}

// restSeconds, restDate and restForever: Retry-After in its forms. The times are long, and something is left to be
// asked for from whichever end a crawler begins, so that nobody keeps them by chance.
func restSeconds() occasion {
	s := board("busy.test", "", "/a.html", "/busy.html", "/b.html")
	s.Pages["/busy.html"] = crawltest.Page{FailFirst: 1, RetryAfter: "20"}
	return rest(s, "Retry-After: seconds")
}

func restDate() occasion {
	s := board("away.test", "", "/a.html", "/away.html", "/b.html")
	delete(s.Pages, "/away.html")
	var asked atomic.Bool
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/away.html":
			http.NotFound(w, r)
		case asked.CompareAndSwap(false, true):
			w.Header().Set("Retry-After", time.Now().Add(25*time.Second).UTC().Format(http.TimeFormat))
			http.Error(w, "back soon", http.StatusTooManyRequests)
		default:
			_, _ = fmt.Fprintln(w, "back again")
		}
	})
	return rest(s, "Retry-After: date")
}

func restForever() occasion {
	s := board("closed.test", "", "/a.html", "/closed.html", "/b.html")
	s.Pages["/closed.html"] = crawltest.Page{Status: http.StatusServiceUnavailable, RetryAfter: "999999999"}
	return rest(s, "Retry-After: 31 years")
}

func rest(s *crawltest.Site, rule crawltest.Rule) occasion {
	e := alone(s, 11, rule, "RFC 9110 10.2.3",
		func(t *crawltest.Trial) crawltest.Row { return t.Only(s.Name).Judge(crawltest.RetryAfter) })
	e.spared = true // to come back is good, to give up is polite
	return e
}

// backOff: a server in trouble, which does not say for how long. One 5xx may be the page's fault, two are the host's.
func backOff(name string, status int) occasion {
	s := board(name, "", "/a.html", "/fails-1.html", "/fails-2.html", "/fails-3.html", "/b.html")
	for _, target := range []string{"/fails-1.html", "/fails-2.html", "/fails-3.html"} {
		s.Pages[target] = crawltest.Page{Status: status}
	}
	number, rule, times := 12, crawltest.Rule("back-off after two 5xx"), 2
	if status < 500 {
		number, rule, times = 11, "back-off after a 429", 1
	}
	e := alone(s, number, rule, "curtsy",
		func(t *crawltest.Trial) crawltest.Row { return backedOff(t, s.Name, status, times) })
	e.spared = true
	return e
}

// refusal: a host that says no at once.
func refusal() occasion {
	s := board("refuses.test", "")
	s.Robots = crawltest.Robots{Status: http.StatusForbidden, Body: "no\n"}
	e := alone(s, 13, "403 on the first page", "curtsy", func(t *crawltest.Trial) crawltest.Row { return refused(t, s.Name, 1) })
	return e.shut(s, 4)
}

// wall: a host that says no to each page.
func wall() occasion {
	s := board("wall.test", "")
	e := alone(s, 13, "403 ten times in a row", "curtsy",
		func(t *crawltest.Trial) crawltest.Row { return refused(t, s.Name, 10) })
	return e.shut(s, 14)
}

// shut makes n pages of s that are refused, linked from the index.
func (e occasion) shut(s *crawltest.Site, n int) occasion {
	s.Pages = map[string]crawltest.Page{}
	for i := range n {
		target := fmt.Sprintf("/%d.html", i+1)
		s.Pages[target] = crawltest.Page{Status: http.StatusForbidden}
		e.links = append(e.links, "http://"+s.Name+target)
	}
	e.spared = true
	return e
}

// cookies: a site that sets cookies, asks for a password and has a form.
func cookies() occasion {
	s := board("cookies.test", "User-agent: *\nDisallow:\n", "/a.html", "/locked.html", "/form.html")
	set := map[string]string{"Set-Cookie": "visitor=17; Path=/"}
	s.Robots.Header = set
	s.Pages["/"] = crawltest.Page{Links: s.Pages["/"].Links, Header: set}
	s.Pages["/a.html"] = crawltest.Page{Header: set}
	s.Pages["/locked.html"] = crawltest.Page{Status: http.StatusUnauthorized,
		Header: map[string]string{"WWW-Authenticate": `Basic realm="staff"`}}
	s.Pages["/form.html"] = crawltest.Page{Body: "<!DOCTYPE html>\n<title>Write to us</title>\n<form method=\"post\" action=\"/send\"><input name=\"text\"><button>Send</button></form>\n"}
	return occasion{sites: []*crawltest.Site{s}, rules: []rule{
		{3, "GET and HEAD only", "RFC 9110 9.2.1", methods},
		{3, "no cookies, no credentials", "cbcp", func(t *crawltest.Trial) crawltest.Row { return cookiesKept(t, s.Name) }},
	}}
}

// pageLevel: links that are not to be followed.
func pageLevel(token string) occasion {
	s := board("follow.test", "", "/meta.html", "/tag.html", "/named.html", "/other.html")
	s.Pages["/"] = crawltest.Page{Links: s.Pages["/"].Links, NoFollow: []string{"/rel/a.html"}}
	s.Pages["/meta.html"] = crawltest.Page{Robots: "nofollow", Links: []string{"/meta/a.html"}}
	tag := func(value, target string) crawltest.Page {
		return crawltest.Page{Header: map[string]string{"X-Robots-Tag": value}, Links: []string{target}}
	}
	s.Pages["/tag.html"] = tag("noindex, nofollow", "/tag/a.html")
	s.Pages["/named.html"] = tag(token+": nofollow", "/named/a.html")
	s.Pages["/other.html"] = tag("elsewhere: nofollow", "/other/a.html")
	for _, target := range []string{"/rel/a.html", "/meta/a.html", "/tag/a.html", "/named/a.html", "/other/a.html"} {
		s.Pages[target] = crawltest.Page{}
	}
	return occasion{sites: []*crawltest.Site{s}, rules: []rule{
		{19, "rel=nofollow", "HTML 4.6.8", links(s.Name, []string{"/"}, []string{"/rel/a.html"})},
		{19, "meta robots nofollow", "REP meta", links(s.Name, []string{"/meta.html"}, []string{"/meta/a.html"})},
		{19, "X-Robots-Tag nofollow", "X-Robots-Tag", links(s.Name, []string{"/tag.html"}, []string{"/tag/a.html"})},
		{19, "X-Robots-Tag by name", "X-Robots-Tag",
			links(s.Name, []string{"/named.html", "/other/a.html"}, []string{"/named/a.html"})},
	}}
}

// redirects: a chain, a loop, one without end, and one to what is disallowed.
func redirects() occasion {
	const most = 12 // two more than a chain may have (Fetch standard: 20; RFC 9110 15.4: loops are to be detected)
	s := board("hops.test", "User-agent: *\nDisallow: /closed/\n", "/go", "/chain/1", "/loop/a", "/on/1")
	s.Pages["/go"] = crawltest.Page{Redirect: "/closed/a.html"}
	s.Pages["/closed/a.html"] = crawltest.Page{}
	s.Pages["/chain/1"], s.Pages["/chain/2"] = crawltest.Page{Status: 301, Redirect: "/chain/2"},
		crawltest.Page{Status: 307, Redirect: "3"}
	s.Pages["/chain/3"], s.Pages["/end.html"] = crawltest.Page{Status: 308, Redirect: "/end.html"}, crawltest.Page{}
	s.Pages["/loop/a"], s.Pages["/loop/b"] = crawltest.Page{Redirect: "/loop/b"}, crawltest.Page{Redirect: "/loop/a"}
	delete(s.Pages, "/on/1")
	s.Traps = []crawltest.Trap{{Prefix: "/on/", Most: most, Page: func(target string) crawltest.Page {
		n, _ := strconv.Atoi(strings.TrimPrefix(target, "/on/")) // what is no number begins anew
		return crawltest.Page{Redirect: fmt.Sprintf("/on/%d", n+1)}
	}}}
	return occasion{sites: []*crawltest.Site{s}, rules: []rule{
		{5, "redirect to disallowed", "RFC 9309 2.2", links(s.Name, []string{"/go"}, []string{"/closed/a.html"})},
		{22, "redirects: chain", "RFC 9110 15.4",
			links(s.Name, []string{"/chain/1", "/chain/2", "/chain/3", "/end.html"}, nil)},
		{22, "redirects: loop", "RFC 9110 15.4",
			func(t *crawltest.Trial) crawltest.Row { return atMost(t, s.Name, "/loop/", most) }},
		{22, "redirects: endless", "RFC 9110 15.4",
			func(t *crawltest.Trial) crawltest.Row { return t.Only(s.Name).Judge(crawltest.Traps) }},
	}}
}

// pathTree: relative links that lead ever deeper, as a symbolic link or a wrong base makes them.
func pathTree() occasion {
	s := board("shelf.test", "", "/shelf/box/")
	s.Pages = map[string]crawltest.Page{"/": s.Pages["/"]}
	s.Traps = []crawltest.Trap{{Prefix: "/shelf/", Most: 15, Page: func(string) crawltest.Page {
		return crawltest.Page{Title: "A box on a shelf", Text: "Dust.", Links: []string{"shelf/box/"}}
	}}}
	return alone(s, 22, "trap: path tree", "curtsy",
		func(t *crawltest.Trial) crawltest.Row { return t.Only(s.Name).Judge(crawltest.Traps) })
}

// calendar: each month links to the next.
func calendar() occasion {
	const prefix = "/calendar?month="
	s := board("months.test", "", prefix+"2026-01")
	s.Pages = map[string]crawltest.Page{"/": s.Pages["/"]}
	s.Traps = []crawltest.Trap{{Prefix: prefix, Most: 30, Page: func(target string) crawltest.Page {
		month, err := time.Parse("2006-01", strings.TrimPrefix(target, prefix))
		if err != nil {
			return crawltest.Page{Status: http.StatusNotFound}
		}
		return crawltest.Page{Title: month.Format("January 2006"), Text: "No events.",
			Links: []string{prefix + month.AddDate(0, 1, 0).Format("2006-01")}}
	}}}
	return alone(s, 22, "trap: calendar", "curtsy",
		func(t *crawltest.Trial) crawltest.Row { return t.Only(s.Name).Judge(crawltest.Traps) })
}

// deepChain: pages in a row that are no trap, deeper than a careless limit lets a crawler go.
func deepChain() occasion {
	const n = 12
	s := board("older.test", "", "/older/2")
	targets := []string{"/"}
	for i := 2; i <= n; i++ {
		target := fmt.Sprintf("/older/%d", i)
		targets = append(targets, target)
		p := crawltest.Page{Title: fmt.Sprintf("Posts, page %d", i)}
		if i < n {
			p.Links = []string{fmt.Sprintf("/older/%d", i+1)}
		}
		s.Pages[target] = p
	}
	return alone(s, 22, "no trap: long chain", "curtsy", links(s.Name, targets, nil))
}

// spellings: several that are one URL (RFC 3986 6.2.2), and two that are not.
func spellings() occasion {
	s := board(spelled, "", "/%7Ereader/", "/~reader/", "/%7ereader/", "/a.html#top", "/a.html", "/a/../a.html",
		"/b?x=1&y=2", "/b?y=2&x=1")
	s.Pages = map[string]crawltest.Page{"/": s.Pages["/"], "/~reader/": {}, "/a.html": {}, "/b?x=1&y=2": {},
		"/b?y=2&x=1": {}}
	return alone(s, 22, "spellings of one URL", "RFC 3986 6.2.2",
		func(t *crawltest.Trial) crawltest.Row { return t.Only(s.Name).Judge(crawltest.Once) })
}

const spelled = "spelled.test"
