package main

import (
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/hostile"
)

// All that misbehaves, over real sockets, in a process of its own: the crawl ends, and its memory stays bounded.
func TestHostileWingInBoundedMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it measures memory")
	}
	const most = 256 << 20
	sites := hostile.Sites(2 * time.Second)
	web := crawltest.New(sites...)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
	}()
	args := []string{"crawl", "--quiet", "--delay", "0", "--max-wait", "1s", "--max-per-host", "100", "--dir", t.TempDir() + "/wing"}
	for _, s := range sites {
		args = append(args, web.LoopbackURL(s.Name))
	}
	cmd := curtsy(t, args...)
	held := tellingPeak(t, cmd)
	r := ended(t, cmd)
	r.want(t, cli.ExitIncomplete)
	peak := held()
	t.Logf("at most %d MiB", peak>>20)
	if (peak == 0 || peak > most) && !racing {
		t.Errorf("at most %d MiB in memory, want no more than %d", peak>>20, most>>20)
	}
	// A host that failed rests for longer than --max-wait: what is left of it is not held against the crawl.
	report := web.Referee().Judge(crawltest.Rules{Partial: true})
	var table strings.Builder
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if !report.OK() {
		t.Errorf("the referee:\n%s", &table)
	}
	for _, row := range report.Rows {
		if strings.HasPrefix(string(row.Rule), "hostile: ") && row.Verdict != crawltest.Kept {
			t.Errorf("%s: %s, %s", row.Rule, row.Verdict, row.Evidence)
		}
	}
}
