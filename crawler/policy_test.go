package crawler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/robots"
)

// The log has the next request for robots.txt only where the run waits for that.
func TestUnreachablePolicy_NamesNextTryIfAwaited(t *testing.T) {
	for maxWait, want := range map[time.Duration]bool{time.Minute: false, 2 * time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			busy := crawltest.Tree("busy.test", 2)
			busy.Robots, busy.Latency = crawltest.Robots{FailFirst: 1, RetryAfter: "70"}, time.Second
			w := newWorld(t, []string{"http://a.test/", "http://busy.test/"}, crawltest.Tree("a.test", 3), busy)
			w.cfg.MaxWait = maxWait
			w.run()
			if w.logged("nothing may be fetched") == 0 || (w.logged("next try in 1m10s") > 0) != want {
				t.Errorf("with --max-wait %v the log has %q", maxWait, w.messages)
			}
		})
	}
}

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
			t.Errorf("slow.test got requests for %q", got)
		}
		for _, r := range w.requests("quick.test") {
			assert.LessOrEqualf(t, r.Start.Sub(start), 19*time.Second, "%s waited for the robots.txt of another host", r.Target)
		}
	})
}

// Each hop keeps the delay of the authority it leads to, between that authority's own pages.
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
			assert.Equalf(t, 2+12*hosts, int(s.Status.Fetched), "%d fetched", s.Status.Fetched)
			for i := range hosts {
				name, delay := fmt.Sprintf("hop%d.test", i+1), time.Duration(5+i)*time.Second
				requests := w.requests(name)
				for n, r := range requests[1:] {
					assert.GreaterOrEqualf(t, r.Start.Sub(requests[n].End), delay, "the delay of %s%s", name, r.Target)
				}
				assert.Equalf(t, 1, count(w.asked(name), "/rules-of-a.txt"), "requests to %s for the rules of a.test", name)
			}
		})
	}
}

// The 1996 draft takes the first rule that matches, RFC 9309 the longest: either can disallow.
func TestRule06_AnOlderStandardOnlyAddsRefusals(t *testing.T) {
	const p1 = "http://a.test/p1.html"
	for _, c := range []struct {
		standard robots.Standard
		asked    string
		check    func(*testing.T, *world, Summary)
	}{
		{robots.RFC9309, "/robots.txt / /p1.html /p3.html", verdictOf("http://a.test/p2.html", 5, "Disallow: /p2.html", "rfc9309")},
		{robots.Draft1996, "/robots.txt / /p3.html", verdictOf(p1, 2, "Disallow: /p1", "draft1996")},
		{robots.Std1994, "/robots.txt / /p3.html", verdictOf(p1, 2, "Disallow: /p1", "std1994")},
	} {
		site := crawltest.Tree("a.test", 4)
		site.Robots.Body = "User-agent: *\nDisallow: /p1\nAllow: /p1.html\nAllow: /p2\nDisallow: /p2.html\n"
		playAll(t, []scenario{{
			name: c.standard.String(), sites: []*crawltest.Site{site}, set: func(w *world) { w.cfg.Standard = c.standard },
			asked: map[string]string{"a.test": c.asked}, outcomes: map[string]string{"a.test/p2.html": "disallowed: disallow rule"}, check: c.check,
		}})
	}
}

