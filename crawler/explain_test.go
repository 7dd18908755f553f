package crawler

import (
	"reflect"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/explain"
)

// A crawl and one that is stopped say the same of every URL.
func TestARunningAndAStoppedCrawlExplainAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 6)
		site.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /p3\nCrawl-delay: 2\n"}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxPages = 3
		w.run()
		c := w.crawl()
		for _, raw := range []string{"http://a.test/", "http://a.test/p1.html", "http://a.test/p3.html", "http://a.test/new", "http://b.test/"} {
			q := explain.Question{URL: parse(t, raw)}
			live, err := c.Explain(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			stopped, err := ExplainStopped(t.Context(), w.cfg, q)
			if err != nil {
				t.Fatal(err)
			}
			if live.Crawl != "running" || stopped.Crawl == "running" {
				t.Errorf("%s: %s and %s", raw, live.Crawl, stopped.Crawl)
			}
			stopped.Crawl = live.Crawl
			stopped.Conclude()
			if !reflect.DeepEqual(live, stopped) {
				t.Errorf("%s: running\n%+v\nstopped\n%+v", raw, live, stopped)
			}
		}
	})
}
