package freshness

import (
	"math"
	"time"
)

// Policy bounds how often pages are visited. Zero fields mean their defaults.
type Policy struct {
	Min    time.Duration // shortest interval between two visits of a page; default one hour
	Max    time.Duration // longest interval; default 30 days
	Enough float64       // target for the share of time that a page is fresh; default 0.8
}

const (
	DefaultMin    = time.Hour
	DefaultMax    = 30 * day
	DefaultEnough = 0.8
)

// WithDefaults returns p with every zero field replaced.
func (p Policy) WithDefaults() Policy {
	if p.Min <= 0 {
		p.Min = DefaultMin
	}
	if p.Max <= 0 {
		p.Max = DefaultMax
	}
	p.Max = max(p.Max, p.Min)
	if p.Enough <= 0 || p.Enough >= 1 {
		p.Enough = DefaultEnough
	}
	return p
}

// Page is the input of Allot for one page.
type Page struct {
	Rate  float64       // changes per day
	Quick float64       // changes per day under the prior Quick, for idle budget; at most Rate for none
	Holds time.Duration // freshness lifetime of the response; zero if unknown
}

// By is the reason for an interval.
type By string

const (
	ByRate   By = "rate"         // the page is fresh enough
	ByBudget By = "budget"       // limited by the budget
	ByMin    By = "min-interval" // would be shorter
	ByMax    By = "max-interval" // would be longer
	ByHolds  By = "holds"        // the response is fresh for that long
	ByIdle   By = "idle budget"  // shortened with idle budget to learn the rate of changes
)

// Interval is the time from a visit to the next, and the reason for it.
type Interval struct {
	Every time.Duration
	By    By
}

// share is the range of visits per day of a page.
type share struct {
	least, most float64
	by          By // of most
}

// Allot divides a budget of visits per day among pages; zero or less is unlimited. Idle budget goes into learning rates.
func (p Policy) Allot(pages []Page, budget float64) []Interval {
	p = p.WithDefaults()
	shares := make([]share, len(pages))
	var least, most float64
	for i, page := range pages {
		shares[i] = p.share(page)
		least += shares[i].least
		most += shares[i].most
	}
	out := make([]Interval, len(pages))
	switch {
	case budget <= 0 || most <= budget:
		p.learn(pages, shares, budget-most, budget <= 0)
		for i, s := range shares {
			out[i] = every(s.most, s.by)
		}
	case least >= budget: // too little even for the longest interval
		for i, s := range shares {
			out[i] = every(s.least*budget/least, ByBudget)
		}
	default:
		gain := multiplier(pages, shares, budget)
		for i, s := range shares {
			f, by := s.within(Visits(pages[i].Rate, gain))
			out[i] = every(f, by)
		}
	}
	return out
}

// learn raises the most visits of pages that may change faster than their Rate, each by the same fraction of the increase by
// its Quick rate, by up to idle visits per day in total.
func (p Policy) learn(pages []Page, shares []share, idle float64, unbounded bool) {
	more := make([]share, len(pages))
	var wanted float64
	for i, page := range pages {
		page.Rate = max(page.Rate, page.Quick)
		more[i] = p.share(page)
		wanted += more[i].most - shares[i].most
	}
	part := 1.
	if wanted > idle && !unbounded {
		part = idle / wanted
	}
	for i, m := range more {
		switch was := shares[i]; {
		case m.most <= was.most:
			continue
		case part < 1 || m.by == ByRate:
			m.most, m.by = was.most+part*(m.most-was.most), ByIdle
		}
		shares[i] = m
	}
}

// share returns the range of visits that p allows for a page.
func (p Policy) share(page Page) share {
	s := share{least: 1 / Days(p.Max), most: 1 / Days(p.Min), by: ByMin}
	if f := page.Rate / staleness(p.Enough); f < s.most {
		s.most, s.by = f, ByRate
	}
	if page.Holds > 0 && 1/Days(page.Holds) < s.most {
		s.most, s.by = 1/Days(page.Holds), ByHolds
	}
	if s.most < s.least {
		s.most, s.by = s.least, ByMax
	}
	return s
}

func (s share) within(f float64) (float64, By) {
	switch {
	case f >= s.most:
		return s.most, s.by
	case f <= s.least:
		return s.least, ByMax
	}
	return f, ByBudget
}

func every(visits float64, by By) Interval {
	return Interval{Every: time.Duration(min(float64(day)/visits, float64(longestStill))), By: by}
}

// multiplier returns the common gain of one more visit of all pages within their bounds when the budget is spent.
func multiplier(pages []Page, shares []share, budget float64) float64 {
	low, high := math.Log(1e-9), math.Log(2/leastRate)
	for range 48 {
		middle := (low + high) / 2
		sum := 0.
		for i, s := range shares {
			f, _ := s.within(Visits(pages[i].Rate, math.Exp(middle)))
			sum += f
		}
		if sum > budget {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(high)
}

// Fresh returns the share of time that a page is fresh, for a rate of changes and evenly spaced visits.
func Fresh(rate, visits float64) float64 {
	switch {
	case rate <= 0:
		return 1
	case visits <= 0:
		return 0
	}
	r := rate / visits
	return -math.Expm1(-r) / r
}

// Visits returns the visits per day of a page at which one more has the given gain: 0 if the gain is always lower.
func Visits(rate, gain float64) float64 {
	y := rate * gain
	if y >= 1 {
		return 0
	}
	return rate / spent(y)
}

// spent solves 1 − (1+r)·e^(−r) = y for r, which grows with y from 0 to 1: by Newton's method within a bracket.
func spent(y float64) float64 {
	low, high := 0., 50. // e^(−50) is negligible
	r := math.Sqrt(2 * y)
	if y > 0.3 {
		r = 1 - 1.2*math.Log(1-y)
	}
	for range 60 {
		over := 1 - (1+r)*math.Exp(-r) - y
		if over > 0 {
			high = r
		} else {
			low = r
		}
		next := r - over/(r*math.Exp(-r))
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-r) <= 1e-6*r {
			return next
		}
		r = next
	}
	return r
}

// staleness returns the r = λ/f at which a page is fresh for a share of the time.
func staleness(fresh float64) float64 {
	low, high := 0., 1/fresh // F < 1/r
	for range 50 {
		if r := (low + high) / 2; Fresh(r, 1) > fresh {
			low = r
		} else {
			high = r
		}
	}
	return high
}

// Further reasons for a visit.
const (
	ByListed By = "lastmod" // a sitemap reports a change since the last visit
	ByNew    By = "new"     // never visited
)

// Due returns when the next visit of a page is due after the one at last, zero for never, and why. listed is the lastmod of a
// sitemap, or zero: a time between last and now brings the visit forward, within p.Min.
func (p Policy) Due(last time.Time, iv Interval, listed, now time.Time) (time.Time, By) {
	if last.IsZero() {
		return now, ByNew
	}
	due, by := last.Add(iv.Every), iv.By
	if early := last.Add(p.WithDefaults().Min); listed.After(last) && !listed.After(now) && early.Before(due) {
		return early, ByListed
	}
	return due, by
}

// Believed reports whether to trust the lastmods of a host, given how many of its pages they report as changed since their
// visits: a site that renews all lastmods daily reports no real changes.
func Believed(changed, pages int) bool { return changed <= max(10, pages/10) }
