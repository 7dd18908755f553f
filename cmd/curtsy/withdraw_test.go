package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

// in runs a command in a world with made-up names.
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

// unreachable is a world in which each name has this address, or cannot be looked up, and no connection succeeds.
func unreachable(addr string, lookUp error) crawlcmd.World {
	return crawlcmd.World{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			if lookUp != nil {
				return nil, lookUp
			}
			return []netip.Addr{netip.MustParseAddr(addr)}, nil
		},
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH}
		},
	}
}

// A crawl that reached no host removes its directory, so that the corrected command can use it, and announces no next try.
func TestCrawl_UnreachableSeedLeavesNoDirectory(t *testing.T) {
	t.Parallel()
	plainHTTP := httptest.NewServer(http.NotFoundHandler())
	defer plainHTTP.Close()
	seed, _ := small(t)
	for name, c := range map[string]struct {
		w     crawlcmd.World
		seeds []string
		says  string
	}{
		"mistyped port":         {crawlcmd.World{}, []string{deadPort(t)}, plainly.Reason("connect")},
		"mistyped scheme":       {crawlcmd.World{}, []string{"https" + strings.TrimPrefix(plainHTTP.URL, "http") + "/"}, plainly.Reason("tls")},
		"mistyped name":         {unreachable("", &net.DNSError{Err: "no such host", IsNotFound: true}), []string{"http://mistypd.example/"}, plainly.Reason("nxdomain")},
		"unreachable":           {unreachable("93.184.215.14", nil), []string{"http://one.example/"}, plainly.Reason("no route")},
		"not public":            {unreachable("10.9.8.7", nil), []string{"http://one.example/"}, "see --allow-net"},
		"several, each its own": {crawlcmd.World{}, []string{deadPort(t), "https" + strings.TrimPrefix(plainHTTP.URL, "http") + "/"}, plainly.Reason("tls")},
	} {
		there, empty := filepath.Join(t.TempDir(), "d"), t.TempDir()
		dirs := []string{there}
		if name == "mistyped port" {
			dirs = append(dirs, empty)
		}
		for _, dir := range dirs {
			args := []string{"crawl", "--delay", "0", "--contact", "crawl@library.org", "--dir", dir}
			r := in(c.w, append(args, c.seeds...)...)
			r.want(t, cli.ExitIncomplete, c.says, "nothing is kept", "again")
			for _, host := range c.seeds {
				assert.Containsf(t, r.err, strings.TrimSuffix(host, "/"), "%s: %s is not named", name, host)
			}
			for _, wrong := range []string{"next try in", "resume " + dir, "Ended after"} {
				assert.NotContainsf(t, r.err, wrong, "%s: it prints %q, and nothing is stored:\n%s", name, wrong, r.err)
			}
			if left, err := os.ReadDir(dir); len(left) > 0 || err != nil && dir == empty && !os.IsNotExist(err) {
				t.Errorf("%s: left in %s: %v %v", name, dir, left, err)
			}
			if name != "mistyped port" && name != "several, each its own" {
				continue
			}
			if q := in(c.w, append(append(args, "--quiet"), c.seeds...)...); strings.Count(q.err, c.says) != 1 || q.code != cli.ExitIncomplete {
				t.Errorf("%s, quiet: exit code %d, %q is not printed once:\n%s", name, q.code, c.says, q.err)
			}
			shared(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
		}
	}
}

// An update that reaches no host removes nothing.
func TestWithdraw_OnlyByItsMaker(t *testing.T) {
	t.Parallel()
	seed, web := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	web.Close()
	inside(t, "update", "--delay", "0", "--max-wait", "1s", dir)
	if _, err := os.Stat(inDir(dir, crawldir.FrontierName)); err != nil {
		t.Error(err)
	}
}
