package main

import (
	"context"
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
