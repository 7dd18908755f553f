package main

import (
	"net/http"
	"path/filepath"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// crawledOnce crawls a site to its end, without a pause unless flags say otherwise. The web goes on for the updates.
func crawledOnce(t *testing.T, site *crawltest.Site, flags ...string) (dir string, web *crawltest.Web) {
	t.Helper()
	web = crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = filepath.Join(t.TempDir(), "d")
	args := append([]string{"crawl", "--quiet", "--delay", "0", "--dir", dir}, flags...)
	shared(t, append(args, web.LoopbackURL(site.Name))...).want(t, cli.ExitDone)
	return dir, web
}

// updated updates the crawl in dir. Each request of it must be answered by 304.
func updated(t *testing.T, dir string, web *crawltest.Web) {
	t.Helper()
	before := len(web.Referee().Requests())
	inside(t, "update", "--quiet", dir).want(t, cli.ExitDone)
	for _, r := range web.Referee().Requests()[before:] {
		if r.Status != http.StatusNotModified {
			t.Errorf("%s: status %d", r.Target, r.Status)
		}
	}
}
