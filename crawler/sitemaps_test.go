package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/gate"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// mapped is a site that serves files, redirects those with an arrow, and has pages under /p that only a sitemap lists.
func mapped(name, robots string, files map[string]string) *crawltest.Site {
	site := &crawltest.Site{Name: name, Pages: map[string]crawltest.Page{"/": {}}, Robots: crawltest.Robots{Body: robots}}
	site.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := files[r.URL.Path]
		switch {
		case strings.HasPrefix(body, "→"):
			http.Redirect(w, r, strings.TrimPrefix(body, "→"), http.StatusMovedPermanently)
		case ok:
			w.Header().Set("Content-Type", "application/xml")
			w.Write([]byte(body))
		case strings.HasPrefix(r.URL.Path, "/p"):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
		default:
			http.NotFound(w, r)
		}
	})
	return site
}

func listOf(urls ...string) string {
	return "<urlset><url><loc>" + strings.Join(urls, "</loc></url><url><loc>") + "</loc></url></urlset>"
}

func indexOf(urls ...string) string {
	return "<sitemapindex><sitemap><loc>" + strings.Join(urls, "</loc></sitemap><sitemap><loc>") + "</loc></sitemap></sitemapindex>"
}

// newMapped is a world that reads the sitemaps of robots.txt.
func newMapped(t *testing.T, seeds []string, sites ...*crawltest.Site) *world {
	w := newWorld(t, seeds, sites...)
	w.cfg.Sitemaps.Robots = true
	return w
}

const mapLine = "Sitemap: http://a.test/s.xml\n"

func TestSitemaps_IndexAndItsEntriesAreCrawled(t *testing.T) {
	playAll(t, []scenario{{
		name: "index", offScope: true, ended: EndedMaxPages,
		sites: []*crawltest.Site{mapped("a.test", "User-agent: *\nDisallow: /p/no\nCrawl-delay: 3\n"+mapLine+mapLine, map[string]string{
			"/s.xml":         indexOf("http://a.test/maps/1.xml.gz", "/maps/2.txt"),
			"/maps/1.xml.gz": zipped(listOf("http://a.test/p1", "http://a.test/p/no", "mailto:x@a.test")),
			"/maps/2.txt":    "http://a.test/p2\nhttp://a.test/p1\n",
		})},
		set:   func(w *world) { w.cfg.Sitemaps.Robots, w.cfg.MaxPages = true, 3 }, // sitemaps are not pages
		asked: map[string]string{"a.test": "/robots.txt / /s.xml /maps/1.xml.gz /maps/2.txt /p1 /p2"},
		outcomes: map[string]string{
			"a.test/s.xml": "fetched: sitemap:index: 2 of 2 entries in scope", "a.test/maps/1.xml.gz": "fetched: sitemap:urlset: 2 of 3 entries in scope",
			"a.test/maps/2.txt": "fetched: sitemap:text: 2 of 2 entries in scope", "a.test/p/no": "disallowed: disallow rule",
		},
		figures: map[string]int64{"pages": 3, "sitemaps": 3, "listed": 7, "links_not_followed/sitemap:scheme": 1},
		check: func(t *testing.T, w *world, _ Summary) {
			assert.Len(t, w.archive.records, 7, "records, one for each exchange")
		},
	}})
}

