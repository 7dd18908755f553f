//go:build peers

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier/frontiertest"
)

// Figures of a fleet: compared with one process on the same processors, and with the permitted rate.
func TestPeers_FleetFigures(t *testing.T) {
	if !full() {
		t.Skip("figures are measured by .ci/long fleet")
	}
	crawl := func(server *frontiertest.Server, members, hosts, pages int, robots string) (rate float64) {
		sites := make([]*crawltest.Site, hosts)
		for i := range sites {
			sites[i] = crawltest.Tree("host"+itoa(i)+".test", pages)
			sites[i].Robots.Body = "User-agent: *\n" + robots
		}
		f := fleetOf(t, server, members, sites, hosts)
		var last time.Time
		for _, p := range f.members {
			p.end().want(t, cli.ExitDone)
		}
		all := f.web.Referee().Requests()
		for _, r := range all {
			if r.End.After(last) {
				last = r.End
			}
		}
		return float64(hosts*pages) / last.Sub(all[0].Start).Seconds()
	}
	server := frontiertest.Start(t)
	one, four := crawl(nil, 1, 40, 150, ""), crawl(server, 4, 40, 150, "")
	t.Logf("40 hosts x 150 pages without a delay: one process %.0f pages/s, four %.0f: %.2f of it; server CPU %v per page",
		one, four, four/one, server.CPU()/(40*150))
	one, four = crawl(nil, 1, 400, 20, "Crawl-delay: 1\n"), crawl(frontiertest.Start(t), 4, 400, 20, "Crawl-delay: 1\n")
	t.Logf("400 hosts x 20 pages, delay 1 s: one process %.3f of the permitted rate, four %.3f", one/400, four/400)
}

// Killed and stopped members, broken connections and a killed server cost no page and no delay. The audit of all members finds
// nothing, that of all but one names it, and it finds one exchange that is moved. frontier/postgres has the rules in virtual time.
func TestPeers_FleetKilled(t *testing.T) {
	t.Parallel()
	const ttl, members = 3 * time.Second, 4
	kills, pages := 1, 24
	if full() {
		kills, pages = 6, 200
	}
	server := frontiertest.Start(t)
	f := newFleet(t, server, members, pages, fleetTTL+"="+ttl.String())
	for i := range 2 * kills {
		f.until(t, 60)
		if full() {
			time.Sleep(3700 * time.Millisecond)
		}
		n := i % members
		f.resumeLost(t, n, false)
		f.incident(t, server)
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
			f.incident(t, server)
			server.SQL(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='curtsy'")
			f.until(t, 20)
			f.incident(t, server)
			server.Stop()
			server.Restart(t)
		}
	}
	f.complete(t, pages)
	if f.stale == 0 && full() { // stopped members may have no requests in flight
		t.Error("no result was stale")
	}
	t.Logf("%d incidents, %d stale results", f.incidents, f.stale)
	r := ended(t, curtsy(t, append([]string{"audit"}, f.dirs[:members-1]...)...))
	if lost := fmt.Sprintf("that of w%d (", members); r.code != cli.ExitFound || strings.Count(r.out, "member-missing") == 0 || !r.contains(lost) {
		t.Errorf("without one: exit code %d: %s%s", r.code, r.out, r.err)
	}

	var segment, before, behind string
	for found, i := false, 0; !found; i++ { // a member that was expired early may have requested nothing
		segment = inDir(f.dirs[i], filepath.Join(crawldir.LedgerName, "000000.jsonl"))
		text := string(fileOf(t, segment))
		if at := strings.LastIndex(text, `"began":"`); at >= 0 {
			at += len(`"began":"`)
			before, behind, found = text[:at], text[at:], true
		}
	}
	began, rest, _ := strings.Cut(behind, `"`)
	at, err := time.Parse(time.RFC3339, began)
	require.NoError(t, err)
	moved := before + at.Add(-200*time.Millisecond).Format("2006-01-02T15:04:05.000000Z") + `"` + rest
	require.NoError(t, os.WriteFile(segment, []byte(moved), 0o666))
	if r := ended(t, curtsy(t, append([]string{"audit"}, f.dirs...)...)); r.code != cli.ExitFound {
		t.Errorf("one exchange is 200 ms earlier: exit code %d: %s%s", r.code, r.out, r.err)
	}
}
