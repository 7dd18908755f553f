package freshness

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// visited returns a history of evenly spaced visits, the first at begin, with or without changes.
func visited(days float64, changed ...bool) *History {
	var h History
	h.Visit(begin, false, time.Time{})
	for i, c := range changed {
		h.Visit(begin.Add(time.Duration(float64(i+1)*days*float64(day))), c, time.Time{})
	}
	return &h
}

func near(a, b, within float64) bool {
	return math.Abs(a-b) <= within*math.Max(math.Abs(a), math.Abs(b))
}

// With regular visits and a flat prior the density is e^(−bλ)·(1−e^(−λ)), whose mean is (1/b² − 1/(b+1)²) / (1/b − 1/(b+1)).
func TestRate_IsTheMeanOfThePosterior(t *testing.T) {
	flat := Prior{Events: 1, Days: 0}
	for still := 1; still <= 20; still++ {
		changed := make([]bool, still+1)
		changed[0] = true
		b := float64(still)
		want := (1/(b*b) - 1/((b+1)*(b+1))) / (1/b - 1/(b+1))
		got := visited(1, changed...).Rate(flat)
		assert.Truef(t, near(got, want, 0.005), "one change in %d visits: %g, want %g", still+1, got, want)
	}
	// without a change the posterior is Gamma(a, b+U)
	if got, want := visited(2, false, false, false).Rate(Unknown), 0.5/13; !near(got, want, 1e-9) {
		t.Errorf("no change in 6 days: %g, want %g", got, want)
	}
}

// Cho and Garcia-Molina 2003, figure 8: the naive X/T is bounded by the rate of visits, the estimator is not.
func TestRate_FindsTheRateFromIrregularVisits(t *testing.T) {
	for rate, within := range map[float64]float64{0.02: 0.1, 0.1: 0.1, 0.5: 0.1, 2: 0.1, 5: 0.25} { // the prior pulls at the fast ones
		sum, n := 0., 200
		for i := range n {
			rng := rand.New(rand.NewPCG(uint64(i), math.Float64bits(rate)))
			var h History
			at, next := 0., rng.ExpFloat64()/rate
			h.Visit(begin, false, time.Time{})
			for range 300 {
				at += 0.2 + rng.Float64()*0.8
				changed := next <= at
				for next <= at {
					next += rng.ExpFloat64() / rate
				}
				h.Visit(begin.Add(time.Duration(at*float64(day))), changed, time.Time{})
			}
			sum += h.Rate(Unknown)
			require.LessOrEqualf(t, len(h.between), 12, "a history of %d spans", len(h.between))
		}
		mean := sum / float64(n)
		assert.Truef(t, near(mean, rate, within), "rate %g: %g on the average", rate, mean)
	}
}

func TestRate_IsFiniteAndAboveZero(t *testing.T) {
	always, never := make([]bool, 500), make([]bool, 500)
	for i := range always {
		always[i] = true
	}
	often, seldom := visited(1, always...).Rate(Unknown), visited(1, never...).Rate(Unknown)
	assert.Truef(t, often >= 2 && often <= 10 && seldom > 0 && seldom <= 0.001, "%g and %g", often, seldom)
	odd := (&History{}).Rate(Prior{})
	assert.Truef(t, !math.IsNaN(odd) && odd >= leastRate && odd <= mostRate, "nothing at all: %g", odd)
}

func TestRate_GrowsWithChangesAndFallsWithTime(t *testing.T) {
	last := 0.
	for n := range 12 {
		changed := make([]bool, 12)
		for i := range n {
			changed[i] = true
		}
		r := visited(3, changed...).Rate(Unknown)
		assert.Greaterf(t, r, last, "%d changes: %g, not more than %g", n, r, last)
		last = r
	}
	last = math.Inf(1)
	for n := range 12 {
		r := visited(3, append([]bool{true}, make([]bool, n)...)...).Rate(Unknown)
		assert.Lessf(t, r, last, "%d visits without a change: %g, not less than %g", n, r, last)
		last = r
	}
}

// Last-Modified dates a change (section 5), unless it is impossible.
func TestVisit_ADatedChangeSaysMore(t *testing.T) {
	rate := func(modified time.Duration) float64 {
		var h History
		h.Visit(begin, false, time.Time{})
		h.Visit(begin.Add(10*day), true, begin.Add(modified))
		return h.Rate(Unknown)
	}
	plain := visited(10, true).Rate(Unknown)
	if early, late := rate(day), rate(9*day); early >= plain || late <= early {
		t.Errorf("changed on day 1: %g, on day 9: %g, not known when: %g", early, late, plain)
	}
	for _, odd := range []time.Duration{-day, 11 * day, 250 * 365 * day} {
		assert.Equalf(t, plain, rate(odd), "changed on %v", odd)
	}
	var old History
	old.Visit(begin, false, begin.Add(-3*365*day))
	r := old.Rate(Unknown)
	assert.Truef(t, near(r, 1.5/(7+3*365), 1e-9), "three years old at the first visit: %g", r)
	var listed History
	listed.Visit(begin, false, time.Time{})
	listed.Listed(begin.Add(-100 * day))
	listed.Listed(begin.Add(-10 * day))
	r = listed.Rate(Unknown)
	assert.Truef(t, near(r, 1.5/107, 1e-9), "listed as 100 days old: %g", r)
}

// The clock was set back.
func TestVisit_TimeOnlyGrows(t *testing.T) {
	h := visited(1, true, false)
	was := h.Rate(Unknown)
	h.Visit(begin, true, time.Time{})
	assert.Truef(t, h.Visits == 3 && h.Rate(Unknown) == was, "%+v", h)
}

func TestSaid_AHintCountsForOneChange(t *testing.T) {
	for frequency, every := range map[string]float64{"always": 1. / 24, "daily": 1, "never": 3650, "": 14, "often": 14} {
		p := Said(frequency)
		assert.Truef(t, near(p.Days/p.Events, every, 1e-9) && p.Events <= 1, "%q: %+v", frequency, p)
	}
	always := visited(1, make([]bool, 30)...).Rate(Said("always"))
	assert.LessOrEqual(t, always, 1./30, "a page whose sitemap claims constant changes, without one in 30 days")
}
