// Package pauses detects delays of a host that were too short in sum.
//
// A single delay between dates of whole seconds does not prove a rate faster than one a second; fifty requests in a second
// do. A Row keeps when the last exchange can have ended at the earliest, given all delays due before it. The next began no
// earlier than that plus its pace, nor than its own date; if that is after its date plus resolution, the dates contradict
// the delays. This takes one step an exchange and finds exactly the rows without true instants that keep every delay.
//
// It never accuses an honest crawl: the earliest instant is never after the true one. An exchange dated before its
// predecessor is left out of the row. Whole judges all exchanges of a host without order, for shuffled archives.
package pauses

import (
	"slices"
	"time"
)

// Slack is the tolerance for a delay of d: dates are cut to their resolution, timers and clocks differ, and a clock is slewed
// by up to a thousandth while it is set right. Audit and scoreboard use the same.
func Slack(d time.Duration) time.Duration { return time.Millisecond + d/1000 }

// Exchange is one exchange with a host.
type Exchange struct {
	Began      time.Time
	Resolution time.Duration // of Began: the true instant lies in [Began, Began+Resolution]
	Took       time.Duration // it took at least so long
	Pace       time.Duration // the delay due since the last one ended, less the tolerance for clocks
}

// Row is the exchanges with one host, in the order of the archive. The zero Row is ready to use.
type Row struct {
	n     int       // exchanges that are held together
	first Exchange  // the first of them
	last  time.Time // the latest date among them
	ended time.Time // when the last of them ended at the earliest

	all       int // exchanges of the host
	from, to  time.Time
	least     time.Duration // the shortest pace that was due between any two
	unordered bool
}

// Short is a row of delays that were too short in sum.
type Short struct {
	Pauses int
	Since  time.Time
	Due    time.Duration // by all pauses, with the exchanges between them
	Most   time.Duration // that can have passed between the first start and the last
}

// farBack bounds dates out of order. One further back begins a new row: the clock was set, or the archive has several crawls.
const farBack = time.Minute

// Add takes the next exchange. It reports delays that were too short until then; a new row then begins with e.
func (r *Row) Add(e Exchange) (s Short, short bool) {
	r.count(e)
	switch {
	case r.n == 0 || e.Began.Before(r.last.Add(-farBack)):
		r.begin(e)
		return s, false
	case e.Began.Before(r.last):
		return s, false
	}
	r.last = e.Began
	at := r.ended.Add(e.Pace)
	if e.Pace <= 0 || !at.After(e.Began) { // the date is later than the delays require
		ended := r.ended
		r.begin(e)
		if ended.After(r.ended) {
			r.ended = ended
		}
		return s, false
	}
	if latest := e.Began.Add(e.Resolution); at.After(latest) {
		s = Short{r.n, r.first.Began, at.Sub(r.first.Began), latest.Sub(r.first.Began)}
		r.begin(e)
		return s, true
	}
	r.n++
	r.ended = at.Add(e.Took)
	return s, false
}

func (r *Row) begin(e Exchange) {
	r.n, r.first, r.last, r.ended = 1, e, e.Began, e.Began.Add(e.Took)
}

func (r *Row) count(e Exchange) {
	end := e.Began.Add(e.Resolution)
	r.all++
	if r.all == 1 {
		r.from, r.to = e.Began, end
		return
	}
	if r.all == 2 || e.Pace < r.least {
		r.least = e.Pace
	}
	r.unordered = r.unordered || e.Began.Before(r.last)
	if e.Began.Before(r.from) {
		r.from = e.Began
	}
	if end.After(r.to) {
		r.to = end
	}
}

// Whole reports whether all exchanges of a host are too many for their time, if their records are not in the order of their
// dates. The shortest pace was due between any two, in whatever order; two are left out, before which none may have been due.
func (r *Row) Whole() (s Short, short bool) {
	n := r.all - 2
	if n < 1 || !r.unordered {
		return s, false
	}
	s = Short{n, r.from, time.Duration(n) * r.least, r.to.Sub(r.from)}
	return s, s.Due > s.Most
}

// Sample has the count and the minimum of delays, and up to maxSample of them for the median: it is halved when full.
type Sample struct {
	n      int64
	least  time.Duration
	sample []time.Duration
	stride int64
}

const maxSample = 64

func (g *Sample) Add(d time.Duration) {
	if g.n == 0 || d < g.least {
		g.least = d
	}
	g.stride = max(g.stride, 1)
	if g.n%g.stride == 0 {
		g.sample = append(g.sample, d)
	}
	g.n++
	if len(g.sample) == maxSample {
		for i := range maxSample / 2 {
			g.sample[i] = g.sample[2*i]
		}
		g.sample = g.sample[:maxSample/2]
		g.stride *= 2
	}
}

func (g *Sample) N() int64 { return g.n }

func (g *Sample) Least() time.Duration { return g.least }

// Median is exact for up to maxSample pauses.
func (g *Sample) Median() time.Duration {
	if len(g.sample) == 0 {
		return 0
	}
	return Median(slices.Sorted(slices.Values(g.sample)))
}

// Median is the middle one of sorted pauses; of an even number, the larger of the middle two. There must be one.
func Median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }
