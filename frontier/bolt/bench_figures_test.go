package bolt

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

var (
	showFigures  = flag.Bool("figures", false, "measure and print the table of figures, with -seen URLs and a tenth of them")
	figureRounds = flag.Int("rounds", 5, "rounds of the table of figures, of which it has the medians")
)

type figures struct {
	*testing.T
	rows [][4]string
}

// row adds a figure; bar is its maximum, or with atLeast its minimum; zero means no bar.
func (f *figures) row(name, form string, got, bar float64, atLeast bool) {
	r := [4]string{name, fmt.Sprintf(form, got), "", ""}
	if bar > 0 {
		r[2], r[3] = fmt.Sprintf("≤ "+form, bar), "pass"
		if atLeast {
			r[2] = fmt.Sprintf("≥ "+form, bar)
		}
		if got > bar && !atLeast || got < bar && atLeast {
			r[3] = "miss"
		}
	}
	f.rows = append(f.rows, r)
}

func (f *figures) print() {
	fmt.Print("\n| figure | measured | bar | |\n|---|---|---|---|\n")
	for _, r := range f.rows {
		fmt.Printf("| %s | %s | %s | %s |\n", r[0], r[1], r[2], r[3])
	}
	fmt.Println()
}

func median(cs []cost, of func(cost) float64) float64 {
	xs := make([]float64, len(cs))
	for i, c := range cs {
		xs[i] = of(c)
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}

func wall(c cost) float64   { return c.perPage(c.wall) }
func cpu(c cost) float64    { return c.perPage(c.cpu) }
func octets(c cost) float64 { return c.written() }

type measurement struct {
	seen, hosts   int
	batch, single []cost    // two workers, 32 turns to a call; one, one
	groups        []cost    // of 100 pages
	open          []float64 // seconds
	disk          float64   // octets per URL
	heap          int64
}

// TestFigures prints the figures of docs/dev/performance.md. It takes minutes, and asserts nothing.
func TestFigures(t *testing.T) {
	if !*showFigures {
		t.Skip("for the table of figures: -figures")
	}
	f := &figures{T: t}
	small, large := measure(t, *benchSeen/10), measure(t, *benchSeen)
	f.size(large)
	f.row(fmt.Sprintf("time per page at %s ÷ at %s", short(large.seen), short(small.seen)), "%.2f", median(large.batch, wall)/median(small.batch, wall), 1.5, false)
	f.row(fmt.Sprintf("reopen at %s, s", short(small.seen)), "%.2f", medianOf(small.open), reopenBar(small.seen), false)
	f.row(fmt.Sprintf("pages/s at %s", short(small.seen)), "%.0f", 1e6/median(small.batch, wall), 0, true)
	f.schedule()
	f.print()
}

func (f *figures) size(m measurement) {
	at := func(s string) string { return fmt.Sprintf("%s at %s", s, short(m.seen)) }
	f.row(at("links/s, two workers, 32 turns a call"), "%.0f", median(m.batch, cost.links), 1e6, true)
	f.row(at("pages/s, two workers, 32 turns a call"), "%.0f", 1e6/median(m.batch, wall), 20_000, true)
	f.row(at("pages/s, one worker, one turn a call"), "%.0f", 1e6/median(m.single, wall), 20_000, true)
	if _, ok := cpuTime(); ok {
		f.row(at("CPU µs per page, two workers, 32 turns a call"), "%.1f", median(m.batch, cpu), 25, false)
		f.row(at("CPU µs per page, one worker, one turn a call"), "%.1f", median(m.single, cpu), 25, false)
		f.row("CPU µs per page of the generator, not in the above", "%.1f", median(m.batch, func(c cost) float64 { return c.perPage(c.generator) }), 0, false)
	}
	f.row("pages to a commit, the engine's own groups", "%.0f", median(m.batch, func(c cost) float64 { return float64(c.pages) / float64(c.commits) }), 0, true)
	f.row("octets written per page, these groups", "%.0f", median(m.batch, octets), 500, false)
	f.row("octets written per page, groups of 100", "%.0f", median(m.groups, octets), 1500, false)
	f.row(at("octets of disk per URL"), "%.1f", m.disk, 50, false)
	f.row(at(fmt.Sprintf("live heap, MB, half pending, %s hosts", short(m.hosts))), "%.0f", float64(m.heap)/1e6, float64(16*m.seen+200*m.hosts)*200/180/1e6, false)
	f.row(at("reopen, s"), "%.2f", medianOf(m.open), reopenBar(m.seen), false)
	for _, tasks := range []int{1, 16} {
		f.row(at(fmt.Sprintf("Claim with decode, µs per task of %d", tasks)), "%.1f", claimCost(f.T, m, tasks), 0, false)
	}
}

// reopenBar is 0.4 s for a million, 2.5 s for ten million.
func reopenBar(seen int) float64 { return 0.4 + 2.1*max(float64(seen)-1e6, 0)/9e6 }

func medianOf(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return xs[len(xs)/2]
}

func short(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%gM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%gk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

func figurePath(t *testing.T, seen int) string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("curtsy-figures-%d-%d", os.Getpid(), seen))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "frontier.db")
}

