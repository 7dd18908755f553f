package crawler

import (
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
)

// Rule 13: a host that said no is asked for nothing more, in this run or any later one, however long it has been; a
// command of the operator opens it, and then its robots.txt comes first again.
func TestRule13_OnlyACommandOpensARefusedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 5)
		site.Robots.Status = 403
		site.Pages["/"] = crawltest.Page{Status: 403, Links: []string{"/p1.html"}}
		w := newWorld(t, []string{"http://a.test/", "http://a.test/p1.html", "http://a.test/p2.html"}, site)
		s := w.run()
		w.wantAsked("a.test", "/robots.txt", "/")
		if s.Status.Refused != 1 || s.Status.Queued != 2 || !s.Incomplete {
			t.Fatalf("%+v", s.Status)
		}
		for range 3 {
			time.Sleep(40 * 24 * time.Hour)
			w.reopen()
			if s = w.run(); len(w.asked("a.test")) != 2 || s.Status.Refused != 1 {
				t.Fatalf("asked for %q: %+v", w.asked("a.test"), s.Status)
			}
		}
		w.web.Change("a.test", func(s *crawltest.Site) { s.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /p2\n"} })
		w.retry(frontier.Retrial{Hosts: true})
		w.run()
		w.wantAsked("a.test", "/robots.txt", "/", "/robots.txt", "/p1.html")
		w.wantOutcomes("http://a.test/p2.html", "disallowed: disallow rule")
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}
