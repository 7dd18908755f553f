package plan_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/plan"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// mapped is a site of n pages with a sitemap.
func mapped(name string, n int, robots string) *crawltest.Site {
	s := crawltest.Tree(name, n)
	var b strings.Builder
	for path := range s.Pages {
		fmt.Fprintf(&b, "http://%s%s\n", name, path)
	}
	s.Pages["/sitemap.txt"] = crawltest.Page{Body: b.String(), Type: "text/plain"}
	s.Robots.Body = robots + "Sitemap: /sitemap.txt\n"
	return s
}

// world is a web in virtual time, for a synctest bubble, and the settings of crawls in it.
type world struct {
	t        *testing.T
	web      *crawltest.Web
	settings crawldir.Settings
}

func newWorld(t *testing.T, sites ...*crawltest.Site) *world {
	t.Helper()
	w := &world{t: t, web: crawltest.New(sites...), settings: crawldir.Defaults()}
	w.web.StartPipe()
	t.Cleanup(func() { w.web.Close() })
	w.settings.Contact = "lab@example.edu"
	w.settings.AllowNet = []string{w.web.Net().String()}
	return w
}

func (w *world) seeds(urls ...string) (seeds []frontier.Candidate) {
	w.t.Helper()
	for _, u := range urls {
		c, err := crawldir.Seed(u, "")
		require.NoError(w.t, err)
		seeds = append(seeds, c)
	}
	return seeds
}

func (w *world) options() crawldir.Options {
	return crawldir.Options{Unheard: true, Resolve: w.web.Resolve, Dial: w.web.Dial}
}

func (w *world) plan(maps int, e plan.Expect, urls ...string) *plan.Plan {
	w.t.Helper()
	p, err := plan.Make(w.t.Context(), &w.settings, w.seeds(urls...), plan.Options{Maps: maps, Expect: e, Crawl: w.options()})
	require.NoError(w.t, err)
	return p
}

// crawl returns the duration and the number of requests of a crawl.
func (w *world) crawl(urls ...string) (time.Duration, int64) {
	w.t.Helper()
	dir := w.t.TempDir()
	require.NoError(w.t, crawldir.CreateUnchecked(w.t.Context(), dir, &w.settings, crawldir.Given(w.seeds(urls...))))
	start := time.Now()
	var took time.Duration
	o := w.options()
	o.Attend = func(ctx context.Context, s crawldir.Start) (crawler.Summary, error) {
		start = time.Now()
		summary, err := s.Crawl.Run(ctx)
		took = time.Since(start)
		return summary, err
	}
	r, err := crawldir.Run(w.t.Context(), dir, o)
	require.NoError(w.t, err)
	return took, r.Status.Exchanges
}

