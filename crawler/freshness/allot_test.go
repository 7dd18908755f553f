package freshness

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var wide = Policy{Min: time.Minute, Max: 1000 * day, Enough: 0.9999}

func visits(iv Interval) float64 { return 1 / Days(iv.Every) }

// The budget is spent, and moving visits between pages does not increase the sum of freshness.
func TestAllot_IsTheOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 30 {
		pages, budget := make([]Page, 40), 5+40*rng.Float64()
		for i := range pages {
			pages[i].Rate = math.Exp(2 * rng.NormFloat64())
		}
		all := wide.Allot(pages, budget)
		fresh, spent := 0., 0.
		for i, iv := range all {
			fresh += Fresh(pages[i].Rate, visits(iv))
			spent += visits(iv)
		}
		assert.Truef(t, spent <= budget*1.0001 && spent >= budget*0.99, "%g of %g are spent", spent, budget)
		for range 200 {
			i, j := rng.IntN(len(pages)), rng.IntN(len(pages))
			fi, fj := visits(all[i]), visits(all[j])
			move := fi * 0.05
			if i == j || fi-move < 1/Days(wide.Max) {
				continue
			}
			other := fresh - Fresh(pages[i].Rate, fi) - Fresh(pages[j].Rate, fj) + Fresh(pages[i].Rate, fi-move) + Fresh(pages[j].Rate, fj+move)
			if other > fresh+1e-6 {
				t.Fatalf("%g is better than %g: %g from rate %g (%g) to %g (%g)", other, fresh, move, pages[i].Rate, fi, pages[j].Rate, fj)
			}
		}
	}
}

// Cho and Garcia-Molina 2003, table I: five pages with 1 to 5 changes a day, and five visits a day.
func TestAllot_AsInTheArticle(t *testing.T) {
	pages := []Page{{Rate: 1}, {Rate: 2}, {Rate: 3}, {Rate: 4}, {Rate: 5}}
	want := []float64{1.15, 1.36, 1.35, 1.14, 0.00}
	for i, iv := range wide.Allot(pages, 5) {
		if got := visits(iv); math.Abs(got-want[i]) > 0.006 {
			t.Errorf("rate %g: %.3f visits a day, the article has %.2f", pages[i].Rate, got, want[i])
		}
	}
}

func TestAllot_KeepsItsBounds(t *testing.T) {
	p := Policy{Min: time.Hour, Max: 10 * day}
	hostile := []Page{{Rate: math.Inf(1)}, {Rate: 1e9}, {Rate: 0}, {Rate: 1e-12}, {Rate: 1, Holds: 8000 * day}, {Rate: 1e6, Holds: time.Second}, {Rate: 50}}
	for _, budget := range []float64{0, 1, 5, 24, 1e9} {
		for i, iv := range p.Allot(hostile, budget) {
			if iv.Every < p.Min-time.Second || iv.Every > p.Max+time.Second {
				t.Errorf("budget %g, %+v: every %v", budget, hostile[i], iv.Every)
			}
		}
	}
	for _, iv := range p.Allot(make([]Page, 100), 5) { // 100 pages, 5 visits a day: one in 20 days
		assert.Truef(t, iv.Every.Round(time.Minute) == 20*day && iv.By == ByBudget, "%+v", iv)
	}
}

func TestAllot_Reasons(t *testing.T) {
	p := Policy{Min: time.Hour, Max: 10 * day, Enough: 0.8}
	for _, c := range []struct {
		page   Page
		budget float64
		every  time.Duration
		by     By
	}{
		{Page{Rate: 1e5}, 0, time.Hour, ByMin},
		{Page{Rate: 1e-5}, 0, 10 * day, ByMax},
		{Page{Rate: 1, Holds: 3 * day}, 0, 3 * day, ByHolds},
		{Page{Rate: 1, Holds: time.Minute}, 0, 11*time.Hour + 8*time.Minute, ByRate}, // r = 0.464 at F = 0.8
		{Page{Rate: 1, Holds: 8000 * day}, 0, 10 * day, ByMax},
		{Page{Rate: 1}, 1, day, ByBudget},
		{Page{Rate: 1, Quick: 24}, 0, time.Hour, ByMin},
		{Page{Rate: 1, Quick: 2}, 0, 5*time.Hour + 34*time.Minute, ByIdle},
		{Page{Rate: 1, Quick: 2}, 3, 8 * time.Hour, ByIdle},
		{Page{Rate: 1, Quick: 24}, 2, 12 * time.Hour, ByBudget},
	} {
		iv := p.Allot([]Page{c.page}, c.budget)[0]
		assert.Truef(t, iv.By == c.by && math.Abs(float64(iv.Every-c.every)) <= float64(c.every)/200, "%+v of %g: %+v, want %v by %s", c.page, c.budget, iv, c.every, c.by)
	}
}

// A lastmod in the future or before the last visit does not count.
func TestDue_AListedChangeBringsAVisitForward(t *testing.T) {
	p, iv := Policy{Min: time.Hour}, Interval{5 * day, ByRate}
	now := begin.Add(2 * day)
	for listed, want := range map[time.Duration]time.Duration{
		-day: 5 * day, 0: 5 * day, time.Minute: time.Hour, day: time.Hour, 3 * day: 5 * day, 8000 * day: 5 * day,
	} {
		if due, _ := p.Due(begin, iv, begin.Add(listed), now); due.Sub(begin) != want {
			t.Errorf("listed at %v: due at %v, want %v", listed, due.Sub(begin), want)
		}
	}
	due, by := p.Due(time.Time{}, iv, time.Time{}, now)
	assert.Truef(t, due == now && by == ByNew, "never visited: %v %s", due, by)
	if !Believed(10, 20) || !Believed(100, 1000) || Believed(11, 20) || Believed(1000, 1000) {
		t.Error("a site that lists each page as changed is believed, or one that lists few is not")
	}
}
