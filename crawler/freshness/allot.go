package freshness

import (
	"math"
	"time"
)

// Policy bounds how often pages are visited. The zero value of each field means its default.
type Policy struct {
	Min    time.Duration // the shortest interval between two visits of a page; zero means one hour
	Max    time.Duration // the longest; zero means 30 days
	Enough float64       // the share of the time that a page is to be fresh, and no more; zero means 0.8
}

// The defaults.
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

// Page is what Allot must know of a page.
type Page struct {
	Rate  float64       // changes a day
	Quick float64       // changes a day under the prior Quick, which idle budget is spent on; at most Rate for none
	Holds time.Duration // how long its server says that an answer holds; zero when it does not say
}

// By is what set an interval.
type By string

// What sets an interval.
const (
	ByRate   By = "rate"         // visits as often as make it fresh enough
	ByBudget By = "budget"       // its share of the budget
	ByMin    By = "min-interval" // it would be visited more often
	ByMax    By = "max-interval" // it would be visited less often
	ByHolds  By = "holds"        // its server says that the answer is good for so long
	ByIdle   By = "idle budget"  // what no page needs is spent on learning how fast this one changes
)

// Interval is how long after a visit the next one is due, and what set that.
type Interval struct {
	Every time.Duration
	By    By
}

// share is the span of visits a day that a page may get.
type share struct {
	least, most float64
	by          By // of most
}

// Allot shares a budget of so many visits a day between pages; zero or less means that there is no bound. Budget that no
// page needs is spent on learning which pages change faster than their Rate.
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
	case least >= budget: // not even the longest interval can be kept: all wait longer
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

// learn raises the most visits of pages that may change faster than their rate, each by the same part of what its Quick
// rate is worth, so that all of that is no more than idle visits a day.
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

// share is what p leaves of the choice for a page.
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

// multiplier is the gain of one more visit that all pages within their bounds have in common when the budget is spent.
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

// Fresh is the share of the time that a page of a rate is fresh for which is visited so often, evenly.
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

// Visits is how many visits a day a page of a rate gets where one more is to bring so much: 0 when none brings that.
func Visits(rate, gain float64) float64 {
	y := rate * gain
	if y >= 1 {
		return 0
	}
	return rate / spent(y)
}

// spent is the r for which 1 − (1+r)·e^(−r) = y, which grows with r from 0 to 1: by Newton's method within a bracket.
func spent(y float64) float64 {
	low, high := 0., 50. // where e^(−r) is lost beside 1
	r := math.Sqrt(2 * y)
	if y > 0.3 {
		r = 1 - 1.2*math.Log(1-y)
	}
	for range 60 {
		over := worth(r) - y
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

func worth(r float64) float64 { return 1 - (1+r)*math.Exp(-r) }

// staleness is the r = λ/f at which a page is fresh for a share of the time.
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

// What else says when a visit is due.
const (
	ByListed By = "lastmod" // a sitemap says that the page changed since
	ByNew    By = "new"     // nobody visited it
)

// Due is when the next visit of a page is due that was visited last at last, zero for never, and what said so. listed is
// the lastmod of a sitemap, or zero: one that lies between last and now brings the visit forward, as far as p.Min allows.
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

// Believed reports whether the lists of a host are believed that say of so many of its pages that they changed since they
// were visited. A site that says it of all of them, as one does that makes its sitemap anew each day, says nothing.
func Believed(changed, pages int) bool { return changed <= max(10, pages/10) }