func TestSitemaps_Requests(t *testing.T) {
	own := func(w *world) {
		w.cfg.Sitemaps = Sitemaps{URLs: []canon.URL{parse(w.t, "http://a.test/own.xml")}}
	}
	nofollow := map[string]string{"X-Robots-Tag": "noindex, nofollow"}
	one := map[string]string{"/s.xml": listOf("http://a.test/p1")}
	for _, tt := range []struct {
		name, seeds string
		sites       []*crawltest.Site
		set         func(*world)
		asked       map[string]string // after robots.txt, in any order
		other       int64             // URLs of hosts that a sitemap may not list
	}{
		{
			"none unless that is wanted", "http://a.test/", []*crawltest.Site{mapped("a.test", mapLine, one)},
			func(w *world) { w.cfg.Sitemaps.Robots = false }, map[string]string{"a.test": "/"}, 0,
		},
		{
			"of the host that a seed redirects to", "http://short.test/",
			[]*crawltest.Site{{Name: "short.test", Pages: map[string]crawltest.Page{"/": {Redirect: "http://a.test/"}}}, mapped("a.test", mapLine, one)},
			nil, map[string]string{"a.test": "/ /p1 /s.xml"}, 0,
		},
		{ // a sitemap speaks for its own host, and for those whose robots.txt names it
			"for other hosts", "http://a.test/ http://b.test/ http://c.test/",
			[]*crawltest.Site{
				mapped("a.test", mapLine, map[string]string{"/s.xml": listOf("http://a.test/p1", "http://b.test/p1", "http://c.test/p1", "http://c.test/p2",
					"https://a.test/p1", "http://www.a.test/p1", "http://a.test:81/p1")}),
				mapped("b.test", "Sitemap: http://a.test/./%73.xml\n", nil), mapped("c.test", "Sitemap: http://c.test/s.xml\n", nil),
			},
			nil, map[string]string{"b.test": "/ /p1", "c.test": "/ /s.xml"}, 4,
		},
		{ // elsewhere, off the scope; one moved on to a third host, one is an index
			"on another host for the one that names them", "http://a.test/",
			[]*crawltest.Site{
				mapped("a.test", "Sitemap: http://cdn.test/1.xml\nSitemap: http://cdn.test/2.xml\nSitemap: http://cdn.test/3.xml\n", nil),
				mapped("cdn.test", "Sitemap: http://cdn.test/own.xml\n", map[string]string{
					"/1.xml": listOf("http://a.test/p1", "http://cdn.test/p1"),
					"/2.xml": "→http://far.test/2.xml",
					"/3.xml": indexOf("http://cdn.test/4.xml", "http://far.test/5.xml"), "/4.xml": "→/6.xml", "/6.xml": listOf("http://a.test/p4"),
				}),
				mapped("far.test", "", map[string]string{"/2.xml": listOf("http://a.test/p2"), "/5.xml": listOf("http://a.test/p5")}),
			},
			nil, map[string]string{"cdn.test": "/1.xml /2.xml /3.xml /4.xml /6.xml", "far.test": "/2.xml", "a.test": "/ /p1 /p2 /p4"}, 1,
		},
		{ // a file that a sitemap of the host led to may list the host, wherever a redirect led
			"a redirected one keeps its meaning", "http://a.test/ http://b.test/",
			[]*crawltest.Site{
				mapped("a.test", "", map[string]string{"/own.xml": "→http://far.test/1.xml"}), mapped("b.test", "", nil),
				mapped("far.test", "", map[string]string{"/1.xml": "→/2.xml", "/2.xml": indexOf("/3.xml"), "/3.xml": listOf("http://a.test/p1", "http://b.test/p1")}),
			},
			own, map[string]string{"far.test": "/1.xml /2.xml /3.xml", "a.test": "/ /own.xml /p1", "b.test": "/"}, 1,
		},
		{
			"what is a seed is a sitemap all the same", "http://b.test/s.xml",
			[]*crawltest.Site{mapped("b.test", "Sitemap: http://b.test/s.xml\n", map[string]string{"/s.xml": listOf("http://b.test/p1")})},
			nil, map[string]string{"b.test": "/p1 /s.xml"}, 0,
		},
		{ // another host may name a sitemap of an index; the index of the operator does not make it the operator's
			"those of an index are named one by one", "http://a.test/ http://b.test/",
			[]*crawltest.Site{
				mapped("a.test", "", map[string]string{
					"/own.xml": indexOf("/1.xml", "/2.xml", "/gone.xml"), "/1.xml": listOf("http://b.test/p1"), "/2.xml": listOf("http://b.test/p2"),
				}),
				mapped("b.test", "Sitemap: http://a.test/2.xml\n", nil),
			},
			own, map[string]string{"a.test": "/ /1.xml /2.xml /gone.xml /own.xml", "b.test": "/ /p2"}, 1,
		},
		{ // crawled as the page that it is, in scope
			"a page is a page all the same", "http://a.test/",
			[]*crawltest.Site{
				{Name: "a.test", Robots: crawltest.Robots{Body: "Sitemap: /\nSitemap: /all.html\nSitemap: http://b.test/all.html\n"}, Pages: map[string]crawltest.Page{
					"/": {Links: []string{"/1"}}, "/all.html": {Links: []string{"/2"}}, "/1": {}, "/2": {}}},
				{Name: "b.test", Pages: map[string]crawltest.Page{"/all.html": {Links: []string{"/1", "http://a.test/3"}}}},
			},
			nil, map[string]string{"a.test": "/ /1 /2 /all.html", "b.test": "/all.html"}, 0,
		},
		{
			"not followed where that is asked", "http://a.test/",
			[]*crawltest.Site{{Name: "a.test", Robots: crawltest.Robots{Body: "Sitemap: /s.xml\nSitemap: /i.xml\n"}, Pages: map[string]crawltest.Page{
				"/": {}, "/s.xml": {Body: listOf("/p1"), Header: nofollow}, "/i.xml": {Body: indexOf("/t.xml"), Header: nofollow},
			}}},
			nil, map[string]string{"a.test": "/ /i.xml /s.xml"}, 0,
		},
		{
			"its bytes count for the budget", "http://a.test/",
			[]*crawltest.Site{mapped("a.test", mapLine, map[string]string{"/s.xml": listOf("http://a.test/p1") + strings.Repeat("\n", 20_000)})},
			func(w *world) { w.cfg.MaxBytes = 20_000 }, map[string]string{"a.test": "/ /s.xml"}, 0,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newMapped(t, strings.Fields(tt.seeds), tt.sites...)
			if tt.set != nil {
				tt.set(w)
			}
			s := w.run()
			for host, want := range tt.asked {
				w.wantAskedInAnyOrder(host, append(strings.Fields(want), "/robots.txt")...)
			}
			if s.SeedsUnanswered > 0 || s.Status.Links[reasonOtherHost] != tt.other {
				t.Errorf("%d of other hosts, want %d; %d seeds unanswered", s.Status.Links[reasonOtherHost], tt.other, s.SeedsUnanswered)
			}
		})
	}
}

