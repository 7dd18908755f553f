package main

import (
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
)

// A host that nobody asks again before it is opened is due never, and not in 106751 days.
func TestAHostThatIsParkedForEverIsDueNever(t *testing.T) {
	t.Parallel()
	dir, web := stopped(t)
	host := strings.TrimSuffix(web.LoopbackURL("bakery.test"), "/")
	due := func() []string {
		t.Helper()
		_, queues, ok := strings.Cut(inside(t, "status", dir).out, "LONGEST QUEUES\n")
		if !ok {
			t.Fatal("status has no queues")
		}
		line, _, _ := strings.Cut(queues, "\n")
		return strings.Fields(line)
	}
	inside(t, "frontier", "pause", "--host", host, dir).want(t, cli.ExitDone)
	if f := due(); f[3] != "never" {
		t.Errorf("parked without an end: %q", f)
	}
	if r := inside(t, "status", "--json", dir); !strings.Contains(r.out, `"never_due": true`) || strings.Contains(r.out, "wait_s") {
		t.Errorf("%s", r.out)
	}
	inside(t, "frontier", "pause", "--for", "3h", "--host", host, dir).want(t, cli.ExitDone)
	if f := due(); f[3] != "2h59m" && f[3] != "3h00m" {
		t.Errorf("parked for 3 hours: %q", f)
	}
	inside(t, "frontier", "unpause", "--host", host, dir).want(t, cli.ExitDone)
	if f := due(); f[3] == "never" {
		t.Errorf("open again: %q", f)
	}
}

// After a kill the status of a crawl names the command that goes on.
func TestStatusAfterAKillNamesResume(t *testing.T) {
	t.Parallel()
	killed := status.Status{State: "stopped", Killed: true}
	const says = "curtsy resume 'my crawl'"
	if text := text.Status(killed, "my crawl", time.Now()); !strings.Contains(text, says) {
		t.Error(text)
	}
	running := killed
	running.State = "running"
	for _, s := range []status.Status{running, {State: "stopped"}} {
		if text := text.Status(s, "my crawl", time.Now()); strings.Contains(text, says) {
			t.Errorf("%+v: %s", s, text)
		}
	}
}
