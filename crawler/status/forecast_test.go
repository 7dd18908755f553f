package status_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	"curtsy/frontier"
)

func path(i int) string {
	if i == 0 {
		return "/"
	}
	return fmt.Sprintf("/p%d.html", i)
}

// woven is a tree of n pages with fan children each, and drawn links from each page to random others.
func woven(name string, n, fan, drawn int) *crawltest.Site {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(name))))
	s := &crawltest.Site{Name: name, Pages: map[string]crawltest.Page{}}
	for i := range n {
		p := crawltest.Page{Title: fmt.Sprintf("Page %d of %s", i, name)}
		for child := fan*i + 1; child <= fan*i+fan && child < n; child++ {
			p.Links = append(p.Links, path(child))
		}
		for range drawn {
			p.Links = append(p.Links, path(r.IntN(n)))
		}
		s.Pages[path(i)] = p
	}
	return s
}

// listed is a site of pages in lists of ten, each with a link to the next.
func listed(name string, n int) *crawltest.Site {
	s := &crawltest.Site{Name: name, Pages: map[string]crawltest.Page{}}
	for at := 0; at < n; at += 10 {
		p := crawltest.Page{Title: "A list"}
		for i := at; i < min(at+10, n); i++ {
			item := fmt.Sprintf("/item%d.html", i)
			p.Links = append(p.Links, item)
			s.Pages[item] = crawltest.Page{Title: "An item", Links: []string{"/"}}
		}
		if at+10 < n {
			p.Links = append(p.Links, path(at/10+1))
		}
		s.Pages[path(at/10)] = p
	}
	return s
}

// mapped adds a sitemap of all pages.
func mapped(s *crawltest.Site) *crawltest.Site {
	var b strings.Builder
	for path := range s.Pages {
		fmt.Fprintf(&b, "http://%s%s\n", s.Name, path)
	}
	s.Pages["/sitemap.txt"] = crawltest.Page{Body: b.String(), Type: "text/plain"}
	s.Robots.Body += "Sitemap: /sitemap.txt\n"
	return s
}

func robots(s *crawltest.Site, body string) *crawltest.Site {
	s.Robots.Body = body
	return s
}

func slow(s *crawltest.Site, latency time.Duration) *crawltest.Site {
	s.Latency = latency
	return s
}

func many(n int) (sites []*crawltest.Site) {
	for i := range n {
		sites = append(sites, woven(fmt.Sprintf("m%d.test", i), 20+7*i, 3, 6))
	}
	return sites
}

type trial struct {
	name  string
	sites []*crawltest.Site
	set   func(*crawldir.Settings)
	open  bool // its end is not visible
}

func trials() []trial {
	return []trial{
		{name: "a host, 40 links a page", sites: []*crawltest.Site{woven("a.test", 600, 10, 30)}},
		{name: "a host, 8 links a page", sites: []*crawltest.Site{woven("a.test", 800, 2, 6)}},
		{name: "three hosts of 500, 200 and 60 pages", sites: []*crawltest.Site{woven("a.test", 500, 4, 20), woven("b.test", 200, 4, 20), woven("c.test", 60, 4, 20)}},
		{name: "a Crawl-delay of 5 s decides", sites: []*crawltest.Site{woven("a.test", 400, 5, 20), robots(woven("b.test", 150, 5, 20), "User-agent: *\nCrawl-delay: 5\n")}},
		{name: "answers take 0.7 s, and a part is forbidden", sites: []*crawltest.Site{slow(robots(woven("a.test", 400, 5, 15), "User-agent: *\nDisallow: /p1\n"), 700*time.Millisecond)}},
		{name: "a tree that a sitemap lists", sites: []*crawltest.Site{mapped(crawltest.Tree("a.test", 400))}, set: func(s *crawldir.Settings) { s.Sitemaps = []string{crawldir.SitemapsRobots} }},
		{name: "30 hosts of 20 to 220 pages", sites: many(30)},
		{name: "--max-pages 300 of two hosts", sites: []*crawltest.Site{crawltest.Tree("a.test", 2000), robots(crawltest.Tree("b.test", 2000), "User-agent: *\nCrawl-delay: 3\n")}, set: func(s *crawldir.Settings) { s.MaxPages = 300 }},
		{name: "a tree", sites: []*crawltest.Site{crawltest.Tree("a.test", 400)}, open: true},
		{name: "lists of ten, page by page", sites: []*crawltest.Site{listed("a.test", 300)}, open: true},
	}
}