// A sitemap that is redirected, broken or missing does not affect others. Only one that the operator names is a seed.
func TestSitemaps_OneByOne(t *testing.T) {
	const gone = ""
	page := "<!DOCTYPE html><html><a href='/p1'>x</a></html>"
	for _, tt := range []struct {
		name, robots, body, outcome, asked string
		operator                           bool
		unanswered                         int64
	}{
		{name: "read", operator: true, body: listOf("http://a.test/p1"), outcome: "fetched: sitemap:urlset: 1 of 1 entries in scope", asked: "/robots.txt / /s.xml /p1"},
		{name: "redirected", operator: true, body: "→/moved.xml", outcome: "redirected: to http://a.test/moved.xml", asked: "/robots.txt / /s.xml /moved.xml /p2"},
		{name: "redirected to nowhere", operator: true, body: "→/none.xml", outcome: "redirected: to http://a.test/none.xml", asked: "/robots.txt / /s.xml /none.xml", unanswered: 1},
		{name: "of the operator: a page", operator: true, body: page,
			outcome: "fetched: sitemap:no sitemap: 0 of 0 entries in scope; no sitemap at byte 21: the root element is \"html\"", asked: "/robots.txt / /s.xml", unanswered: 1},
		{name: "of the operator: gone", operator: true, body: gone, outcome: "gone: status 404", asked: "/robots.txt / /s.xml", unanswered: 1},

		{name: "disallowed", robots: "User-agent: *\nDisallow: /s.xml\n", body: listOf("http://a.test/p1"), outcome: "disallowed: disallow rule", asked: "/robots.txt /"},
		{name: "404", body: gone, outcome: "gone: status 404", asked: "/robots.txt / /s.xml"},
		{name: "a page", body: page, outcome: "fetched: sitemap:no sitemap: 0 of 0 entries in scope; no sitemap at byte 21: the root element is \"html\"", asked: "/robots.txt / /s.xml"},
		{name: "cut off", body: listOf("http://a.test/p1", "http://a.test/p2")[:70], outcome: "fetched: sitemap:cut off: 1 of 1 entries in scope; cut off at byte 70", asked: "/robots.txt / /s.xml /p1"},
		{name: "lists itself", body: indexOf("/s.xml", "/t.xml"), outcome: "fetched: sitemap:index: 2 of 2 entries in scope", asked: "/robots.txt / /s.xml /t.xml"},
		{name: "too deep", body: indexOf("/1.xml"), outcome: "fetched: sitemap:index: 1 of 1 entries in scope", asked: "/robots.txt / /s.xml /1.xml /2.xml /3.xml"},
	} {
		files := map[string]string{
			"/t.xml": indexOf("/s.xml"), "/moved.xml": listOf("http://a.test/p2"),
			"/1.xml": indexOf("/2.xml"), "/2.xml": indexOf("/3.xml"), "/3.xml": indexOf("/4.xml"), "/4.xml": listOf("/p1"),
		}
		if tt.body != gone {
			files["/s.xml"] = tt.body
		}
		named, deep := mapLine, int64(0)
		if tt.operator {
			named = ""
		}
		if tt.name == "too deep" {
			deep = 1
		}
		playAll(t, []scenario{{
			name: tt.name, sites: []*crawltest.Site{mapped("a.test", tt.robots+named, files)},
			set: func(w *world) {
				if w.cfg.Sitemaps.Robots = !tt.operator; tt.operator {
					w.cfg.Sitemaps.URLs = []canon.URL{parse(w.t, "http://a.test/s.xml")}
				}
			},
			asked: map[string]string{"a.test": tt.asked}, outcomes: map[string]string{"a.test/s.xml": tt.outcome}, offScope: true,
			incomplete: tt.unanswered > 0, figures: map[string]int64{"seeds_unanswered": tt.unanswered, "links_not_followed/" + reasonIndexDepth: deep},
		}})
	}
}

