package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// listedSite is a bakery with two pages that sitemaps alone lead to.
func listedSite() *crawltest.Site {
	list := func(urls ...string) crawltest.Page {
		return crawltest.Page{Body: "<urlset><url><loc>" + strings.Join(urls, "</loc></url><url><loc>") + "</loc></url></urlset>"}
	}
	return &crawltest.Site{
		Name:   "bakery.test",
		Robots: crawltest.Robots{Body: "Sitemap: /named.xml\n"},
		Pages: map[string]crawltest.Page{
			"/": {}, "/named.xml": list("/bread", "/", "/bread"), "/given.xml": list("/cake"), "/bread": {}, "/cake": {},
		},
	}
}

// A sitemap that the operator names may be private, as a seed may (politeness rule 23): that address and port.
func TestASitemapOfOnesOwnMachineMayBeRead(t *testing.T) {
	t.Parallel()
	library := listedSite()
	library.Name = "library.test"
	web := crawltest.New(crawltest.Tree("bakery.test", 1), library)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--delay", "0", "--dir", dir, "--sitemaps", web.LoopbackURL("library.test")+"given.xml", web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	if got := fmt.Sprint(targets(web)); got != "[/ /given.xml]" {
		t.Errorf("asked for %s", got)
	}
}