func TestStories_Policies(t *testing.T) {
	long, slow := crawltest.Tree("a.test", 3), crawltest.Tree("a.test", 3)
	long.Robots.Body, slow.Latency = "User-agent: *\nCrawl-delay: 350\n", 2*time.Second
	alone, delayed := crawltest.Tree("a.test", 3), crawltest.Tree("b.test", 3)
	alone.Robots, delayed.Robots.Body = crawltest.Robots{Redirect: "http://b.test/robots.txt", Delay: 15 * time.Second}, "User-agent: *\nCrawl-delay: 400\n"
	leads, led := crawltest.Tree("a.test", 2), crawltest.Tree("b.test", 2)
	leads.Robots.Redirect, led.Robots.Body = "http://b.test/robots.txt", "User-agent: *\nAllow: /\n"
	playAll(t, []scenario{
		{name: "a long floor bears a long Crawl-delay", sites: []*crawltest.Site{long}, set: func(w *world) { w.cfg.Delay = 400 * time.Second }, figures: map[string]int64{"fetched": 3}},
		{name: "slowness is not a Crawl-delay", sites: []*crawltest.Site{slow}, set: func(w *world) { w.cfg.MaxCrawlDelay = 5 * time.Second }, figures: map[string]int64{"fetched": 3}},
		{
			name: "a robots.txt at a host that is left alone also ends the host", seeds: "http://a.test/ http://b.test/", sites: []*crawltest.Site{alone, delayed},
			set: func(w *world) { w.cfg.MaxTime = time.Hour }, asked: map[string]string{"a.test": "/robots.txt"}, ended: EndedWaiting, incomplete: true,
			check: func(t *testing.T, _ *world, s Summary) {
				if r := s.Status.Resting; len(r) != 2 || !strings.Contains(r[0].Reason, "redirects to http://b.test") {
					t.Errorf("resting %+v", r)
				}
			},
		},
		{ // RFC 9309 2.3.1.2 speaks of the initial authority only.
			name: "a redirect of robots.txt seeds no other authority", sites: []*crawltest.Site{leads, led},
			check: func(t *testing.T, w *world, _ Summary) {
				if h, ok, err := w.front.Host(t.Context(), parse(t, "http://b.test/").Authority()); err != nil || ok && h.Queued > 0 {
					t.Errorf("%+v, %v", h, err)
				}
				assert.Equal(t, (robots.State{}), w.policy("http://b.test/"), "b.test has a policy by way of a.test")
			},
		},
		{
			name: "rule 5: the verdict is for the bytes that are sent",
			sites: []*crawltest.Site{{
				Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /a%2fb\nDisallow: /s?q=1\nDisallow: /~joe/\nDisallow: /B\nDisallow: /x;v=1\nDisallow: /café\nDisallow: /*.gif$\n"},
				Pages: pages{"/": {Links: []string{
					"/a%2Fb", "/a/b", // RFC 3986 2.2: an encoded slash is not a slash
					"/s?q=1&page=2", "/s?page=2&q=1",
					"/%7ejoe/x", "/~eve/x", // RFC 9309 2.2.2: unreserved bytes match, encoded or not
					"/B", "/b", "/x;v=1", "/x;v=2", "/caf%C3%A9", "/caf%E9", "/end.gif", "/end.gif?x",
				}}},
			}},
			asked: map[string]string{"a.test": "/robots.txt / /a/b /s?page=2&q=1 /~eve/x /b /x;v=2 /caf%E9 /end.gif?x"},
			outcomes: map[string]string{
				"a.test/a%2Fb": "disallowed: disallow rule", "a.test/s?q=1&page=2": "disallowed: disallow rule",
				"a.test/x;v=1": "disallowed: disallow rule", "a.test/end.gif": "disallowed: disallow rule",
			},
		},
		{
			name: "3.3 each hop of a redirect is tested again", seeds: "http://a.test/here http://a.test/there http://a.test/away http://a.test/open http://b.test/",
			sites: []*crawltest.Site{
				{Name: "a.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /secret\nDisallow: /private\n"}, Pages: pages{
					"/here": {Redirect: "/secret"}, "/secret": {}, "/there": {Redirect: "http://b.test/step"},
					"/away": {Redirect: "http://b.test/secret"}, "/open": {Redirect: "http://b.test/private"}, "/private": {},
				}},
				{Name: "b.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /secret\n"}, Pages: pages{
					"/": {}, "/step": {Redirect: "/secret"}, "/secret": {}, "/private": {},
				}},
			},
			outcomes: map[string]string{
				"a.test/here": "redirected: to http://a.test/secret", "a.test/secret": "disallowed: disallow rule",
				"b.test/step": "redirected: to http://b.test/secret", "b.test/secret": "disallowed: disallow rule",
				"b.test/private": "fetched: no match", // by the rules of its own authority
			},
			rules: crawltest.Rules{Pace: Floor}, incomplete: true,
		},
	})
}