func TestStories_Sitemaps(t *testing.T) {
	robots := func(w *world) { w.cfg.Sitemaps.Robots = true }
	depth := 0
	playAll(t, []scenario{
		{ // the operator's media types do not apply to sitemaps; of a file over the operator's limit the beginning counts
			name: "whatever their type and size", offScope: true,
			sites: []*crawltest.Site{{Name: "a.test", Robots: crawltest.Robots{Body: mapLine}, Pages: pages{
				"/": {}, "/s.xml": {Body: listOf("http://a.test/p1", "http://a.test/p2", "http://a.test/p3")}, "/p1": {}, "/p2": {},
			}}},
			set: func(w *world) {
				robots(w)
				w.cfg.Scope.Reject, w.cfg.MaxBody = []string{"application/xml", "text/xml"}, 100
			},
			asked: map[string]string{"a.test": "/robots.txt / /s.xml /p1 /p2"}, figures: map[string]int64{"reasons/fetched/sitemap:cut off": 1}, incomplete: true, // the seed is also larger
			check: func(t *testing.T, w *world, _ Summary) {
				if r := w.archive.records[2]; w.count(budget.Truncated) != 1 || !strings.Contains(string(r.Request), "Accept: application/xml,") {
					t.Errorf("%d truncated; requested by %q", w.count(budget.Truncated), r.Request)
				}
			},
		},
		{
			name: "the scope judges them and their entries", offScope: true,
			sites: []*crawltest.Site{mapped("a.test", mapLine+"Sitemap: http://a.test/no.xml\n", map[string]string{
				"/s.xml": listOf("http://a.test/p1", "http://a.test/p/no", "http://a.test/p2"),
			})},
			set: func(w *world) {
				robots(w)
				w.cfg.Scope.Depth, w.cfg.Scope.Exclude = &depth, []string{"/no"}
			},
			asked:    map[string]string{"a.test": "/robots.txt / /s.xml"}, // listed pages are one step from the seed
			outcomes: map[string]string{"a.test/no.xml": "dropped: scope:exclude", "a.test/p/no": "dropped: scope:exclude"},
			figures:  map[string]int64{"links_not_followed/scope:depth": 2, "dropped": 2},
		},
		{
			name: "a run without them drops those that are pending", offScope: true,
			sites: []*crawltest.Site{mapped("a.test", mapLine, map[string]string{"/s.xml": listOf("http://a.test/p1")})},
			set: func(w *world) {
				robots(w)
				w.cfg.MaxPages = 1
				w.run()
				w.reopen()
				w.cfg.MaxPages, w.cfg.Sitemaps = 0, Sitemaps{}
			},
			asked: map[string]string{"a.test": "/robots.txt /"}, outcomes: map[string]string{"a.test/s.xml": "dropped: scope:sitemap"},
		},
	})
}