type look struct {
	at        time.Duration
	exchanges int64
	estimate  status.Estimate
}

// looks crawls, and returns the estimates on the way, the duration, and the number of exchanges.
func (x trial) looks(t *testing.T) (all []look, took time.Duration, exchanges int64) {
	web := crawltest.New(x.sites...)
	web.StartPipe()
	defer web.Close()
	s := crawldir.Defaults()
	s.Contact, s.AllowNet = "lab@example.edu", []string{web.Net().String()}
	if x.set != nil {
		x.set(&s)
	}
	var seeds []frontier.Candidate
	for _, site := range x.sites {
		c, err := crawldir.Seed("http://"+site.Name+"/", "")
		require.NoError(t, err)
		seeds = append(seeds, c)
	}
	dir := t.TempDir()
	require.NoError(t, crawldir.CreateUnchecked(t.Context(), dir, &s, crawldir.Given(seeds)))
	o := crawldir.Options{Unheard: true, Resolve: web.Resolve, Dial: web.Dial}
	o.Attend = func(ctx context.Context, start crawldir.Start) (crawler.Summary, error) {
		began := time.Now()
		over, watched := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(watched)
			time.Sleep(time.Second / 2) // looks between exchanges, not beside one
			every := time.NewTicker(time.Second)
			defer every.Stop()
			for {
				select {
				case <-over:
					return
				case <-every.C:
					st, err1 := start.Crawl.Status(ctx)
					e, err2 := start.Crawl.Estimate(ctx)
					if err1 == nil && err2 == nil {
						all = append(all, look{time.Since(began), st.Exchanges, e})
					}
				}
			}
		}()
		summary, err := start.Crawl.Run(ctx)
		took = time.Since(began)
		close(over)
		<-watched
		return summary, err
	}
	r, err := crawldir.Run(t.Context(), dir, o)
	require.NoError(t, err)
	return all, took, r.Status.Exchanges
}

// After a tenth of a crawl the estimate is within a fifth, unless the crawl shows no end: then it is open.
func TestOnceATenthIsDoneTheEndIsKnownWithinAFifth(t *testing.T) {
	if testing.Short() {
		t.Skip("ten crawls")
	}
	within, said := 0, "\n| crawl | exchanges | left | estimated | off |\n|---|---:|---:|---:|---:|\n"
	for _, x := range trials() {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, took, exchanges := x.looks(t)
				for _, l := range all {
					if l.exchanges*10 < exchanges {
						continue
					}
					left, e := took-l.at, l.estimate
					off := (e.Likely - left).Seconds() / left.Seconds()
					estimated := fmt.Sprintf("%.0f s", e.Likely.Seconds())
					if e.Open {
						estimated = "at least " + estimated
					}
					said += fmt.Sprintf("| %s | %d | %.0f s | %s | %+.0f %% |\n", x.name, exchanges, left.Seconds(), estimated, 100*off)
					if -0.2 <= off && off <= 0.2 {
						within++
					}
					assert.Truef(t, !x.open || e.Open, "an end is made up: %+v", e)
					assert.LessOrEqualf(t, e.Left, left+left/5, "at least %v, and it took %v", e.Left, left)
					return
				}
				t.Error("no estimate")
			})
		})
	}
	t.Log(said)
	assert.GreaterOrEqual(t, within, 8, "too few of 10 are within a fifth")
}
