package crawler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

func parse(t *testing.T, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

func TestARedirectToItsOwnKeyReplacesTheURLOnceThenItIsALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "bakery.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
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
		if s.Incomplete || s.SeedsUnanswered != 0 || w.logged("the scope now includes it") == 0 {
			t.Errorf("%+v, logged %q", s, w.messages)
		}
	})
}

func (w *world) count(name string) int64 {
	w.t.Helper()
	st, err := w.front.Stats(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return st.Counts[name]
}

// wantExtension checks that the scope has exactly one durable extension to a URL.
func (w *world) wantExtension(url string) {
	w.t.Helper()
	seeds, err := frontier.SeedsOf(w.t.Context(), w.front)
	require.NoError(w.t, err)
	seeds = slices.DeleteFunc(seeds, func(s frontier.Seed) bool { return s.From == "" || s.URL.String() != url })
	assert.Lenf(w.t, seeds, 1, "extensions of the scope to %s", url)
}

func shortened() []*crawltest.Site {
	return []*crawltest.Site{
		{Name: "short.test", Pages: map[string]crawltest.Page{"/": {Redirect: "http://library.test/"}}},
		crawltest.Tree("library.test", 4),
	}
}

func TestPanic_TakesBackAddedURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://short.test/"}, shortened()...)
		w.archive.onRecord("http://library.test/", 2, func() { panic("a defect") })
		s := w.run()
		w.wantOutcomes("http://library.test/", "deferred: panic", "deferred: panic", "fetched: unavailable")
		w.wantExtension("http://library.test/")
		if s.Status.Pages != 4 || s.Status.Exchanges != 2+1+2+4 || s.Incomplete {
			t.Errorf("%d pages, %d exchanges; want 4 and 9: the page that was read thrice counts once. %+v", s.Status.Pages, s.Status.Exchanges, s)
		}
	})
}

func TestStaleTurn_DoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldLeased(t, 30*time.Second, []string{"http://short.test/"}, crawltest.New(shortened()...))
		w.cfg.MaxPages = 4
		// The disk hangs for longer than the lease lasts.
		w.ledger.onLine("http://library.test/", func() { time.Sleep(40 * time.Second) })
		s := w.run()
		w.wantExtension("http://library.test/")
		if s.Status.Pages != 4 || s.Status.Fetched != 4 || w.count(frontier.ReasonExpired) != 1 {
			t.Errorf("%d pages, %d fetched, %d leases expired: ended by %q", s.Status.Pages, s.Status.Fetched, w.count(frontier.ReasonExpired), s.EndedBy)
		}
		w.counts(s.Status, 8) // its exchange was made anyway
	})
}

// slowOnce is a frontier whose first Host call lasts until the lease is nearly over.
type slowOnce struct {
	frontier.Frontier
	asked atomic.Bool
}

func (f *slowOnce) Host(ctx context.Context, a canon.Authority) (frontier.Host, bool, error) {
	if f.asked.CompareAndSwap(false, true) {
		<-ctx.Done()
		return frontier.Host{}, false, ctx.Err()
	}
	return f.Frontier.Host(ctx, a)
}

func TestALeaseThatIsOverEndsTheTurnAndNotTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 3)
		site.Robots = crawltest.Robots{Redirect: "http://mill.test/robots.txt"}
		mill := crawltest.Tree("mill.test", 1)
		mill.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow:\n"}
		w := newWorldLeased(t, 30*time.Second, []string{"http://bakery.test/"}, crawltest.New(site, mill))
		f := &slowOnce{Frontier: w.front}
		w.cfg.Frontier = f
		if s := w.run(); s.EndedBy != EndedDrained || s.Status.Fetched != 3 || !f.asked.Load() {
			t.Errorf("%+v", s)
		}
	})
}

func TestRule17_ADrainAfterAClaimBeginsNoExchange(t *testing.T) {
	for name, asked := range map[string][]string{"of robots.txt": nil, "of a page": {"/robots.txt", "/"}} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 3))
			if asked != nil {
				w.cfg.MaxPages = 1
				w.run()
				w.cfg.MaxPages = 0
			}
			var c *Crawl
			w.cfg.Frontier = claiming{w.front, func(*frontier.Claimed) { c.Drain() }}
			c = w.crawl()
			if s := w.finish(c); s.Status.InFlight != 0 || s.Status.Queued != int64(max(len(asked), 1)) {
				t.Errorf("%+v", s.Status)
			}
			w.wantAsked("a.test", asked...)
		})
	}
}

// idling notes when the crawler closes an idle connection.
type idling struct {
	fetcher
	closed *[]string
}

