package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// Rule 4: scheme, host and port make an authority, which has one policy of its own, fetched before anything else, once,
// however seeds and links spell it.
func TestRule04_OnePolicyForEachAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := func(name, shut string) *crawltest.Site {
			s := crawltest.Tree(name, 4)
			s.Robots.Body = "User-agent: *\nDisallow: " + shut + "\n"
			return s
		}
		sites := []*crawltest.Site{site("a.test", "/p1"), site("a.test:8080", "/p2"), site("xn--bcher-kva.test", "/p3")}
		w := newWorld(t, []string{
			"http://a.test/", "http://A.TEST:80/p3.html", "http://a.test./p2.html", "http://a.test:8080/p1.html", "http://a.test:8080/",
			"http://bücher.test/p1.html", "http://xn--bcher-kva.test/",
		}, sites...)
		w.run()
		w.judged(crawltest.Rules{Pace: Floor})
		for host, shut := range map[string]string{"a.test": "/p1.html", "a.test:8080": "/p2.html", "xn--bcher-kva.test": "/p3.html"} {
			got := w.asked(host)
			slices.Sort(got[1:])
			want := slices.DeleteFunc([]string{"/robots.txt", "/", "/p1.html", "/p2.html", "/p3.html"}, func(s string) bool { return s == shut })
			if !slices.Equal(got, want) {
				t.Errorf("%s was asked for %q, want %q", host, got, want)
			}
		}
	})
}

// Rule 5: the verdict is for the octets of path and query that are sent, and those are the ones that the site wrote.
func TestRule05_TheVerdictIsForTheOctetsThatAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links := map[string]bool{ // as written; may they be asked for?
			"/a%2Fb":        false, // an encoded slash is none: RFC 3986 2.2
			"/a/b":          true,
			"/s?q=1&page=2": false, // the query is part of it, in its order
			"/s?page=2&q=1": true,
			"/%7ejoe/x":     false, // unreserved octets are the same, encoded or not: RFC 9309 2.2.2
			"/~eve/x":       true,
			"/B":            false,
			"/b":            true,
			"/x;v=1":        false,
			"/x;v=2":        true,
			"/caf%C3%A9":    false,
			"/caf%E9":       true,
			"/end.gif":      false,
			"/end.gif?x":    true,
		}
		var page strings.Builder
		for link := range links {
			fmt.Fprintf(&page, "<a href=\"%s\">x</a>\n", link)
		}
		site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/" {
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprint(rw, page.String())
			}
		})}
		site.Robots.Body = "User-agent: *\nDisallow: /a%2fb\nDisallow: /s?q=1\nDisallow: /~joe/\nDisallow: /B\nDisallow: /x;v=1\nDisallow: /café\nDisallow: /*.gif$\n"
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.run()
		asked := w.asked("a.test")
		for link, may := range links {
			if slices.Contains(asked, link) != may {
				t.Errorf("%s: asked for %v, may be %v", link, !may, may)
			}
		}
		if len(asked) != 2+len(links)/2 {
			t.Errorf("asked for %q", asked)
		}
	})
}

// Rule 5: a robots.txt that changes while the crawl runs takes effect when the life of the one before is over, for each
// URL when its turn comes: the queue is not swept. What was disallowed stays so, until the operator opens it again.
func TestRule05_AChangedRobotsTxtTakesEffectAfterItsLife(t *testing.T) {
	const (
		life   = time.Hour
		second = 30 * time.Minute  // when the second version is put up
		third  = 100 * time.Minute // and the third
		pages  = 150
	)
	files := []string{"User-agent: *\nDisallow: /none\n", "User-agent: *\nDisallow: /*3$\n", "User-agent: *\nDisallow: /*4$\n"}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newTimetable(t, time.Minute, pages, func(_ int, rw http.ResponseWriter, r *http.Request) {
			version := 0
			switch since := time.Since(start); {
			case since >= third:
				version = 2
			case since >= second:
				version = 1
			}
			body(200, files[version], "Cache-Control", "max-age=3600")(rw, r)
		})
		w.run()
		learned := w.when(true)
		if len(learned) < 3 || learned[1] < second || learned[1] > life {
			t.Fatalf("robots.txt was asked for at %v", learned)
		}
		shut, most := 0, map[time.Time]int{}
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionRobots {
				continue
			}
			at := l.Time.Sub(start)
			version := 0 // that which was fetched last
			for i := range learned {
				if learned[i] <= at && learned[i] >= second {
					version = 1
				}
				if learned[i] <= at && learned[i] >= third {
					version = 2
				}
			}
			if l.RobotsSHA256 != digestOf([]byte(files[version])) {
				t.Errorf("after %v %s was judged by %.8s, not by version %d", at, l.URL, l.RobotsSHA256, version+1)
			}
			if l.Decision == storage.DecisionDisallow {
				shut++
				most[l.Time]++
			}
		}
		for at, n := range most {
			if n > claimTasks {
				t.Errorf("%d URLs were disallowed at %v: the queue was swept", n, at.Sub(start))
			}
		}
		if shut == 0 || len(most) < 3 {
			t.Fatalf("%d disallowed, at %d instants", shut, len(most))
		}

		// Terminal, whatever robots.txt says later; until the operator's command, which asks for robots.txt first.
		before := len(w.web.Referee().Requests())
		if w.run(); len(w.web.Referee().Requests()) != before {
			t.Error("a run asked again for what was disallowed")
		}
		again, err := w.front.Retry(t.Context(), frontier.Retrial{Outcome: frontier.Disallowed, Robots: true})
		if err != nil || again.URLs != int64(shut) {
			t.Fatalf("%+v, %v; %d were disallowed", again, err, shut)
		}
		w.run()
		requests := w.web.Referee().Requests()[before:]
		if requests[0].Target != "/robots.txt" {
			t.Errorf("the first request is for %s", requests[0].Target)
		}
		for _, r := range requests[1:] {
			if strings.HasSuffix(r.Target, "4") {
				t.Errorf("%s is asked for, which the third version disallows", r.Target)
			}
		}
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}
