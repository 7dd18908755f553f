package main

import (
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
