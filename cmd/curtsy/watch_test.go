package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	watching "curtsy/crawler/watch"
	"curtsy/storage"
)

// often makes each page due at each look, without a budget.
var often = []string{"--min-interval", "1ms", "--max-interval", "1ms", "--round-interval", "1ms", "--per-host-per-day", "1000000000"}

func watched(dir string, flags ...string) []string {
	return append(append([]string{"watch"}, flags...), dir)
}

func planOf(t *testing.T, dir string, flags ...string) map[string]watching.Entry {
	t.Helper()
	r := inside(t, watched(dir, append(flags, "--list", "--json")...)...)
	r.want(t, cli.ExitDone)
	of := map[string]watching.Entry{}
	for line := bufio.NewScanner(strings.NewReader(r.out)); line.Scan(); {
		var e watching.Entry
		require.NoError(t, json.Unmarshal(line.Bytes(), &e), line.Text())
		of[e.URL[strings.Index(e.URL[8:], "/")+8:]] = e
	}
	return of
}

// A watch that is killed several times continues: it loses no visit, and the audit finds nothing.
func TestWatch_AKillLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes")
	}
	const kills = 3
	dir, web := crawledOnce(t, crawltest.Tree("bakery.test", 12))
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for i := range kills {
		web.Change("bakery.test", func(s *crawltest.Site) {
			s.Pages = maps.Clone(s.Pages)
			p := s.Pages["/"]
			p.Text, p.Links = fmt.Sprintf("kill %d", i), append(p.Links, fmt.Sprintf("/new%d", i))
			s.Pages["/"], s.Pages[fmt.Sprintf("/new%d", i)] = p, crawltest.Page{}
		})
		before, more := len(web.Referee().Requests()), 1+rng.IntN(30)
		p := launched(t, curtsy(t, watched(dir, append(often, "--quiet")...)...))
		p.until(t, "some requests", func() bool { return len(web.Referee().Requests()) >= before+more })
		if !p.kill() {
			t.Fatalf("it ended by itself: %s", p.errs.String())
		}
		reopened(t, dir)
		agree(t, dir)
	}
	for range 2 { // what the kill left, and a whole round
		inside(t, watched(dir, append(often, "--once", "--quiet")...)...).want(t, cli.ExitDone)
	}
	of := map[string]storage.Outcome{}
	for _, l := range ledgerLinesIn(t, dir) {
		of[l.URL] = l.Outcome
	}
	base := web.LoopbackURL("bakery.test")
	for i := range kills {
		assert.Equalf(t, storage.OutcomeFetched, of[strings.TrimSuffix(base, "/")+fmt.Sprintf("/new%d", i)], "/new%d", i)
	}
	archiveClean(t, dir)
	inside(t, "audit", dir).want(t, cli.ExitDone)
}

func TestWatch_ASignalEndsItsSleep(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 2))
	p := launched(t, curtsy(t, watched(dir, "--min-interval", "2h")...))
	p.until(t, "a sleep", func() bool { return strings.Contains(p.errs.String(), "the next round is not before") })
	var st status.Status
	if r := inside(t, "status", "--json", dir); json.Unmarshal([]byte(r.out), &st) != nil || st.State != status.Watching || st.Watch == nil ||
		st.Watch.Why != "min-interval" || st.Watch.URLs == 0 || st.Watch.Next.Before(time.Now()) {
		t.Errorf("the status of a watch that sleeps: %s", r.out)
	}
	if r := inside(t, "status", dir); !strings.Contains(r.out, "watching") || !strings.Contains(r.out, "min-interval, http://") {
		t.Errorf("the status of a watch that sleeps: %s", r.out)
	}
	inside(t, watched(dir)...).want(t, cli.ExitFailed, "already being watched")
	if e := planOf(t, dir)["/"]; e.Due.Sub(e.Last) != 2*time.Hour { // as the watch has it
		t.Errorf("the plan beside the watch: %+v", e)
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	<-p.over
	if code := p.cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d: %s", code, p.errs.String())
	}
	if e := planOf(t, dir)["/"]; e.Due.Sub(e.Last) != 2*time.Hour {
		t.Errorf("the plan after it: %+v", e)
	}
	assert.NotContains(t, inside(t, "status", dir).out, "watch", "the status after it")
	inside(t, "audit", dir).want(t, cli.ExitDone)
}
