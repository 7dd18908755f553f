package simulation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// counter is a recorder and a ledger that only count.
type counter struct{ records, lines, commits atomic.Int64 }

func (c *counter) Record(context.Context, storage.Record) (storage.Receipt, error) {
	c.records.Add(1)
	return storage.Receipt{ID: "record"}, nil
}

func (c *counter) Refuse(context.Context, storage.Line) error { return nil }

func (c *counter) Sync(context.Context) error { return nil }

// countedLedger is the other half of a counter: both have a Sync.
type countedLedger struct{ *counter }

func (l countedLedger) Begin(context.Context) error { return nil }

func (l countedLedger) Append(context.Context, storage.Line) error {
	l.lines.Add(1)
	return nil
}

func (l countedLedger) Sync(context.Context) error {
	l.commits.Add(1)
	return nil
}

// leaseLength is shorter than by default. Each turn has a timer that ends it before its lease does. Within a bubble a
// timer that has been stopped is kept until its time comes: with leases of 40 minutes that would be the greater part of
// the heap.
const leaseLength = 3 * time.Minute

// play is a crawl of a world.
type play struct {
	w       *world
	workers int
	lasts   time.Duration // zero: until the frontier is drained

	referee    *referee
	sink       counter
	summary    crawler.Summary
	stats      frontier.Stats
	virtual    time.Duration
	wall       time.Duration
	goroutines int64
	heap       uint64
	file       int64
}

// run crawls the world in a bubble of its own.
func (p *play) run(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frontier")
	began := monotonic()
	synctest.Test(t, func(t *testing.T) { p.crawl(t, path) })
	p.wall = monotonic() - began
	if s, err := os.Stat(path); err == nil {
		p.file = s.Size()
	}
}

// monotonic is called outside of bubbles.
func monotonic() time.Duration { return time.Since(processStart) }

var processStart = time.Now()

func (p *play) crawl(t *testing.T, path string) {
	ctx := t.Context()
	p.referee = newReferee(p.w)
	before := runtime.NumGoroutine()
	sink := countedLedger{&p.sink}
	front, err := bolt.Open(path, frontier.Options{
		Barrier: record.Barrier(&p.sink, sink), Pace: crawler.Floor, LeaseLength: leaseLength,
	})
	require.NoError(t, err)
	defer front.Close()
	var seeds []frontier.Candidate
	for i := range p.w.roots {
		u, err := canon.Parse(nameOf(i) + "/p/0")
		require.NoError(t, err)
		seeds = append(seeds, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
	}
	if _, err := front.Add(ctx, seeds); err != nil {
		t.Fatal(err)
	}
	c, err := crawler.New(ctx, crawler.Config{
		Frontier: front, Fetcher: &fetcher{w: p.w, r: p.referee}, Recorder: &p.sink, Ledger: sink,
		Identity: fetch.Identity{Version: "1", Contact: "mailbox@simulation.example.net"},
		Scope:    scope.Config{Mode: scope.ModeAny, Traps: map[string]int{"depth": 0}},
		Workers:  p.workers, MaxTime: p.lasts, MaxWait: 3 * time.Hour,
	})
	require.NoError(t, err)
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() { defer close(watched); p.watch(over, int64(before)) }()
	start := time.Now()
	p.summary, err = c.Run(ctx)
	p.virtual = time.Since(start)
	close(over)
	<-watched
	require.NoError(t, err)
	if p.stats, err = front.Stats(ctx); err != nil {
		t.Fatal(err)
	}
}

// watch looks at memory and goroutines, now and then in virtual time.
func (p *play) watch(over <-chan struct{}, before int64) {
	every := max(p.lasts/500, 200*time.Millisecond)
	timer := time.NewTicker(every)
	defer timer.Stop()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		metrics.Read(sample)
		p.heap = max(p.heap, sample[0].Value.Uint64())
		p.goroutines = max(p.goroutines, int64(runtime.NumGoroutine())-before)
		select {
		case <-timer.C:
		case <-over:
			return
		}
	}
}

