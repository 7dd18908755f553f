package crawler

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func parse(t *testing.T, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestTheDemosWebIsCrawledWithoutAViolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.Demo(7)
		w := newWorldOf(t, web.Seeds(), web)
		w.cfg.LoopbackForeign = true
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		if s.Status.Fetched < 50 {
			t.Errorf("only %d fetched", s.Status.Fetched)
		}
	})
}

func TestRule05_DisallowedIsSettledWithoutAnExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 6)
		site.Robots.Body = "User-agent: *\nDisallow: /p1\nDisallow: /p3.html\n"
		w := newWorld(t, []string{"http://bakery.test/"}, site)
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		w.wantAsked("bakery.test", "/robots.txt", "/", "/p2.html", "/p4.html")
		w.wantOutcomes("http://bakery.test/p1.html", "disallowed: disallow rule")
		if s.Status.Disallowed != 2 {
			t.Errorf("%d disallowed, want 2", s.Status.Disallowed)
		}
		for _, l := range w.ledger.all {
			if l.URL == "http://bakery.test/p3.html" && (l.RobotsLine != 3 || l.RobotsRule != "Disallow: /p3.html" || len(l.RobotsSHA256) != 64 || l.Standard != "rfc9309") {
				t.Errorf("the line does not say which rule decided: %+v", l)
			}
		}
	})
}

// shutAll is a frontier that says Waiting where it could say Drained: its last URLs were dropped while it was asked.
type shutAll struct{ frontier.Frontier }

func (f shutAll) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	c, err := f.Frontier.Claim(ctx, w)
	if c.State == frontier.Drained && len(c.Turns) == 0 {
		c.State, c.Due = frontier.Waiting, frontier.Never
	}
	return c, err
}

func TestEndedBy_NothingIsWaitedForWhenNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://bakery.test/"}, crawltest.Tree("bakery.test", 2))
		w.cfg.Frontier = shutAll{w.front}
		if s := w.run(); s.EndedBy != EndedDrained || s.Incomplete || s.Status.State != "finished" {
			t.Errorf("%+v", s)
		}
	})
}

func TestRule09_SlowHostsAreAskedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("slow.test", 4)
		site.Latency = 2 * time.Second
		w := newWorld(t, []string{"http://slow.test/"}, site)
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: 5 * site.Latency})
	})
}

func TestRedirectIsAnOutcomeAndItsTargetACandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
			"/":        {Links: []string{"/old", "/loop1", "/away", "/nowhere"}},
			"/old":     {Redirect: "/new"},
			"/new":     {},
			"/loop1":   {Redirect: "/loop2"},
			"/loop2":   {Redirect: "/loop1"},
			"/away":    {Redirect: "http://library.test/"},
			"/nowhere": {Redirect: "gopher://bakery.test/"},
		}}
		w := newWorld(t, []string{"http://bakery.test/"}, site, crawltest.Tree("library.test", 2))
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		w.wantOutcomes("http://bakery.test/old", "redirected: to http://bakery.test/new")
		w.wantOutcomes("http://bakery.test/new", "fetched: unavailable")
		w.wantOutcomes("http://bakery.test/loop2", "redirected: to http://bakery.test/loop1")
		w.wantOutcomes("http://bakery.test/nowhere", "failed: redirect: scheme")
		w.wantOutcomes("http://library.test/", "dropped: scope:host")
		w.wantAsked("library.test")
		if s.Status.Redirected != 4 {
			t.Errorf("%d redirected, want 4", s.Status.Redirected)
		}
	})
}

func TestARedirectToItsOwnKeyReplacesTheURLOnceThenItIsALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		site := &crawltest.Site{Name: "bakery.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.RequestURI)
			switch r.RequestURI {
			case "/":
				rw.Header().Set("Content-Type", "text/html")
				rw.Write([]byte(`<a href="/%7ejoe">joe</a> <a href="/%7eeve">eve</a>`))
			case "/%7ejoe", "/%7Eeve":
				http.Redirect(rw, r, strings.Replace(strings.Replace(r.RequestURI, "%7e", "~", 1), "%7E", "%7e", 1), http.StatusMovedPermanently)
			case "/%7eeve":
				http.Redirect(rw, r, "/%7Eeve", http.StatusMovedPermanently)
			case "/~joe":
				rw.Write([]byte("joe"))
			default:
				http.NotFound(rw, r)
			}
		})}
		w := newWorld(t, []string{"http://bakery.test/"}, site)
		w.run()
		w.wantOutcomes("http://bakery.test/%7ejoe", "deferred: redirect to its own key")
		w.wantOutcomes("http://bakery.test/~joe", "fetched: unavailable")
		w.wantOutcomes("http://bakery.test/%7eeve", "deferred: redirect to its own key")
		w.wantOutcomes("http://bakery.test/%7Eeve", "failed: redirect loop")
	})
}

func TestASeedsRedirectExtendsTheScopeToWhereItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://short.test/x"},
			&crawltest.Site{Name: "short.test", Pages: map[string]crawltest.Page{"/x": {Redirect: "http://hop.test/y"}}},
			&crawltest.Site{Name: "hop.test", Pages: map[string]crawltest.Page{"/y": {Redirect: "http://library.test/"}, "/other": {}}},
			crawltest.Tree("library.test", 3))
		s := w.run()
		w.wantAsked("library.test", "/robots.txt", "/", "/p1.html", "/p2.html")
		w.wantAsked("hop.test", "/robots.txt", "/y")
		seeds, err := frontier.SeedsOf(t.Context(), w.front)
		if err != nil || len(seeds) != 2 || seeds[1].URL.String() != "http://library.test/" || seeds[1].From != "http://short.test/x" {
			t.Errorf("seeds %+v, %v", seeds, err)
		}
		if s.Incomplete || s.SeedsUnanswered != 0 || !slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, "the scope now includes it") }) {
			t.Errorf("%+v, said %q", s, w.said)
		}
	})
}

func TestACrawlThatNothingAnswersEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://nowhere.test/"})
		start := time.Now()
		s := w.run()
		if took := time.Since(start); took > 10*time.Second || !s.Incomplete || s.EndedBy != EndedWaiting {
			t.Errorf("took %v: %+v", took, s)
		}
		if len(s.Status.Resting) != 1 || !strings.Contains(s.Status.Resting[0].Reason, "nxdomain") {
			t.Errorf("resting: %+v", s.Status.Resting)
		}
	})
}