func TestTheEstimateIsWithinAFactorOfTwoOfTheCrawl(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures estimates, for long under the race detector")
	}
	slow := mapped("slow.test", 40, "")
	slow.Latency = 700 * time.Millisecond
	shut := mapped("shut.test", 60, "User-agent: *\nDisallow: /p1\n")
	down := mapped("down.test", 50, "")
	down.Robots.Status = 503
	shared := func() (sites []*crawltest.Site, seeds []string) {
		for i := range 6 {
			name := fmt.Sprintf("s%d.test", i)
			sites, seeds = append(sites, mapped(name, 30, "")), append(seeds, "http://"+name+"/")
		}
		return sites, seeds
	}
	many, manySeeds := shared()
	for _, tt := range []struct {
		name   string
		sites  []*crawltest.Site
		seeds  []string
		set    func(*crawldir.Settings)
		expect plan.Expect
		by     string
	}{
		{name: "one host", sites: []*crawltest.Site{mapped("a.test", 200, "")}, seeds: []string{"http://a.test/"}, by: plan.DecidedByHost},
		{
			name: "a Crawl-delay decides", sites: []*crawltest.Site{mapped("a.test", 100, ""), mapped("b.test", 30, "User-agent: *\nCrawl-delay: 10\n")},
			seeds: []string{"http://a.test/", "http://b.test/"}, by: plan.DecidedByHost,
		},
		{name: "a slow host", sites: []*crawltest.Site{slow}, seeds: []string{"http://slow.test/"}, by: plan.DecidedByHost},
		{
			name: "part of it is forbidden", sites: []*crawltest.Site{shut}, seeds: []string{"http://shut.test/"},
			set: func(s *crawldir.Settings) { s.Sitemaps = []string{crawldir.SitemapsRobots} }, by: plan.DecidedByHost,
		},
		{
			name: "one is out of order", sites: []*crawltest.Site{down, mapped("a.test", 80, "")}, seeds: []string{"http://down.test/", "http://a.test/"},
			set: func(s *crawldir.Settings) { s.MaxWait = 2 * time.Second }, by: plan.DecidedByHost,
		},
		{
			name: "sitemaps are read", sites: []*crawltest.Site{mapped("a.test", 150, "")}, seeds: []string{"http://a.test/"},
			set: func(s *crawldir.Settings) { s.Sitemaps = []string{crawldir.SitemapsRobots} }, by: plan.DecidedByHost,
		},
		{
			name: "a budget of pages", sites: []*crawltest.Site{mapped("a.test", 300, ""), mapped("b.test", 300, "User-agent: *\nCrawl-delay: 4\n")},
			seeds: []string{"http://a.test/", "http://b.test/"}, set: func(s *crawldir.Settings) { s.MaxPages = 100 }, by: plan.DecidedByPages,
		},
		{
			name: "a budget of a host", sites: []*crawltest.Site{mapped("a.test", 300, "")}, seeds: []string{"http://a.test/"},
			set: func(s *crawldir.Settings) { s.MaxPerHost = 50 }, by: plan.DecidedByHost,
		},
		{
			name: "a budget of time", sites: []*crawltest.Site{mapped("a.test", 300, "")}, seeds: []string{"http://a.test/"},
			set: func(s *crawldir.Settings) { s.MaxTime = time.Minute }, by: plan.DecidedByTime,
		},
		{
			name: "a day's budget", sites: []*crawltest.Site{mapped("a.test", 100, "")}, seeds: []string{"http://a.test/"},
			set: func(s *crawldir.Settings) { s.PerHostPerDay, s.MaxWait = 30, 48*time.Hour }, by: plan.DecidedByDaily,
		},
		{name: "seeds only", sites: []*crawltest.Site{mapped("a.test", 300, "")}, seeds: []string{"http://a.test/", "http://a.test/p7.html"}, set: func(s *crawldir.Settings) { s.Scope = "seeds" }, by: plan.DecidedByHost},
		{name: "many hosts", sites: many, seeds: manySeeds, by: plan.DecidedByHost},
		{
			name: "no sitemap, and an expectation", sites: []*crawltest.Site{crawltest.Tree("a.test", 250)}, seeds: []string{"http://a.test/"},
			expect: plan.Expect{Pages: 200}, by: plan.DecidedByHost,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.sites...)
				if tt.set != nil {
					tt.set(&w.settings)
				}
				p := w.plan(plan.DefaultMaps, tt.expect, tt.seeds...)
				took, requests := w.crawl(tt.seeds...)
				got := p.Estimate
				within := func(what string, estimated, was float64) {
					t.Logf("%s: %.1f estimated, %.1f was; %s", what, estimated, was, got.By)
					assert.Truef(t, estimated <= 2*was && was <= 2*estimated, "%s: %v estimated, %v was: %+v", what, estimated, was, got)
				}
				within("seconds", got.Takes, took.Seconds())
				if got.By != plan.DecidedByTime { // its progress by then is not estimated
					within("requests", float64(got.Requests), float64(requests))
				}
				assert.Equalf(t, tt.by, got.By, "decided by %s, want %s", got.By, tt.by)
			})
		})
	}
}

