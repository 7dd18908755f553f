package simulation

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const (
	satisfied = 0.98 // of the permitted rate
	latency   = 20 * time.Millisecond
)

// saturated is a web of equal hosts without faults, all due at the first instant.
func saturated(hosts, pages, workers int) *play {
	return &play{w: even(hosts, pages, latency), workers: workers, lasts: 2 * time.Minute}
}

// window is from the start of the first exchange to that of the last.
func (p *play) window() time.Duration {
	return time.Duration(p.referee.lastStart - p.referee.firstStart)
}

// With workers enough the hosts are the limit: permitted are hosts ÷ (pace + exchange time). The first exchange of a host
// ends no pause, and so does not count as achieved.
func TestRule09_TheAchievedRateIsThePermittedOneWhenHostsAreTheLimit(t *testing.T) {
	hosts, workers := 100_000, 32_000
	switch {
	case racing:
		hosts, workers = 300, 96
	case os.Getenv("CURTSY_LONG") == "":
		hosts, workers = 2_000, 640
	}
	const pages = 5
	p := saturated(hosts, pages, workers)
	p.run(t)
	t.Log(p.table())
	p.judge(t)
	permitted := float64(hosts) / (floor + latency).Seconds()
	strict := float64(p.referee.tally.Gaps) / p.window().Seconds()
	loose := float64(p.referee.tally.Exchanges) / p.window().Seconds()
	t.Logf("%d hosts × %d pages, %d workers: window %v, permitted %.0f/s, achieved %.0f/s = %.4f of it; the first exchange of each host counted too, %.4f",
		hosts, pages, workers, p.window(), permitted, strict, strict/permitted, loose/permitted)
	assert.GreaterOrEqualf(t, strict, satisfied*permitted, "achieved %.0f/s of %.0f/s", strict, permitted)
	if want := int64(hosts * (pages + 1)); p.referee.tally.Exchanges != want {
		t.Errorf("%d exchanges, want %d", p.referee.tally.Exchanges, want)
	}
}

// With fewer workers than the hosts could keep busy, every worker is busy all the time, and hosts take turns: none
// waits for longer than it takes to ask all others.
func TestTheAchievedRateIsWorkersByExchangeTimeWhenWorkersAreTheLimit(t *testing.T) {
	hosts, workers := 10_000, 50
	switch {
	case racing:
		hosts, workers = 300, 5
	case os.Getenv("CURTSY_LONG") == "":
		hosts, workers = 2_000, 10
	}
	const pages = 5
	p := saturated(hosts, pages, workers)
	p.run(t)
	t.Log(p.table())
	p.judge(t)
	permitted := float64(workers) / latency.Seconds()
	achieved := float64(p.referee.tally.Exchanges) / (p.window() + latency).Seconds()
	t.Logf("%d hosts × %d pages, %d workers: window %v, workers ÷ exchange time %.0f/s, achieved %.0f/s = %.4f of it",
		hosts, pages, workers, p.window(), permitted, achieved, achieved/permitted)
	assert.GreaterOrEqualf(t, achieved, satisfied*permitted, "achieved %.0f/s of %.0f/s", achieved, permitted)
	round := time.Duration(hosts/workers+1) * latency
	assert.LessOrEqualf(t, p.referee.tally.LongestWait, round, "a host that was due waited for %v; asking all others takes %v", p.referee.tally.LongestWait, round)
}
