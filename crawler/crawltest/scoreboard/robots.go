package scoreboard

import (
	"fmt"
	"net/http"
	"time"

	"curtsy/crawler/crawltest"
)

// board begins a site of the scoreboard: a root that links to all of these pages, which there are.
func board(name, robots string, targets ...string) *crawltest.Site {
	s := &crawltest.Site{Name: name, Robots: crawltest.Robots{Body: robots},
		Pages: map[string]crawltest.Page{"/": {Links: targets}}}
	for _, target := range targets {
		s.Pages[target] = crawltest.Page{}
	}
	return s
}

// alone is an occasion of one site and one row.
func alone(s *crawltest.Site, number int, called crawltest.Rule, source string,
	judge func(t *crawltest.Trial) crawltest.Row) occasion {
	return occasion{sites: []*crawltest.Site{s}, rules: []rule{{number, called, source, judge}}}
}

// ownGroup: a group that names the crawler takes the place of that of "*".
func ownGroup(token string) occasion {
	s := board("own.test", "User-agent: *\nDisallow: /\n\nUser-agent: "+token+"\nDisallow: /ours/\n", "/welcome.html",
		"/ours/a.html")
	return alone(s, 4, "robots.txt: own group", "RFC 9309 2.2.1",
		links(s.Name, []string{"/", "/welcome.html"}, []string{"/ours/a.html"}))
}

// mergedGroups: groups for one name count as one, and another's group is not ours.
func mergedGroups() occasion {
	s := board("merged.test", `User-agent: elsewhere
Disallow: /

User-agent: *
Disallow: /one/

User-agent: nobody
User-agent: *
Disallow: /two/
`, "/free.html", "/one/a.html", "/two/a.html")
	return alone(s, 4, "robots.txt: groups merged", "RFC 9309 2.2.1",
		links(s.Name, []string{"/", "/free.html"}, []string{"/one/a.html", "/two/a.html"}))
}

// matching: which of several rules decides, and what a pattern matches.
func matching() occasion {
	s := board("rules.test", `User-agent: *
Disallow: /cellar/
Allow: /cellar/tour/
Disallow: /tie/
Allow: /tie/
Disallow: /*.pdf$
Disallow: /*?print=
Disallow: /%7Ehidden/
Disallow: /caf%C3%A9/
`, "/cellar/wine.html", "/cellar/tour/plan.html", "/tie/a.html", "/prices.pdf", "/prices.pdf.html", "/bread.html?print=1",
		"/~hidden/a.html", "/café/a.html")
	s.Pages["/prices.pdf"] = crawltest.Page{Body: "%PDF-1.4\n%%EOF\n"}
	s.Pages["/prices.pdf.html"] = crawltest.Page{Type: "text/html"}
	return occasion{sites: []*crawltest.Site{s}, rules: []rule{
		{4, "robots.txt: longest match", "RFC 9309 2.2.2",
			links(s.Name, []string{"/cellar/tour/plan.html", "/tie/a.html"}, []string{"/cellar/wine.html"})},
		{4, "robots.txt: * and $", "RFC 9309 2.2.3",
			links(s.Name, []string{"/prices.pdf.html"}, []string{"/prices.pdf", "/bread.html?print=1"})},
		{4, "robots.txt: escapes", "RFC 9309 2.2.2", links(s.Name, nil, []string{"/~hidden/a.html", "/café/a.html"})},
	}}
}

// lineFormat: a byte order mark, CR LF, any case, comments and blanks.
func lineFormat() occasion {
	s := board("lines.test",
		"\ufeffUSER-AGENT : *\r\ndisallow:/tight/# not for crawlers\r\n\r\n# a comment\r\nDisallow\t:  /spaced/  \r\n",
		"/open.html", "/tight/a.html", "/spaced/a.html")
	return alone(s, 4, "robots.txt: format of lines", "RFC 9309 2.2",
		links(s.Name, []string{"/", "/open.html"}, []string{"/tight/a.html", "/spaced/a.html"}))
}

// movedRules is where the index has the robots.txt of another site.
const movedRules = "/for-others/moved-robots.txt"

// movedRobots: a redirect of robots.txt is followed, to another authority as well.
func movedRobots() occasion {
	s := board("moved.test", "", "/open.html", "/depot/a.html")
	s.Robots = crawltest.Robots{Status: http.StatusMovedPermanently, Redirect: "http://" + indexHost + movedRules}
	return alone(s, 4, "robots.txt: redirected", "RFC 9309 2.3.1.2",
		links(s.Name, []string{"/", "/open.html"}, []string{"/depot/a.html"}))
}

// robotsAnswers: robots.txt cannot be had, so that nothing may be.
func robotsAnswers(name string, status int) occasion {
	s := board(name, "", "/a.html", "/b.html")
	s.Robots = crawltest.Robots{Status: status, Body: "not now\n"}
	source := "RFC 9309 2.3.1.4"
	if status < 500 {
		source = "curtsy; as Google does" // by the letter of 2.3.1.3 it is unavailable: allowed
	}
	rule := crawltest.Rule(fmt.Sprintf("robots.txt answers %d", status))
	return alone(s, 6, rule, source, nothing(name))
}

// silentTime is how long the server with the silent robots.txt keeps the connection.
const silentTime = 10 * time.Second

func silentRobots() occasion {
	s := board("mute.test", "", "/a.html", "/b.html")
	s.Robots, s.Handler = crawltest.Robots{}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		crawltest.Wait(r.Context(), silentTime)
		panic(http.ErrAbortHandler)
	})
	return alone(s, 6, "robots.txt: no answer", "RFC 9309 2.3.1.4", nothing(s.Name))
}

func cutRobots() occasion {
	s := board("cut.test", "", "/a.html", "/b.html")
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /a"))
		_ = http.NewResponseController(w).Flush() // an error means that nobody is listening any more
		panic(http.ErrAbortHandler)
	})
	return alone(s, 6, "robots.txt broken off", "RFC 9309 2.3.1.4", nothing(s.Name))
}
