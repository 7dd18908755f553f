package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawltest"
	"curtsy/storage/plainly"
)

// in runs a command line of crawl, resume or update in a world of its own, whose names are not those of real hosts.
func in(w crawlcmd.World, args ...string) result {
	var out, errs strings.Builder
	std := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	root := newRoot(std)
	for _, c := range root.Commands() {
		if c.Name() == args[0] && args[0] == "crawl" {
			root.RemoveCommand(c)
			root.AddCommand(crawlcmd.NewIn(w, std))
		}
	}
	root.SetArgs(args)
	code := cli.Report(&errs, root.ExecuteContext(context.Background()))
	return result{out.String(), errs.String(), code}
}

// nobody is a world in which every name has an address at which nobody listens.
func nobody() crawlcmd.World {
	return crawlcmd.World{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("198.51.100.7")}, nil
		},
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrUnexpectedEOF },
	}
}

// The first line counts the seeds that were given, whatever they are: names, addresses, localhost; and says that a short
// --delay is for own hosts only as soon as one of them is a name.
func TestTheFirstLineCountsTheSeedsAndSaysWhomAShortDelayIsFor(t *testing.T) {
	t.Parallel()
	const warning = "--delay 0 acts on hosts of your own only; any other keeps 1s"
	dead := deadPort(t)
	port := dead[strings.LastIndex(dead, ":"):]
	for _, tt := range []struct {
		seeds  []string
		warned bool
	}{
		{[]string{"http://one.example/"}, true},
		{[]string{"http://one.example/", "https://one.example/a", "http://two.example/"}, true},
		{[]string{dead}, false},
		{[]string{dead, dead + "a", "http://localhost" + port}, false},
		{[]string{dead, "http://one.example/"}, true},
	} {
		args := append([]string{"crawl", "--delay", "0", "--contact", "crawl@library.org", "--max-wait", "1s", "--dir", filepath.Join(t.TempDir(), "d")}, tt.seeds...)
		r := in(nobody(), args...)
		if want := fmt.Sprintf("crawling from %s into", plainly.Count(int64(len(tt.seeds)), "seed")); !strings.Contains(r.err, want) {
			t.Errorf("%q: standard error lacks %q:\n%s", tt.seeds, want, r.err)
		}
		if strings.Contains(r.err, warning) != tt.warned {
			t.Errorf("%q: warned %v, want %v:\n%s", tt.seeds, !tt.warned, tt.warned, r.err)
		}
	}
}

// A crawl of loopback hosts at the default delay says once that --delay 0 makes them fast.
func TestCrawl_HintsAtDelayOnLoopback(t *testing.T) {
	const hint = "--delay 0 makes your own host fast"
	dead := deadPort(t)
	for rule, c := range map[string]struct {
		args []string
		want int
	}{
		"loopback at the default delay": {[]string{dead}, 1},
		"two loopback seeds":            {[]string{dead, dead + "a"}, 1},
		"mirror and check as well":      {[]string{"mirror", dead}, 1},
		"check":                         {[]string{"linkcheck", dead}, 1},
		"a delay was given":             {[]string{"--delay", "0", dead}, 0},
		"another host":                  {[]string{"http://one.example/"}, 0},
		"one of two is another host":    {[]string{dead, "http://one.example/"}, 0},
		"loopback is not yours":         {[]string{"--own-site", "none", dead}, 0},
		"quiet":                         {[]string{"--quiet", dead}, 0},
		"JSON":                          {[]string{"--json", dead}, 0},
	} {
		args := c.args
		if args[0] != "mirror" && args[0] != "linkcheck" {
			args = append([]string{"crawl"}, args...)
		}
		args = append(args, "--contact", "crawl@library.org", "--max-wait", "1s", "--dir", filepath.Join(t.TempDir(), "d"))
		in1 := func(args ...string) result { return shared(t, args...) }
		if args[0] == "crawl" {
			in1 = func(args ...string) result { return in(nobody(), args...) }
		}
		if r := in1(args...); strings.Count(r.err, hint) != c.want {
			t.Errorf("%s: the hint appears %d times, want %d:\n%s", rule, strings.Count(r.err, hint), c.want, r.err)
		}
	}
}

// A crawl that goes on counts its seeds, and not where they redirected to.
func TestAResumedCrawlCountsTheSeedsThatWereGiven(t *testing.T) {
	t.Parallel()
	site := crawltest.Tree("bakery.test", 5)
	site.Pages["/"] = crawltest.Page{Redirect: "/start"}
	site.Pages["/start"] = crawltest.Page{Links: []string{"/a", "/b"}}
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--delay", "0", "--max-pages", "1", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone, "crawling from 1 seed into")
	inside(t, "resume", "--max-pages", "0", dir).want(t, cli.ExitDone, "resuming crawl (1 seed) in")
}

// nobodyKnows is a world without names.
func nobodyKnows() crawlcmd.World {
	w := nobody()
	w.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return w
}
