package crawler

import (
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
)

// Where the pace is as long as the policy's life, a page must come between two requests for robots.txt.
func TestAPolicyThatExpiresWithinThePaceIsUsedOnce(t *testing.T) {
	for _, delay := range []string{"260", "280", "300"} {
		synctest.Test(t, func(t *testing.T) {
			site := crawltest.Tree("a.test", 3)
			site.Robots.Body = "User-agent: *\nDisallow: /p2\nCrawl-delay: " + delay + "\n"
			site.Robots.Header = map[string]string{"Cache-Control": "no-cache"}
			w := newWorld(t, []string{"http://a.test/"}, site)
			w.cfg.MaxTime = 10 * time.Hour
			if s := w.run(); s.Status.Fetched != 2 || s.Status.Disallowed != 1 || s.Status.Robots > 3 {
				t.Errorf("Crawl-delay %s: %d fetched, %d disallowed, robots.txt asked for %d times",
					delay, s.Status.Fetched, s.Status.Disallowed, s.Status.Robots)
			}
		})
	}
}
