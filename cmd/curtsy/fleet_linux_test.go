package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/frontier/frontiertest"
)

// Members that are killed or stopped for longer than the time after which others expire them, and a server that is killed,
// cost no page and no delay. The audit of all members finds nothing, and that of all but one names it.
//
// Each of three mutants was seen to fail in full size: MayAsk always nil, no member row in F0, no gate in B3.
func TestFleet_KillsAndStops(t *testing.T) {
	t.Parallel()
	const ttl, members = 3 * time.Second, 4
	kills, pages := 1, 30
	if full() {
		kills, pages = 6, 200
	}
	server := frontiertest.Start(t)
	f := newFleet(t, server, members, pages, fleetTTL+"="+ttl.String())
	var incidents []time.Time
	for i := range 2 * kills {
		f.until(t, 60)
		if full() {
			time.Sleep(3700 * time.Millisecond)
		}
		n := i % members
		f.resumeLost(t, n, false)
		incidents = append(incidents, time.Now())
		if p := f.members[n]; i%2 == 0 {
			p.kill()
			f.resume(t, n)
		} else {
			_ = p.cmd.Process.Signal(syscall.SIGSTOP) // it may be over
			time.Sleep(ttl * 3 / 2)
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
		}
		if i%4 == 1 {
			f.until(t, 20)
			incidents = append(incidents, time.Now())
			server.Stop()
			server.Restart(t)
		}
	}
	f.complete(t, pages, incidents...)
	if full() && f.stale == 0 {
		t.Error("no result was stale")
	}
	t.Logf("%d incidents, %d stale results", len(incidents), f.stale)
	r := ended(t, curtsy(t, append([]string{"audit"}, f.dirs[:members-1]...)...))
	if lost := fmt.Sprintf("that of w%d (", members); r.code != cli.ExitFound || strings.Count(r.out, "member-missing") == 0 || !r.says(lost) {
		t.Errorf("without one: exit code %d: %s%s", r.code, r.out, r.err)
	}
}
