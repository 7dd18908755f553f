package crawler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/robots"
)

// 3.3: one robots request of an authority in flight, and no worker waits.
func TestGate_3_3_OneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := crawltest.Tree("slow.test", 20), crawltest.Tree("quick.test", 5)
		slow.Robots = crawltest.Robots{Body: "User-agent: *\nAllow: /\n", Delay: 19 * time.Second}
		var seeds []string
		for path := range slow.Pages {
			seeds = append(seeds, "http://slow.test"+path)
		}
		w := newWorld(t, append(seeds, "http://quick.test/"), slow, quick)
		w.cfg.Workers = 2
		start := time.Now()
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		if got := w.asked("slow.test"); len(got) != 21 || got[0] != "/robots.txt" || slices.Contains(got[1:], "/robots.txt") || s.Status.Robots != 2 {
			t.Errorf("slow.test was asked for %q", got)
		}
		for _, r := range w.web.Referee().Requests() {
			if r.Host == "quick.test" && r.Start.Sub(start) > 19*time.Second {
				t.Errorf("%s waited for the robots.txt of another host: %v", r.Target, r.Start.Sub(start))
			}
		}
	})
}

// 3.3: test again at each redirect hop.
func TestGate_3_3_TestAgainAtEachRedirectHop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/here": {Redirect: "/secret"}, "/secret": {},
			"/there": {Redirect: "http://b.test/step"},
			"/away":  {Redirect: "http://b.test/secret"},
			"/open":  {Redirect: "http://b.test/private"}, "/private": {},
		}}
		a.Robots.Body = "User-agent: *\nDisallow: /secret\nDisallow: /private\n"
		b := &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{
			"/": {}, "/step": {Redirect: "/secret"}, "/secret": {}, "/private": {},
		}}
		b.Robots.Body = "User-agent: *\nDisallow: /secret\n"
		w := newWorld(t, []string{"http://a.test/here", "http://a.test/there", "http://a.test/away", "http://a.test/open", "http://b.test/"}, a, b)
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		w.wantOutcomes("http://a.test/here", "redirected: to http://a.test/secret")
		w.wantOutcomes("http://a.test/secret", "disallowed: disallow rule")
		w.wantOutcomes("http://b.test/step", "redirected: to http://b.test/secret")
		w.wantOutcomes("http://b.test/secret", "disallowed: disallow rule")
		w.wantOutcomes("http://b.test/private", "fetched: no match") // by the rules of its own authority
		for _, r := range w.web.Referee().Requests() {
			if r.Target == "/secret" {
				t.Errorf("%s was asked for %s", r.Host, r.Target)
			}
		}
	})
}

// Each hop is an exchange of the authority it leads to: under its lease, at its pace, between its own pages.
func TestGate_3_3_RedirectHopsKeepEachHostsPace(t *testing.T) {
	for _, hosts := range []int{1, 5} {
		bubble(t, fmt.Sprintf("3.3 each of %d hops under that authority's turn and pace", hosts), func(t *testing.T) {
			a := crawltest.Tree("a.test", 3)
			a.Robots.Redirect, a.Robots.Delay = "http://hop1.test/rules-of-a.txt", 11*time.Second
			sites, seeds := []*crawltest.Site{a}, []string{"http://a.test/"}
			for i := range hosts {
				site := crawltest.Tree(fmt.Sprintf("hop%d.test", i+1), 12)
				site.Robots.Body = fmt.Sprintf("User-agent: *\nCrawl-delay: %d\n", 5+i)
				next := crawltest.Page{Redirect: fmt.Sprintf("http://hop%d.test/rules-of-a.txt", i+2)}
				if i == hosts-1 {
					next = crawltest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /p2.html\nCrawl-delay: 9\n"}
				}
				site.Pages["/rules-of-a.txt"] = next
				sites, seeds = append(sites, site), append(seeds, "http://"+site.Name+"/")
			}
			w := newWorld(t, seeds, sites...)
			s := w.run()
			w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
			w.paced()
			w.wantAsked("a.test", "/robots.txt", "/", "/p1.html")
			w.wantOutcomes("http://a.test/p2.html", "disallowed: disallow rule")
			if int(s.Status.Fetched) != 2+12*hosts {
				t.Errorf("%d fetched", s.Status.Fetched)
			}
			for i := range hosts {
				name, delay := fmt.Sprintf("hop%d.test", i+1), time.Duration(5+i)*time.Second
				var last time.Time
				for n, r := range w.web.Referee().Requests() {
					if r.Host != name {
						continue
					}
					if !last.IsZero() && r.Start.Sub(last) < delay {
						t.Errorf("request %d: %s%s after %v, its Crawl-delay is %v", n, name, r.Target, r.Start.Sub(last), delay)
					}
					last = r.End
				}
				if n := strings.Count(strings.Join(w.asked(name), " "), "/rules-of-a.txt"); n != 1 {
					t.Errorf("%s was asked %d times for the rules of a.test", name, n)
				}
			}
		})
	}
}

// RFC 9309 2.3.1.2 speaks of the initial authority alone.
func TestGate_3_3_ARedirectSeedsNoOtherAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := crawltest.Tree("a.test", 2), crawltest.Tree("b.test", 2)
		a.Robots.Redirect = "http://b.test/robots.txt"
		b.Robots.Body = "User-agent: *\nAllow: /\n"
		w := newWorld(t, []string{"http://a.test/"}, a, b)
		w.run()
		if h, ok, err := w.front.Host(t.Context(), parse(t, "http://b.test/").Authority()); err != nil || ok && h.Queued > 0 {
			t.Errorf("%+v, %v", h, err)
		}
		if s := w.policy("http://b.test/"); s != (robots.State{}) {
			t.Errorf("b.test has a policy by way of a.test: %+v", s)
		}
	})
}