func TestPlan_RequestsOnlyRobotsAndSitemaps(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	synctest.Test(t, func(t *testing.T) {
		a := mapped("a.test", 20, "User-agent: *\nDisallow: /p1\nCrawl-delay: 3\n")
		b := crawltest.Tree("b.test", 3)
		b.Robots.Body = "User-agent: *\nDisallow: /hidden.xml\nSitemap: /hidden.xml\nSitemap: /index.xml\n"
		b.Pages["/hidden.xml"] = crawltest.Page{Body: "http://b.test/p1.html\n", Type: "text/plain"}
		var index strings.Builder
		index.WriteString(`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := range 9 {
			fmt.Fprintf(&index, "<sitemap><loc>http://b.test/m%d.txt</loc></sitemap>", i)
			b.Pages[fmt.Sprintf("/m%d.txt", i)] = crawltest.Page{Body: fmt.Sprintf("http://b.test/x%d\nhttp://b.test/p2/%d\nhttp://other.test/\n", i, i), Type: "text/plain"}
		}
		index.WriteString("</sitemapindex>")
		b.Pages["/index.xml"] = crawltest.Page{Body: index.String(), Type: "application/xml"}
		c := crawltest.Tree("c.test", 3)
		c.Robots.Status = 503
		d := crawltest.Tree("d.test", 3)
		d.Robots.Redirect = "http://e.test/robots.txt"
		w := newWorld(t, a, b, c, d, crawltest.Tree("e.test", 1))
		w.settings.Exclude = []string{"p2"}
		seeds := []string{
			"http://a.test/", "http://a.test/p1.html", "http://a.test/p2.html", "http://a.test/p3.html", "http://a.test/p4.html", "http://a.test/p5.html",
			"http://b.test/", "http://c.test/", "http://d.test/",
		}
		p := w.plan(4, plan.Expect{}, seeds...)
		assert.NoDirExists(t, filepath.Join(config, "curtsy"), "no key is made, and no checkpoint takes the place of a crawl's")
		asked := map[string][]string{}
		for _, r := range w.web.Referee().Requests() {
			asked[r.Host] = append(asked[r.Host], r.Target)
		}
		for host, n := range map[string]int{"a.test": 2, "b.test": 5, "c.test": 1, "d.test": 1, "e.test": 1} {
			if len(asked[host]) != n || !slices.Contains(asked[host], "/robots.txt") || slices.ContainsFunc(asked[host], func(s string) bool {
				return s != "/robots.txt" && s != "/sitemap.txt" && s != "/index.xml" && !strings.HasPrefix(s, "/m")
			}) {
				t.Errorf("%s got requests for %q", host, asked[host])
			}
		}
		for _, row := range w.web.Referee().Judge(crawltest.Rules{Seeds: seeds, Pace: crawler.Floor}).Rows {
			assert.Truef(t, row.Rule == crawltest.Scope || row.Rule == crawltest.Coverage || row.Verdict != crawltest.Broken, "the referee on %s: %v", row.Rule, row.Findings)
		}
		by := map[string]string{}
		for _, f := range p.Forbidden {
			by[f.URL] = fmt.Sprint(f.By, ": ", f.Reason, " ", f.Line, " ", f.Rule)
		}
		want := map[string]string{
			"http://a.test/p1.html": "robots.txt: disallow rule 2 Disallow: /p1",
			"http://a.test/p2.html": "scope: scope:exclude 0 ",
			"http://c.test/":        "robots.txt: unreachable 0 ",
		}
		for u, why := range want {
			assert.Equal(t, why, by[u], u)
		}
		assert.Equalf(t, len(want), len(by), "forbidden: %q", by)
		hosts := map[string]plan.Host{}
		for _, h := range p.Hosts {
			hosts[h.Host] = h
		}
		if h := hosts["http://a.test"]; h.Pace != 3 || h.PaceBy != storage.ByCrawlDelay || h.Seeds != 6 || h.Forbidden != 2 || h.Maps != 1 || h.MapsLeft || h.Listed != 14 || h.Disallow != 10 {
			t.Errorf("a: %+v", h)
		}
		h := hosts["http://b.test"]
		assert.Truef(t, h.Maps == 4 && h.MapsLeft && h.Listed == 3 && h.Robots == "rules", "b: %+v", h)
		h = hosts["http://c.test"]
		assert.Truef(t, h.Left != "" && h.Requests == 0 && h.Status == 503, "c: %+v", h)
		h = hosts["http://d.test"]
		assert.Truef(t, h.Robots == "none: everything is allowed" && h.Pages == 1, "d: %+v", h)
		assert.EqualValues(t, 3, p.Elsewhere, "listed out of scope")
	})
}
