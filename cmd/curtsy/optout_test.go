package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
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
