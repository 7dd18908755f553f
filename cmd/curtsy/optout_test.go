package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// atHome runs a command line in this process, with the configuration folder that the test has.
func atHome(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return result{out.String(), errs.String(), code}
}

// site is host and port of a URL.
func site(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/") }

// two serves two hosts of three pages.
func two(t *testing.T) (bakery, library string, web *crawltest.Web) {
	t.Helper()
	web = crawltest.New(crawltest.Tree("bakery.test", 3), crawltest.Tree("library.test", 3))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return web.LoopbackURL("bakery.test"), web.LoopbackURL("library.test"), web
}

// requests counts those of a host.
func requests(web *crawltest.Web, host string) (n int) {
	for _, r := range web.Referee().Requests() {
		if r.Host == host {
			n++
		}
	}
	return n
}

// Choices that differ from the default are printed, and are settings like any other.
func TestRule19_ChoicesArePrinted(t *testing.T) {
	home(t, "keep-noarchive = true\nfollow-rel = [\"nofollow\", \"ugc\"]\n")
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/": {Robots: "noarchive", NoFollow: []string{"/n"}}, "/n": {Robots: "noindex"},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	seed := web.LoopbackURL("bakery.test")
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--delay", "0", "--dir", dir, seed).
		want(t, cli.ExitDone, "--keep-noarchive", "--follow-rel", "nofollow,ugc", "noindex  1 page, kept")
	if b, err := os.ReadFile(inDir(dir, crawldir.ConfigName)); err != nil || !strings.Contains(string(b), "keep-noarchive = true\n") {
		t.Errorf("%v:\n%s", err, b)
	}
	if n := requests(web, "bakery.test"); n != 3 {
		t.Errorf("%d requests", n)
	}
	r := atHome(t, "crawl", "--delay", "0", "--keep-noarchive=false", "--follow-rel", "ugc,sponsored", "--dir", dir+"2", seed)
	r.want(t, cli.ExitDone, "(noarchive): 1 page")
	if strings.Contains(r.err, "--follow-rel") || strings.Contains(r.err, "--keep-noarchive") {
		t.Errorf("a default is printed:\n%s", r.err)
	}
	t.Setenv("CURTSY_KEEP_NOARCHIVE", "maybe")
	atHome(t, "crawl", seed).want(t, cli.ExitUsage, "write true or false")
}