func pagesOf(host string, n int) []string {
	urls := make([]string, n)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://%s/p%d", host, i)
	}
	return urls
}

// watched is a frontier that counts calls, and whose Add can fail.
type watched struct {
	frontier.Frontier
	adds  atomic.Int64
	looks atomic.Int64 // at a host
	onAdd func(n int64) error
}

func (f *watched) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	n := f.adds.Add(1)
	if f.onAdd != nil {
		if err := f.onAdd(n); err != nil {
			return frontier.Added{}, err
		}
	}
	return f.Frontier.Add(ctx, cs)
}

func (f *watched) Host(ctx context.Context, a canon.Authority) (frontier.Host, bool, error) {
	f.looks.Add(1)
	return f.Frontier.Host(ctx, a)
}

func TestSitemaps_HostQueriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range 3 * maxHosts {
			urls = append(urls, fmt.Sprintf("http://h%d.test/", i%(maxHosts+500)))
		}
		w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", mapLine, map[string]string{"/s.xml": listOf(append(urls, "http://a.test/p1")...)}))
		f := &watched{Frontier: w.front}
		w.cfg.Frontier = f
		s := w.run()
		w.wantAsked("a.test", "/robots.txt", "/", "/s.xml", "/p1")
		if f.looks.Load() != maxHosts || s.Status.Links[reasonOtherHost] != 3*maxHosts {
			t.Errorf("%d looks, %v", f.looks.Load(), s.Status.Links)
		}
	})
}

var errKilled = errors.New("killed")

// After a kill between the batches of a sitemap, the next run reads it again and adds each entry once.
func TestSitemaps_KillLosesNoEntry(t *testing.T) {
	const listed = 3*sitemapBatch + 100
	for kill := int64(1); kill <= 4; kill++ { // at a batch, or before the turn is finished
		if racing && kill%2 == 1 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", mapLine, map[string]string{"/s.xml": listOf(pagesOf("a.test", listed)...)}))
			f := &watched{Frontier: w.front, onAdd: func(n int64) error {
				if n == kill {
					return errKilled
				}
				return nil
			}}
			w.cfg.Frontier = f
			if kill == 4 {
				w.archive.before = func(r storage.Record) error {
					if strings.HasSuffix(r.URL, "/s.xml") {
						return errKilled
					}
					return nil
				}
			}
			if _, err := w.crawl().Run(t.Context()); !errors.Is(err, errKilled) {
				t.Fatalf("the run ended with %v", err)
			}
			w.crashed()
			w.archive.before = nil
			dropPages(t, w.front, "a.test", listed) // the sitemap was in flight: it comes last at its host
			w.cfg.MaxPages = 2
			s := w.run()
			if s.Status.Discovered != listed+2 || s.Status.Sitemaps != 1 {
				t.Errorf("killed at %d: %+v", kill, s.Status)
			}
			w.judged(crawltest.Rules{Pace: Floor, Partial: true, Repeats: 2})
		})
	}
}

