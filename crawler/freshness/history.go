package freshness

import (
	"math"
	"slices"
	"time"
)

// day is the unit of rates: changes, or visits, in a day.
const day = 24 * time.Hour

// Days is d in days.
func Days(d time.Duration) float64 { return float64(d) / float64(day) }

// History is what visits of one page told. The zero value is of a page that nobody visited.
type History struct {
	First, Last time.Time // the first and the last visit that told what is there
	Visits      int       // that told what is there
	Changes     int       // of these, with a change since the one before

	still   float64   // U: days without a change
	dated   float64   // d: changes whose time is known
	between []between // of the changes whose time is not known
}

// between is how long before its visit such a change may have been: so many visits, so many days in all. Spans of about
// the same length share one, so that the history of a page stays small however often it is visited.
type between struct {
	octave int // spans of 2^(octave/4) seconds, up to the next
	visits float64
	days   float64
}

// Visit adds a visit, later than those before, that told what is there. modified is when the server says that the page
// changed last; it counts when it lies between the two visits. Of the first visit it counts as one change, at that time.
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

// longestStill is the longest time before the first visit that a server is believed of.
const longestStill = 10 * 365 * day

// Listed adds what a list of the site says: that the page changed last at modified. It counts before the first visit only,
// when no answer said more.
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

// A Prior is what is believed of the rate of a page before its first visit: Gamma distributed, with a mean of Events/Days.
type Prior struct {
	Events float64 // a: for how many changes it counts
	Days   float64 // b: in how many days
}

// Unknown is the prior of a page of which nobody said anything: one change in two weeks, for half a change's worth. It is
// wide, as rates are (Cho and Garcia-Molina 2003; Fetterly et al., "A large-scale study of the evolution of Web pages",
// WWW 2003): nine tenths of its weight lie between one change in ten years and one in 3.6 days.
var Unknown = Prior{Events: 0.5, Days: 7}

// Quick is the prior that idle budget is spent by: any page may change each hour until its visits tell otherwise. A page
// that never changed is visited after growing intervals by it, each about half of the time that it has been watched.
var Quick = Prior{Events: 1, Days: 1. / 24}

// Said is the prior of a page whose sitemap gives a changefreq, for one change's worth. What it does not know is Unknown.
func Said(frequency string) Prior {
	every := map[string]float64{
		"always": 1. / 24, "hourly": 1. / 24, "daily": 1, "weekly": 7, "monthly": 30, "yearly": 365, "never": 10 * 365,
	}[frequency]
	if every == 0 {
		return Unknown
	}
	return Prior{Events: 1, Days: every}
}

// The rates that are thought possible, in changes a day: one in 100 years to one in 9 seconds.
const (
	leastRate = 1 / (100 * 365.)
	mostRate  = 10_000
)

// Rate is the mean of the posterior of the rate, in changes a day.
func (h *History) Rate(p Prior) float64 {
	a, b := p.Events+h.dated, p.Days+h.still
	if len(h.between) == 0 && a > 0 && b > 0 {
		return min(max(a/b, leastRate), mostRate) // it is a Gamma distribution again
	}
	low, high := h.weighty(a, b)
	return h.mean(a, b, low, high)
}

// The posterior is looked at twice: where its weight is, and closely there.
const (
	coarsePoints = 48
	finePoints   = 64
	negligible   = 25 // e^(−25) of the most is nothing
)

// weighty is the span of ln λ that has the weight of the posterior.
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

// mean is that of the posterior between two values of ln λ.
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

// logs are the logarithms of the posterior's density at evenly spaced values of ln λ, less the largest of them.
func (h *History) logs(a, b, first, step float64, points int) []float64 {
	all := make([]float64, points+1)
	for i := range all {
		all[i] = h.log(a, b, first+step*float64(i))
	}
	most := slices.Max(all)
	for i := range all {
		all[i] -= most
	}
	return all
}

// log is the logarithm of the posterior's density of x = ln λ, but for a constant.
func (h *History) log(a, b, x float64) float64 {
	rate := math.Exp(x)
	l := a*x - b*rate // with the Jacobian: dλ = λ·dx
	for _, w := range h.between {
		l += w.visits * math.Log(-math.Expm1(-rate*w.days/w.visits))
	}
	return l
}
