package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/frontier/engine"
)

// requested counts the requests for a target.
func requested(web *crawltest.Web, target string) (n int) {
	for _, r := range web.Referee().Requests() {
		if r.Target == target {
			n++
		}
	}
	return n
}

// refusing is a finished crawl of three pages of which one is disallowed, one failed and one is gone.
func refusing(t *testing.T) (dir string, web *crawltest.Web) {
	t.Helper()
	site := crawltest.Tree("bakery.test", 4)
	site.Robots.Body = "User-agent: *\nDisallow: /p1.html\n"
	for target, status := range map[string]int{"/p2.html": 400, "/p3.html": 404} {
		p := site.Pages[target]
		p.Status = status
		site.Pages[target] = p
	}
	web = crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	return dir, web
}

// The policy that the crawl holds is good for a day: retry must not leave the new file unread so long.
func TestRetryDisallowedObeysAChangedRobotsAtOnce(t *testing.T) {
	t.Parallel()
	dir, web := refusing(t)
	if n := requested(web, "/p1.html"); n != 0 {
		t.Fatalf("/p1.html was asked for %d times", n)
	}
	inside(t, "resume", "--quiet", dir).want(t, cli.ExitDone) // finished: nothing is asked
	files := requested(web, "/robots.txt")
	web.Change("bakery.test", func(s *crawltest.Site) { s.Robots.Body = "User-agent: *\nDisallow: /other\n" })
	r := inside(t, "frontier", "retry", "--disallowed", dir)
	r.want(t, cli.ExitDone, "curtsy resume "+word(dir))
	if r.out != "1 URL to be tried again, of those disallowed\n" {
		t.Errorf("standard output: %q", r.out)
	}
	inside(t, "resume", "--quiet", dir).want(t, cli.ExitDone)
	for target, n := range map[string]int{"/p1.html": 1, "/robots.txt": files + 1, "/": 1, "/p2.html": 1, "/p3.html": 1} {
		if got := requested(web, target); got != n {
			t.Errorf("%s was asked for %d times, want %d", target, got, n)
		}
	}
	judged(t, web, crawltest.Rules{})
	reopened(t, dir)
}

func TestRetryOfWhatIsStillDisallowedAsksForRobotsAlone(t *testing.T) {
	t.Parallel()
	dir, web := refusing(t)
	files := requested(web, "/robots.txt")
	inside(t, "frontier", "retry", "--disallowed", dir).want(t, cli.ExitDone)
	inside(t, "resume", "--quiet", dir).want(t, cli.ExitDone)
	if requested(web, "/p1.html") != 0 || requested(web, "/robots.txt") != files+1 {
		t.Errorf("/p1.html was asked for %d times, robots.txt %d", requested(web, "/p1.html"), requested(web, "/robots.txt")-files)
	}
	judged(t, web, crawltest.Rules{})
}

func TestRetryWithoutFlagsIsOfWhatFailed(t *testing.T) {
	t.Parallel()
	dir, web := refusing(t)
	files := requested(web, "/robots.txt")
	r := inside(t, "frontier", "retry", dir)
	r.want(t, cli.ExitDone)
	if r.out != "1 URL to be tried again, of those failed\n" {
		t.Errorf("standard output: %q", r.out)
	}
	inside(t, "resume", "--quiet", dir).want(t, cli.ExitDone)
	for target, n := range map[string]int{"/p1.html": 0, "/robots.txt": files, "/p2.html": 2, "/p3.html": 1} {
		if got := requested(web, target); got != n {
			t.Errorf("%s was asked for %d times, want %d", target, got, n)
		}
	}
}

func TestRetryOfSeveralOutcomesCountsEach(t *testing.T) {
	t.Parallel()
	dir, _ := refusing(t)
	all := []string{"frontier", "retry", "--json", "--failed", "--gone", "--disallowed", "--dropped", "--hosts", dir}
	for _, want := range []string{`"disallowed":1,"dropped":0,"failed":1,"gone":1,"hosts":0`, `"disallowed":0,"dropped":0,"failed":0,"gone":0,"hosts":0`} {
		r := inside(t, all...)
		r.want(t, cli.ExitDone)
		if got := strings.Join(strings.Fields(r.out), ""); got != "{"+want+"}" {
			t.Errorf("standard output: %s", r.out)
		}
	}
	if r := inside(t, "status", dir); !strings.Contains(r.out, "queued     3") {
		t.Errorf("status:\n%s", r.out)
	}
	reopened(t, dir)
}

func TestRetryOpensARefusedHost(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	refuseAll(t, dir)
	for _, line := range []string{"1 host opened, of those refused\n", "0 hosts opened, of those refused\n"} {
		r := inside(t, "frontier", "retry", "--hosts", dir)
		r.want(t, cli.ExitDone)
		if r.out != line {
			t.Errorf("standard output: %q", r.out)
		}
	}
	inside(t, "resume", "--quiet", "--max-pages", "0", dir).want(t, cli.ExitDone)
}

// refuseAll makes every host of a stopped crawl refused.
func refuseAll(t *testing.T, dir string) {
	t.Helper()
	ctx := context.Background()
	f, err := engine.Open(inDir(dir, crawldir.FrontierName), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Claim(ctx, frontier.Want{Hosts: 9, Tasks: 1, MaxWait: frontier.Never - 1})
	if err != nil || len(c.Turns) == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, turn := range c.Turns {
		host := turn.Host.HostUpdate
		host.Condition, host.Reason = frontier.Refused, "status 403"
		_, err := f.Finish(ctx, []frontier.Result{{Authority: turn.Authority, Token: turn.Token, Host: &host}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRetryOfOneHostIsCalledByNameOrOrigin(t *testing.T) {
	t.Parallel()
	dir, web := refusing(t)
	origin := strings.TrimSuffix(web.LoopbackURL("bakery.test"), "/")
	port := origin[strings.LastIndexByte(origin, ':')+1:]
	for _, host := range []string{"bakery.test", "https://127.0.0.1:" + port, "127.0.0.1:1", "127.0.0.1:x", "a b"} {
		inside(t, "frontier", "retry", "--host", host, dir).want(t, cli.ExitUsage, "--host "+host)
	}
	for i, host := range []string{origin, "127.0.0.1:" + port, "127.0.0.1", origin + "/"} {
		flag := []string{"--failed", "--disallowed", "--gone", "--gone"}[i]
		r := inside(t, "frontier", "retry", flag, "--host", host, dir)
		r.want(t, cli.ExitDone)
		if wanted := min(1, 3-i); !strings.HasPrefix(r.out, itoa(wanted)+" URL") {
			t.Errorf("--host %s: %q", host, r.out)
		}
	}
}

func TestRetryOfARunningCrawlSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	defer openedDir(t, dir).Close()
	inside(t, "frontier", "retry", dir).want(t, cli.ExitFailed, "another process has the frontier open", "stop the crawl first", "curtsy status "+word(dir))
}

func TestRetryOfNoCrawlIsAUsageError(t *testing.T) {
	t.Parallel()
	inside(t, "frontier", "retry", t.TempDir()).want(t, cli.ExitUsage, "holds no crawl")
	inside(t, "frontier", "retry").want(t, cli.ExitUsage, "takes one crawl directory")
	inside(t, "frontier", "retri").want(t, cli.ExitUsage, "did you mean retry?")
}