func dropPages(t *testing.T, f frontier.Frontier, host string, n int) {
	t.Helper()
	var us []canon.URL
	for _, page := range pagesOf(host, n) {
		us = append(us, parse(t, page))
	}
	_, err := f.Steer(t.Context(), frontier.Steering{Act: frontier.Drop, Authority: us[0].Authority(), URLs: us})
	require.NoError(t, err)
}

func TestSitemaps_AreBoundedPerHost(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		// Three indexes that list 600 each, and a fourth that alone exceeds the limit.
		files, robotsTxt := map[string]string{}, "Sitemap: /big.xml\n"
		for i := range 3 {
			var urls []string
			for j := range 600 {
				urls = append(urls, fmt.Sprintf("/m%d-%d.xml", i, j))
			}
			files[fmt.Sprintf("/i%d.xml", i)] = indexOf(urls...)
			robotsTxt += fmt.Sprintf("Sitemap: /i%d.xml\n", i)
		}
		files["/big.xml"] = indexOf(pagesOf("a.test", maxSitemaps+5)...)
		w := newMapped(t, []string{"http://a.test/"}, mapped("a.test", robotsTxt, files))
		w.cfg.Delay = 10 * time.Second
		s := w.run()
		assert.EqualValuesf(t, 5, s.Status.Links[reasonSitemaps], "%v", s.Status.Links)
		asked := len(w.asked("a.test")) - 2
		dropped := s.Status.Reasons["dropped"][reasonSitemaps]
		if asked != maxSitemaps || dropped != 4+1800+maxSitemaps-int64(asked) {
			t.Errorf("%d were requested, %d dropped", asked, dropped)
		}
		// The count continues over restarts.
		w.reopen()
		w.web.Change("a.test", func(s *crawltest.Site) { s.Robots.Body += "Sitemap: /new.xml\n" })
		w.add(seed(t, "http://a.test/later", ""))
		time.Sleep(25 * time.Hour)
		w.run()
		w.wantOutcomes("http://a.test/new.xml", "dropped: "+reasonSitemaps)
	})
}

func TestSitemaps_AreBoundedPerRobotsTxt(t *testing.T) {
	terms := robots.Terms{}
	book := terms.Parse([]byte("Sitemap: mailto:x\nSitemap:\nSitemap: /robots.txt\n"+strings.Repeat("sitemap: /s\n", 3)), "curtsy")
	a := parse(t, "http://a.test/").Authority()
	maps, refused := namedSitemaps(gate.Rules{Book: book}, a)
	if len(maps) != 1 || maps[0] != parse(t, "http://a.test/s") || refused["sitemap:scheme"] != 1 || refused["sitemap:no address"] == 0 {
		t.Errorf("%v, %v", maps, refused)
	}
	var b strings.Builder
	for i := range maxSitemaps + 7 {
		fmt.Fprintf(&b, "Sitemap: /%d\n", i)
	}
	maps, refused = namedSitemaps(gate.Rules{Book: terms.Parse([]byte(b.String()), "curtsy")}, a)
	if len(maps) != maxSitemaps || refused[reasonSitemaps] != 7 {
		t.Errorf("%d, %v", len(maps), refused)
	}
	if maps, _ := namedSitemaps(gate.Rules{}, a); maps != nil {
		t.Error("a host without rules names none")
	}
}
