package simulation

import (
	"os"
	"testing"
	"time"

	"curtsy/frontier"
)

// A long crawl that is killed again and again leaves what one leaves that never was: nothing is lost or asked for twice
// beyond what was in flight, no pause is short, nothing leaks from life to life, and the audit finds nothing.
func TestRule17_ADayOfKillsLosesNothingAndLeaksNothing(t *testing.T) {
	hosts, pages, lasts, kills, workers := 400, 8_000, time.Hour, 8, 100
	switch {
	case os.Getenv("CURTSY_LONG") != "" && !racing:
		hosts, pages, lasts, kills, workers = 10_000, 400_000, 24*time.Hour, 120, 1000
	case racing && testing.Short():
		t.Skip("package trial kills crawls under the race detector")
	case testing.Short() || racing:
		hosts, pages, lasts, kills, workers = 200, 4_000, time.Hour, 6, 50
	}
	l := &lives{play: play{w: zipf(hosts, pages, lasts), workers: workers, lasts: lasts}, kills: kills}
	l.run(t)
	t.Log(l.table())
	t.Logf("%d kills cut off %d exchanges; %d pages were asked for again; live heap after the first life %d KiB, after the last %d KiB; open files %d and %d; %d octets of torn ends",
		l.killed, l.referee.tally.CutOff, l.referee.tally.Again, l.heaps[0]>>10, l.heaps[len(l.heaps)-1]>>10, l.files[0], l.files[len(l.files)-1], l.cut)
	l.judgeLives(t)
}

func (l *lives) judgeLives(t *testing.T) {
	t.Helper()
	for _, s := range l.referee.said {
		t.Error(s)
	}
	y, o := l.referee.tally, l.stats.Outcomes
	if n := y.Short + y.Undercut + y.Overlapping + y.BeforeRules + y.Forbidden + y.Repeated; n > 0 {
		t.Errorf("%d breaches in %d exchanges: %+v", n, y.Exchanges, y)
	}
	if l.killed < l.kills || y.CutOff == 0 {
		t.Errorf("%d kills of %d, %d exchanges cut off", l.killed, l.kills, y.CutOff)
	}
	if o[frontier.Fetched] != y.Fetched || o[frontier.Redirected] != y.Moved || o[frontier.Gone] != y.Missing {
		t.Errorf("outcomes are %v, the referee saw %+v", o, y)
	}
	if l.stats.Discovered == 0 || y.Fetched < int64(len(l.w.hosts))*8 {
		t.Errorf("%d URLs known, %d fetched", l.stats.Discovered, y.Fetched)
	}
	first, last := l.files[0], l.files[len(l.files)-1]
	if last > first {
		t.Errorf("%d files are open after the first life, %d after the last", first, last)
	}
	if most := l.heaps[0] + 8<<20 + uint64(64*y.Exchanges); l.heaps[len(l.heaps)-1] > most {
		t.Errorf("live heap after each life: %v", l.heaps)
	}
}
