package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
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

func TestSitemapsAreReadWhenTheFlagSaysSo(t *testing.T) {
	t.Parallel()
	const contact = "mailto:crawl@library.org"
	for _, tt := range []struct {
		flags, want string
	}{
		{"", "/"},
		{"--sitemaps none", "/"},
		{"--contact " + contact + " --sitemaps robots", "/ /bread /named.xml"},
		{"--sitemaps URL/given.xml", "/ /cake /given.xml"},
		{"--contact " + contact + " --sitemaps URL/given.xml --sitemaps robots", "/ /bread /cake /given.xml /named.xml"},
	} {
		web := crawltest.New(listedSite())
		if err := web.Start(); err != nil {
			t.Fatal(err)
		}
		url := web.LoopbackURL("bakery.test")
		args := strings.Fields(strings.ReplaceAll(tt.flags, "URL", strings.TrimSuffix(url, "/")))
		dir := filepath.Join(t.TempDir(), "d")
		inside(t, append(append([]string{"crawl", "--delay", "0", "--workers", "1", "--dir", dir}, args...), url)...).want(t, cli.ExitDone)
		if got := strings.Join(targets(web), " "); got != tt.want {
			t.Errorf("%s: asked for %s, want %s", tt.flags, got, tt.want)
		}
		web.Close()
	}
}

func TestAFinishedCrawlGoesOnWithASitemapThatIsNew(t *testing.T) {
	t.Parallel()
	web := crawltest.New(listedSite())
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	url := web.LoopbackURL("bakery.test")
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--delay", "0", "--dir", dir, url).want(t, cli.ExitDone)
	inside(t, "resume", "--sitemaps", url+"given.xml", dir).want(t, cli.ExitDone, "sitemaps     1 read, 1 URL in them")
	if got := fmt.Sprint(targets(web)); got != "[/ /cake /given.xml]" {
		t.Errorf("asked for %s", got)
	}
	config, err := os.ReadFile(filepath.Join(dir, crawldir.ConfigName))
	if err != nil || !strings.Contains(string(config), "given.xml") {
		t.Errorf("the crawl's settings lack the sitemap: %s, %v", config, err)
	}
	inside(t, "resume", dir).want(t, cli.ExitDone, "is finished")
	inside(t, "resume", "--sitemaps", url+"none.xml", dir).want(t, cli.ExitIncomplete, "no usable answer from seed "+url+"none.xml")
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

func TestSitemapsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--sitemaps all":                                        "write none, robots or a URL",
		"--sitemaps none --sitemaps robots":                     "stands alone",
		"--sitemaps ftp://a.test/s":                             "write none, robots or a URL",
		"--sitemaps robots":                                     "contact", // it may lead anywhere
		"--sitemaps https://www.library.org/s":                  "contact",
		"--contact mailto:a@library.org --sitemaps sitemap.xml": "write none, robots or a URL",
	} {
		inside(t, append(append([]string{"crawl"}, strings.Fields(args)...), "http://127.0.0.1:9/")...).want(t, cli.ExitUsage, says)
	}
}