func (f idling) CloseIdle(a canon.Authority) {
	*f.closed = append(*f.closed, a.Host())
	f.fetcher.CloseIdle(a)
}

func TestConnection_ClosesWithTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 9))
		var closed []string
		w.cfg.Fetcher = idling{w.cfg.Fetcher, &closed}
		w.cfg.Workers = 1
		w.run()
		assert.Equalf(t, []string{"a.test"}, closed, "closed %q; want once, after the last page", closed)
	})
}

func TestStories_Outcomes(t *testing.T) {
	one := func(p crawltest.Page) []*crawltest.Site {
		return []*crawltest.Site{{Name: "a.test", Pages: pages{"/": p}}}
	}
	slow := crawltest.Tree("slow.test", 4)
	slow.Latency = 2 * time.Second
	failing := crawltest.Tree("a.test", 8)
	twice := crawltest.Page{Links: []string{"/no.png", "/b", "http://far.test/x.png"}, Embeds: []string{"/no.png", "http://far.test/x.png"}}
	var tooMany []string
	for i := range 6010 {
		tooMany = append(tooMany, fmt.Sprintf("/%d", i))
	}
	manySeeds := &crawltest.Site{Name: "a.test", Robots: crawltest.Robots{Status: 401}, Pages: pages{"/": {}}}
	for i := range 9 {
		manySeeds.Pages[fmt.Sprintf("/%d", i)] = crawltest.Page{Status: 401}
	}
	depth := 1
	playAll(t, []scenario{
		{
			name: "nothing is waited for when nothing is left", sites: []*crawltest.Site{crawltest.Tree("a.test", 2)},
			set: func(w *world) {
				w.cfg.Frontier = claiming{w.front, func(c *frontier.Claimed) { // as if its last URLs were dropped meanwhile
					if c.State == frontier.Drained && len(c.Turns) == 0 {
						c.State, c.Due = frontier.Waiting, frontier.Never
					}
				}}
			},
			figures: map[string]int64{"fetched": 2},
			check: func(t *testing.T, _ *world, s Summary) {
				assert.Equal(t, "finished", s.Status.State, "state")
			},
		},
		{name: "slow hosts are asked less often", sites: []*crawltest.Site{slow}, rules: crawltest.Rules{Pace: 5 * slow.Latency}, figures: map[string]int64{"fetched": 4}},
		{
			name: "a redirect is an outcome, its target a candidate",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/":    {Links: []string{"/old", "/loop1", "/away", "/nowhere"}},
				"/old": {Redirect: "/new"}, "/new": {}, "/loop1": {Redirect: "/loop2"}, "/loop2": {Redirect: "/loop1"},
				"/away": {Redirect: "http://library.test/"}, "/nowhere": {Redirect: "gopher://a.test/"},
			}}, crawltest.Tree("library.test", 2)},
			outcomes: map[string]string{
				"a.test/old": "redirected: to http://a.test/new", "a.test/new": "fetched: unavailable",
				"a.test/loop2": "redirected: to http://a.test/loop1", "a.test/nowhere": "failed: redirect: scheme", "library.test/": "dropped: scope:host",
			},
			asked: map[string]string{"library.test": ""}, figures: map[string]int64{"redirected": 4}, rules: crawltest.Rules{Pace: Floor},
		},
		{
			name: "redirects keep depth and steps of requisites",
			sites: []*crawltest.Site{
				{Name: "a.test", Pages: pages{
					"/": {Links: []string{"/1"}, Embeds: []string{"/i.png"}}, "/1": {Redirect: "/moved"},
					"/moved": {Links: []string{"/2"}, Embeds: []string{"http://img.test/far.png"}}, "/2": {}, "/i.png": {Redirect: "http://img.test/i.png"},
				}},
				{Name: "img.test", Pages: pages{"/i.png": picture, "/far.png": picture}},
			},
			set: func(w *world) { w.cfg.Scope = scope.Config{Depth: &depth, Requisites: scope.RequisitesAll} }, offScope: true,
			asked:   map[string]string{"a.test": "/robots.txt / /i.png /1 /moved", "img.test": "/robots.txt /i.png /far.png"},
			figures: map[string]int64{"links_not_followed/scope:depth": 1},
		},
		{
			name: "a crawl that nothing answers ends at once", sites: nil, seeds: "http://nowhere.test/", ended: EndedWaiting, incomplete: true,
			check: func(t *testing.T, w *world, s Summary) {
				restsWith("nxdomain")(t, w, s)
				if s.Status.Elapsed > 10 {
					t.Errorf("took %v s", s.Status.Elapsed)
				}
			},
		},
		{
			name: "an unknown host rests longer than in a link check", seeds: "http://a.test/ http://nowhere.test/", sites: []*crawltest.Site{crawltest.Tree("a.test", 20)},
			set: func(w *world) { w.cfg.MaxWait = 30 * time.Second }, ended: EndedWaiting, incomplete: true,
			check: func(_ *testing.T, w *world, _ Summary) { w.line("http://nowhere.test/robots.txt") },
		},
		{
			name: "a body that is still coded is not read as HTML",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/": {Links: []string{"/x"}, Header: map[string]string{"Content-Encoding": "compress", "X-Robots-Tag": "noarchive"}}, "/x": {},
			}}},
			asked: map[string]string{"a.test": "/robots.txt /"}, figures: map[string]int64{"pages": 1, "not_read/content coding": 1},
			check: truncatedAs("unspecified"), // the field that forbids archiving is obeyed
		},
		{
			name: "a response without a body is not a page", sites: one(crawltest.Page{Status: 204, Header: map[string]string{"X-Robots-Tag": "noarchive"}}),
			outcomes: map[string]string{"a.test/": "fetched: unavailable"}, figures: map[string]int64{"pages": 0, "fetched": 1}, check: truncatedAs(""),
		},
		{
			name: "a page that is empty without JavaScript is counted and named",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/":    {Body: `<p>See the <a href=/app>app</a>.</p><script src=/x.js></script>`, Links: []string{"/app"}, Embeds: []string{"/x.js"}},
				"/app": {Body: `<title>App</title><noscript>You need to enable JavaScript.</noscript><div id=root></div><script src=/x.js></script>`, Embeds: []string{"/x.js"}},
			}}},
			figures: map[string]int64{"not_read/" + budget.EmptyWithoutScript: 1},
			check: func(t *testing.T, w *world, s Summary) {
				assert.Equal(t, []string{"http://a.test/app"}, s.Empty)
				for _, l := range w.ledger.all {
					assert.Equal(t, l.URL == "http://a.test/app", l.NeedsScript, l.URL)
				}
			},
		},
		{
			name: "a seed that answers is not reported", seeds: "http://a.test/ http://a.test/b",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/": {Redirect: "/a"}, "/a": {Redirect: "/b"}, "/b": {Links: []string{"/c"}}, "/c": {Redirect: "/d"}, "/d": {Status: 404},
			}}},
			figures: map[string]int64{"seeds_unanswered": 0, "gone": 1},
		},
		{
			name: "a refused URL has one line, however it is found", sites: []*crawltest.Site{{Name: "a.test", Pages: pages{"/": twice, "/b": twice}}},
			set:      func(w *world) { w.cfg.Scope.Exclude = []string{"/no"} },
			outcomes: map[string]string{"a.test/no.png": "dropped: scope:exclude", "far.test/x.png": "dropped: scope:host"},
			figures:  map[string]int64{"dropped": 1},
		},
		{
			name: "a page that panics at its last step is counted once", sites: []*crawltest.Site{crawltest.Tree("a.test", 5)},
			set: func(w *world) {
				w.ledger.onLine("http://a.test/p2.html", func() { panic("a defect") })
				w.cfg.MaxPages, w.cfg.MaxPerHost = 5, 5
			},
			figures: map[string]int64{"pages": 5, "fetched": 5}, ended: EndedMaxPages, rules: crawltest.Rules{Pace: Floor, Repeats: 1},
		},
		{
			name: "a panic over a robots.txt costs that host only", seeds: "http://a.test/ http://b.test/",
			sites: []*crawltest.Site{crawltest.Tree("a.test", 3), crawltest.Tree("b.test", 3)},
			set:   func(w *world) { w.archive.onRecord("http://a.test/robots.txt", 9, func() { panic("a defect") }) },
			asked: map[string]string{"a.test": "/robots.txt"}, figures: map[string]int64{"fetched": 3, "in_flight": 0},
			ended: EndedWaiting, incomplete: true, check: restsWith(reasonPanic),
		},
		{
			name: "a panic in one task is a failed attempt of that task", sites: []*crawltest.Site{failing},
			set:      func(w *world) { w.panicsAt("/p2.html") },
			outcomes: map[string]string{"a.test/p2.html": "deferred: panic; deferred: panic; failed: panic"},
			figures:  map[string]int64{"fetched": 7, "failed": 1}, rules: crawltest.Rules{Pace: Floor, Partial: true, Repeats: 2},
		},
		{
			name: "a panic in a wide turn is one of its task", sites: []*crawltest.Site{crawltest.Tree("localhost", 30)},
			set: func(w *world) {
				w.cfg.Delay, w.cfg.PerHost = -1, 8
				w.panicsAt("/p7.html")
			},
			outcomes: map[string]string{"localhost/p7.html": "deferred: panic; deferred: panic; failed: panic"},
			figures:  map[string]int64{"failed": 1, "in_flight": 0, "queued": 0}, rules: crawltest.Rules{Width: 8, Partial: true, Repeats: 2},
		},
		{
			name: "links beyond the limit of a page are counted", sites: one(crawltest.Page{Links: tooMany}), set: func(w *world) { w.cfg.MaxPages = 1 },
			ended: EndedMaxPages, figures: map[string]int64{"links_not_followed/too many": 10, "queued": 6000},
		},
		{
			name: "Retry-After on any redirection",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/":  {Links: []string{"/1", "/2", "/3"}},
				"/1": {Status: 302, RetryAfter: "120"}, // leads nowhere
				"/2": {Status: 304, RetryAfter: "60"}, "/3": {Status: 500, RetryAfter: "7"},
			}}},
			rules: crawltest.Rules{Pace: Floor}, figures: map[string]int64{"failed": 3},
		},
		{
			name: "max-per-host leaves the rest pending and is complete", seeds: "http://a.test/ http://b.test/",
			sites: []*crawltest.Site{crawltest.Tree("a.test", 9), crawltest.Tree("b.test", 2)}, set: func(w *world) { w.cfg.MaxPerHost = 4 },
			ended: EndedMaxPerHost, figures: map[string]int64{"pages": 6},
		},
		{
			name: "nofollow of a link, and of a page",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/":       {Links: []string{"/closed", "/open"}, NoFollow: []string{"/never"}},
				"/closed": {Robots: "nofollow", Links: []string{"/deep"}, Embeds: []string{"/style.css"}},
				"/open":   {Links: []string{"/x"}}, "/deep": {}, "/never": {}, "/x": {}, "/style.css": {Body: "body{}"},
			}}},
			asked:   map[string]string{"a.test": "/robots.txt / /closed /open /style.css /x"},
			figures: map[string]int64{"links_not_followed/scope:nofollow": 2}, rules: crawltest.Rules{Pace: Floor},
		},
		{
			name: "a seed is fetched whatever its type", seeds: "http://a.test/x", sites: []*crawltest.Site{{Name: "a.test", Pages: pages{"/x": picture}}},
			set: func(w *world) { w.cfg.Scope.Reject = []string{"image/*"} }, outcomes: map[string]string{"a.test/x": "fetched: unavailable"},
		},
		{ // RFC 9309 2.3.1.3
			name: "a robots.txt with 401 is not a refusal of the host", sites: []*crawltest.Site{manySeeds},
			seeds:   "http://a.test/0 http://a.test/1 http://a.test/2 http://a.test/3 http://a.test/4 http://a.test/5 http://a.test/6 http://a.test/7 http://a.test/8 http://a.test/",
			figures: map[string]int64{"fetched": 1, "failed": 9, "hosts_refused": 0}, incomplete: true,
		},
		{
			name: "max-per-host is not blamed for a URL that waits for another reason", seeds: "http://a.test/ http://b.test/",
			sites: []*crawltest.Site{crawltest.Tree("a.test", 9), {Name: "b.test", Pages: pages{"/": {Links: []string{"/1"}}, "/1": {Status: 500}}}},
			set:   func(w *world) { w.cfg.MaxPerHost, w.cfg.MaxWait = 4, 10*time.Second },
			ended: EndedWaiting, incomplete: true, // a URL of b.test is to be tried again
		},
	})
	for name, site := range map[string]pages{
		"back to the seed": {"/": {Redirect: "/a"}, "/a": {Redirect: "/b"}, "/b": {Redirect: "/"}}, "to itself": {"/": {Redirect: "/"}},
		"to nowhere": {"/": {Redirect: "mailto:baker@a.test"}}, "to an excluded URL": {"/": {Redirect: "/no"}, "/no": {}},
	} {
		playAll(t, []scenario{{
			name: "a seed that redirects " + name, sites: []*crawltest.Site{{Name: "a.test", Pages: site}},
			set:        func(w *world) { w.cfg.Scope.Exclude = []string{"/no$"} },
			incomplete: true, figures: map[string]int64{"seeds_unanswered": 1},
			check: func(t *testing.T, _ *world, s Summary) {
				assert.Len(t, s.Seeds, 1)
			},
		}})
	}
}