// table is the summary for people.
func (p *play) table() string {
	r, t := p.referee, p.referee.tally
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	b.WriteString("\n| figure | value |\n|---|---|\n")
	row("hosts in the world / asked", "%d / %d", len(p.w.hosts), t.HostsMet)
	row("workers / most exchanges at once", "%d / %d", p.workers, t.MostAtOnce)
	row("virtual time, ended by", "%v, %s", p.virtual.Round(time.Second), p.summary.EndedBy)
	row("exchanges: all / robots.txt / pages / retries of pages", "%d / %d / %d / %d", t.Exchanges, t.Robots, t.Pages, t.Retries)
	row("pages: fetched / redirected / gone", "%d / %d / %d", t.Fetched, t.Moved, t.Missing)
	row("URLs: discovered / disallowed / failed / pending at the end", "%d / %d / %d / %d", p.stats.Discovered,
		p.stats.Outcomes[frontier.Disallowed], p.stats.Outcomes[frontier.Failed], p.stats.Queued+p.stats.Deferred)
	row("hosts parked / retired / refused at the end", "%d / %d / %d", p.stats.Parked, p.stats.Retired, p.stats.Refused)
	row("exchanges that failed, 429 and 5xx included / with Retry-After", "%d / %d", t.Faults, t.RetryAfter)
	row("gaps judged / too short / before Retry-After was over", "%d / %d / %d", t.Gaps, t.Short, t.Undercut)
	row("two at once / before robots.txt / disallowed / fetched twice", "%d / %d / %d / %d", t.Overlapping, t.BeforeRules, t.Forbidden, t.Repeated)
	row("wait of a host that is due: median / 99 % / 99.9 % / longest", "%v / %v / %v / %v",
		r.percentile(50), r.percentile(99), r.percentile(99.9), t.LongestWait)
	row("achieved ÷ permitted rate, of hosts with something to do", "%.4f", p.rate())
	row("peak live heap / goroutines", "%.0f MiB / %d", float64(p.heap)/(1<<20), p.goroutines)
	row("commits / file", "%d / %.0f MiB", p.sink.commits.Load(), float64(p.file)/(1<<20))
	row("wall time / per exchange", "%v / %v", p.wall.Round(100*time.Millisecond), (p.wall / time.Duration(max(t.Exchanges, 1))).Round(100*time.Nanosecond))
	return b.String()
}

// rate is the time that turns had to take, by the time that they took.
func (p *play) rate() float64 {
	if p.referee.taken == 0 {
		return 0
	}
	return float64(p.referee.permitted) / float64(p.referee.taken)
}

// judge fails the test if a rule was broken, or if crawler and referee count differently.
func (p *play) judge(t *testing.T) {
	t.Helper()
	for _, s := range p.referee.said {
		t.Error(s)
	}
	y := p.referee.tally
	if n := y.Short + y.Undercut + y.Overlapping + y.BeforeRules + y.Forbidden + y.Repeated; n > 0 {
		t.Errorf("%d breaches in %d exchanges: %+v", n, y.Exchanges, y)
	}
	o := p.stats.Outcomes
	if o[frontier.Fetched] != y.Fetched || o[frontier.Redirected] != y.Moved || o[frontier.Gone] != y.Missing {
		t.Errorf("outcomes are %v, the referee saw %+v", o, y)
	}
	sum := p.stats.Queued + p.stats.InFlight + p.stats.Deferred
	for _, n := range o {
		sum += n
	}
	assert.Equalf(t, p.stats.Discovered, sum, "the parts sum to %d, discovered are %d", sum, p.stats.Discovered)
	// One for each exchange that there may be, those that are slow and hold no place among them (package inflight).
	if most := int64(record.NewLimiter(p.workers).Most() + 16); p.goroutines > most {
		t.Errorf("%d goroutines for %d workers and %d hosts", p.goroutines, p.workers, len(p.w.hosts))
	}
}