// measure fills a frontier and measures it. The heap is the larger of that of a crawl, before a Close, and of an
// opening.
func measure(t *testing.T, seen int) measurement {
	m := measurement{seen: seen, hosts: *benchHosts}
	if seen != *benchSeen {
		m.hosts = *benchHosts / 10
	}
	path := figurePath(t, seen)
	before := liveHeap()
	f := opened(t, path)
	start := time.Now()
	l := &load{TB: t, f: f, web: &web{hosts: m.hosts}, seen: seen, turns: 32, tasks: 1, wait: time.Microsecond}
	l.fill()
	fmt.Printf("%s: filled in %v\n", short(seen), time.Since(start).Round(time.Second))
	l.closeHalf()
	fmt.Printf("%s: half closed after %v\n", short(seen), time.Since(start).Round(time.Second))
	m.heap = liveHeap() - before
	m.disk = diskSize(t, f) / float64(seen)
	fmt.Printf("%s: %d octets of live heap, %.1f of disk per URL\n", short(seen), m.heap, m.disk)
	l.run(chunk) // warms up
	for range *figureRounds {
		l.turns, l.workers, l.chunk = 32, 2, 5*chunk
		m.batch = append(m.batch, l.run(10*chunk))
		l.turns, l.workers = 1, 0
		m.single = append(m.single, l.run(5*chunk))
		l.turns, l.group, l.chunk = 32, 100, 0
		m.groups = append(m.groups, l.run(chunk))
		l.group = 0
	}
	for i := range *figureRounds {
		require.NoError(t, f.Close())
		start := time.Now()
		f = opened(t, path)
		m.open = append(m.open, time.Since(start).Seconds())
		if i == 0 {
			l.f = nil
			m.heap = max(m.heap, liveHeap()-before)
		}
	}
	require.NoError(t, f.Close())
	return m
}

func diskSize(t testing.TB, f *Frontier) float64 {
	tx, err := f.db.Begin(false)
	require.NoError(t, err)
	defer tx.Rollback()
	return float64(tx.Size())
}

// claimCost returns the microseconds of a Claim per task, with texts decoded from cold blocks.
func claimCost(t *testing.T, m measurement, tasks int) float64 {
	f := opened(t, filepath.Join(os.TempDir(), fmt.Sprintf("curtsy-figures-%d-%d", os.Getpid(), m.seen), "frontier.db"))
	defer f.Close()
	if _, err := f.Claim(context.Background(), frontier.Want{MaxWait: time.Hour}); err != nil { // until the pace is over
		t.Fatal(err)
	}
	n, start := 0, time.Now()
	for range min(200, m.hosts/64) { // no task is returned: some hosts must remain
		c, err := f.Claim(context.Background(), frontier.Want{Hosts: 32, Tasks: tasks, MaxWait: time.Hour})
		require.NoError(t, err)
		require.NotEmptyf(t, c.Turns, "Claim: %d turns, state %d, error %v", len(c.Turns), c.State, err)
		for _, turn := range c.Turns {
			n += len(turn.Tasks)
		}
	}
	return time.Since(start).Seconds() * 1e6 / float64(n)
}
