package freshness

import (
	"math"
	"slices"
	"time"
)

// day is the unit of rates: changes, or visits, in a day.
const day = 24 * time.Hour

// Days converts d to days.
func Days(d time.Duration) float64 { return float64(d) / float64(day) }

// History summarises the visits of one page. The zero value is of an unvisited page.
type History struct {
	First, Last time.Time // the first and the last visit that showed the page
	Visits      int       // that showed the page
	Changes     int       // visits with a change since the previous one

	still   float64   // U: days without a change
	dated   float64   // d: changes at a known time
	between []between // visits with changes at an unknown time
}

// between counts visits by the time since the previous one. Similar times share an element, which bounds the size of a history.
type between struct {
	octave int // times from 2^(octave/4) seconds
	visits float64
	days   float64 // total
}

// Visit adds a visit, later than all before, that showed the page. modified is its Last-Modified, which counts if it is
// between the two visits, and at the first visit as one change.
func (h *History) Visit(at time.Time, changed bool, modified time.Time) {
	before := h.Last
	if h.Visits > 0 && !at.After(before) {
		return
	}
	known := !modified.IsZero() && modified.Before(at)
	if h.Visits == 0 {
		h.First = at
		if known && modified.After(at.Add(-longestStill)) {
			h.dated, h.still = 1, Days(at.Sub(modified))
		}
	}
	h.Last = at
	h.Visits++
	if h.Visits == 1 {
		return
	}
	span := at.Sub(before)
	switch {
	case !changed:
		h.still += Days(span)
		return
	case known && modified.After(before):
		h.dated++
		h.still += Days(at.Sub(modified))
	default:
		h.undated(span)
	}
	h.Changes++
}

// longestStill bounds the age of a Last-Modified before the first visit.
const longestStill = 10 * 365 * day

// Listed adds a sitemap's lastmod. It counts only before the first visit, and if no response had such a time.
func (h *History) Listed(modified time.Time) {
	if h.Visits == 0 || h.dated > 0 || !modified.Before(h.First) || modified.Before(h.First.Add(-longestStill)) {
		return
	}
	h.dated, h.still = 1, h.still+Days(h.First.Sub(modified))
}

func (h *History) undated(span time.Duration) {
	octave := int(math.Floor(4 * math.Log2(math.Max(span.Seconds(), 1))))
	for i := range h.between {
		if b := &h.between[i]; b.octave == octave {
			b.visits, b.days = b.visits+1, b.days+Days(span)
			return
		}
	}
	h.between = append(h.between, between{octave, 1, Days(span)})
}

// A Prior is the Gamma distribution of a page's rate before its first visit, with a mean of Events/Days.
type Prior struct {
	Events float64 // a: number of changes
	Days   float64 // b: in how many days
}

// Unknown is the prior of most pages: one change in two weeks, with the weight of half a change. It is wide, as rates are (Cho
// and Garcia-Molina 2003; Fetterly et al., "A large-scale study of the evolution of Web pages", WWW 2003): nine tenths of its
// weight are between one change in ten years and one in 3.6 days.
var Unknown = Prior{Events: 0.5, Days: 7}

// Quick is the prior for idle budget: any page may change hourly until its visits show otherwise. The intervals for a page that
// never changes grow, each to about half of the time since its first visit.
var Quick = Prior{Events: 1, Days: 1. / 24}

// Said returns the prior of a page with a changefreq in a sitemap, with the weight of one change; Unknown for other words.
func Said(frequency string) Prior {
	every := map[string]float64{
		"always": 1. / 24, "hourly": 1. / 24, "daily": 1, "weekly": 7, "monthly": 30, "yearly": 365, "never": 10 * 365,
	}[frequency]
	if every == 0 {
		return Unknown
	}
	return Prior{Events: 1, Days: every}
}

// The range of possible rates in changes per day: one in 100 years to one in 9 seconds.
const (
	leastRate = 1 / (100 * 365.)
	mostRate  = 10_000
)

// Rate returns the mean of the posterior rate in changes per day.
func (h *History) Rate(p Prior) float64 {
	a, b := p.Events+h.dated, p.Days+h.still
	if len(h.between) == 0 && a > 0 && b > 0 {
		return min(max(a/b, leastRate), mostRate) // the posterior is a Gamma distribution
	}
	low, high := h.weighty(a, b)
	return h.mean(a, b, low, high)
}

// The posterior is evaluated twice: to find its range, and closely in that range.
const (
	coarsePoints = 48
	finePoints   = 64
	negligible   = 25 // e^(−25) of the maximum
)

// weighty returns the range of ln λ with the weight of the posterior.
func (h *History) weighty(a, b float64) (low, high float64) {
	first, last := math.Log(leastRate), math.Log(mostRate)
	step := (last - first) / coarsePoints
	low, high = last, first
	for i, l := range h.logs(a, b, first, step, coarsePoints) {
		if x := first + step*float64(i); l > -negligible {
			low, high = min(low, x-step), max(high, x+step)
		}
	}
	return max(low, first), min(high, last)
}

// mean returns the mean of the posterior between two values of ln λ.
func (h *History) mean(a, b, low, high float64) float64 {
	step := (high - low) / finePoints
	var weights, sum float64
	for i, l := range h.logs(a, b, low, step, finePoints) {
		w := math.Exp(l)
		weights += w
		sum += w * math.Exp(low+step*float64(i))
	}
	return sum / weights
}

// logs returns the log density of the posterior at evenly spaced values of x = ln λ, relative to its maximum.
func (h *History) logs(a, b, first, step float64, points int) []float64 {
	all := make([]float64, points+1)
	for i := range all {
		x := first + step*float64(i)
		rate := math.Exp(x)
		all[i] = a*x - b*rate // with the Jacobian: dλ = λ·dx
		for _, w := range h.between {
			all[i] += w.visits * math.Log(-math.Expm1(-rate*w.days/w.visits))
		}
	}
	most := slices.Max(all)
	for i := range all {
		all[i] -= most
	}
	return all
}
