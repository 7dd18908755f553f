package freshness

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// madeUp is a simulated host: the times of changes of its pages, in days, and their average rates.
type madeUp struct {
	name    string
	changes [][]float64
	rates   []float64
}

const (
	simPages = 200
	simDays  = 120
	simFrom  = 30 // first day that counts
	simStep  = 1. / 24
)

func poisson(rng *rand.Rand, rate float64) (at []float64) {
	for t := rng.ExpFloat64() / rate; t < simDays; t += rng.ExpFloat64() / rate {
		at = append(at, t)
	}
	return at
}

// gamma samples a Gamma distribution (Marsaglia and Tsang 2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1./3
	for {
		x := rng.NormFloat64()
		v := 1 + x/math.Sqrt(9*d)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// bursts is a page with ten times as many changes in two days of twenty, and few in the others: not a Poisson process.
func bursts(rng *rand.Rand, rate float64) (at []float64) {
	shift := 20 * rng.Float64()
	for t := 0.; t < simDays; {
		quiet := math.Mod(t+shift, 20) >= 2
		now := rate * 10 * 0.95
		if quiet {
			now = rate * 0.05
		}
		if t += rng.ExpFloat64() / now; quiet == (math.Mod(t+shift, 20) >= 2) && t < simDays {
			at = append(at, t)
		}
	}
	return at
}

func madeUpHosts(seed uint64) []madeUp {
	kinds := []struct {
		name string
		rate func(*rand.Rand) float64
		make func(*rand.Rand, float64) []float64
	}{
		{"gamma rates", func(r *rand.Rand) float64 { return gamma(r, 0.5) / 7 }, poisson},
		{"lognormal rates", func(r *rand.Rand) float64 { return math.Exp(-3 + 1.8*r.NormFloat64()) }, poisson},
		{"a news site", func(r *rand.Rand) float64 {
			if r.Float64() < 0.05 {
				return 20
			}
			return 0.01
		}, poisson},
		{"all alike", func(*rand.Rand) float64 { return 0.2 }, poisson},
		{"bursts", func(r *rand.Rand) float64 { return gamma(r, 0.5) / 7 }, bursts},
		{"half never", func(r *rand.Rand) float64 {
			if r.Float64() < 0.5 {
				return 1e-9
			}
			return 0.3
		}, poisson},
	}
	var hosts []madeUp
	for i, k := range kinds {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		h := madeUp{name: k.name}
		for range simPages {
			rate := math.Max(k.rate(rng), 1e-9)
			h.rates = append(h.rates, rate)
			h.changes = append(h.changes, k.make(rng, rate))
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// watching simulates visits by a plan, and measures freshness.
type watching struct {
	host    madeUp
	last    []float64 // last visit
	phase   []float64 // elapsed part of the first interval, so that not all pages are due at once
	next    []int     // first change after the last visit
	fresh   float64   // page days
	visits  int
	perDay  []int
	history []History
}

func watch(h madeUp, budget float64, plan func(w *watching, now float64) []Interval) *watching {
	n := len(h.changes)
	w := &watching{host: h, last: make([]float64, n), next: make([]int, n), perDay: make([]int, simDays+1), history: make([]History, n)}
	w.phase = make([]float64, n)
	for i := range w.history {
		w.history[i].Visit(moment(0), false, time.Time{})
		w.phase[i] = math.Mod(float64(i)*math.Phi, 1)
	}
	var intervals []Interval
	for step := 1; float64(step)*simStep < simDays; step++ {
		now := float64(step) * simStep
		if step%24 == 1 {
			intervals = plan(w, now)
		}
		var due []int
		for i := range intervals {
			if w.overdue(i, intervals, now) >= 1 {
				due = append(due, i)
			}
		}
		slices.SortFunc(due, func(a, b int) int { return cmp.Compare(w.overdue(b, intervals, now), w.overdue(a, intervals, now)) })
		for _, i := range due {
			if budget > 0 && float64(w.perDay[int(now)]) >= budget {
				break
			}
			w.visit(i, now)
		}
	}
	for i := range w.last {
		w.count(i, simDays)
	}
	return w
}

func (w *watching) overdue(i int, all []Interval, now float64) float64 {
	return (now-w.last[i]+simStep/2)/Days(all[i].Every) + w.phase[i]
}

func moment(days float64) time.Time { return begin.Add(time.Duration(days * float64(day))) }

func (w *watching) count(i int, now float64) {
	end := now
	if at := w.next[i]; at < len(w.host.changes[i]) {
		end = math.Min(end, w.host.changes[i][at])
	}
	w.fresh += math.Max(end-math.Max(w.last[i], simFrom), 0)
}

func (w *watching) visit(i int, now float64) {
	w.count(i, now)
	changed := false
	for ; w.next[i] < len(w.host.changes[i]) && w.host.changes[i][w.next[i]] <= now; w.next[i]++ {
		changed = true
	}
	w.history[i].Visit(moment(now), changed, time.Time{})
	w.last[i], w.phase[i] = now, 0
	if now >= simFrom {
		w.visits++
	}
	w.perDay[int(now)]++
}

func (w *watching) freshness() float64 { return w.fresh / simPages / (simDays - simFrom) }

func (w *watching) cost() float64 { return float64(w.visits) / (simDays - simFrom) }

// estimated is curtsy's plan, from the visits.
func estimated(p Policy, budget float64) func(*watching, float64) []Interval {
	var pages []Page
	var seen []int
	return func(w *watching, _ float64) []Interval {
		if pages == nil {
			pages, seen = make([]Page, len(w.history)), make([]int, len(w.history))
		}
		for i := range pages {
			if h := &w.history[i]; h.Visits != seen[i] {
				pages[i], seen[i] = Page{Rate: h.Rate(Unknown), Quick: h.Rate(Quick)}, h.Visits
			}
		}
		return p.Allot(pages, budget)
	}
}

// known is the plan with known rates.
func known(p Policy, rates []float64, budget float64) func(*watching, float64) []Interval {
	pages := make([]Page, simPages)
	for i, r := range rates {
		pages[i].Rate = r
	}
	all := p.Allot(pages, budget)
	return func(*watching, float64) []Interval { return all }
}

func fixed(every float64) func(*watching, float64) []Interval {
	all := make([]Interval, simPages)
	for i := range all {
		all[i].Every = time.Duration(every * float64(day))
	}
	return func(*watching, float64) []Interval { return all }
}

// Within a week, idle budget finds a fast page among 50 and its rate. The others, with a change in 100 days, get fewer visits.
func TestSimulation_IdleBudgetFindsAFastPage(t *testing.T) {
	for _, c := range []struct{ rate, visits float64 }{{24, 22}, {4, 7}} {
		rng := rand.New(rand.NewPCG(1, 1))
		h := madeUp{name: "one fast page"}
		for i := range 50 {
			rate := 0.01
			if i == 0 {
				rate = c.rate
			}
			h.changes = append(h.changes, poisson(rng, rate))
		}
		var of []int // visits of the fast page before each day
		plan := estimated(Policy{}, 900)
		w := watch(h, 900, func(w *watching, now float64) []Interval {
			of = append(of, w.history[0].Visits)
			return plan(w, now)
		})
		seventh, last := of[7]-of[6], of[len(of)-1]-of[len(of)-2]
		t.Logf("%v changes a day: %d visits on day 7, %d on the last; of all pages %v", c.rate, seventh, last, w.perDay[:40])
		assert.GreaterOrEqual(t, float64(min(seventh, last)), c.visits, "visits on day 7 and on the last")
		assert.LessOrEqual(t, w.perDay[simDays-1]-last, 25, "visits a day of pages that hardly ever change")
	}
}

// docs/guides/watch.md has the result.
func TestSimulation_FreshnessAtEqualCost(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes for long under the race detector")
	}
	p := Policy{Min: time.Hour, Max: 60 * day, Enough: 0.95}
	var table strings.Builder
	var sums [2]float64 // fixed, ours
	fmt.Fprintf(&table, "\n| host | budget | visits made | fixed interval | curtsy | known rates |\n|---|---:|---:|---:|---:|---:|\n")
	for i, h := range madeUpHosts(1) {
		for j, budget := range []float64{10, 40} {
			if i%2 != j && os.Getenv("CURTSY_LONG") == "" {
				continue // each host with one of them
			}
			ours := watch(h, budget, estimated(p, budget))
			even := watch(h, 0, fixed(simPages/ours.cost()))
			best := watch(h, 0, known(Policy{Min: time.Hour, Max: 10_000 * day, Enough: 0.9999}, h.rates, ours.cost()))
			fmt.Fprintf(&table, "| %s | %.0f | %.1f | %.3f | %.3f | %.3f |\n", h.name, budget, ours.cost(), even.freshness(), ours.freshness(), best.freshness())
			sums[0] += even.freshness()
			sums[1] += ours.freshness()
			if ours.freshness() < even.freshness()-0.03 || ours.freshness() < 0.94*best.freshness() || math.Abs(even.cost()-ours.cost()) > 0.02*ours.cost() {
				t.Errorf("%s: curtsy %.3f, fixed %.3f for %.1f visits a day, known %.3f", h.name, ours.freshness(), even.freshness(), even.cost(), best.freshness())
			}
			for d, n := range ours.perDay {
				assert.LessOrEqualf(t, float64(n), budget, "%s: %d visits on day %d", h.name, n, d)
			}
		}
	}
	t.Log(table.String())
	assert.Greater(t, sums[1], sums[0], "curtsy's plan, and fixed intervals")
}
