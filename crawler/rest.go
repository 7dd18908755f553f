package crawler

import (
	"fmt"
	"time"

	"curtsy/frontier"
)

// The schedules of politeness rules 11 to 13.
const (
	firstThrottle  = time.Minute      // rest after a 429 or 503 without Retry-After, doubled each time
	firstBroken    = 30 * time.Second // after other 5xx
	firstNetwork   = time.Minute      // after network errors
	longestRest    = time.Hour
	failuresToPark = 5  // failures in a row that park a host for longestRest
	parksToRetire  = 3  // such parks in one run that retire it
	noToRefuse     = 10 // refusals in a row, or park periods from 429 and 503 in a row, that end it
	unknownToEnd   = 2  // NXDOMAIN in one run, without an answer in between
)

// said is what an exchange told of its host.
type said struct {
	answer answer
	why    string
	robots bool // it was for robots.txt, or a hop of its redirects

	after after // what Retry-After asks for, if that means something with this answer
	limit limit // what RateLimit says; Retry-After wins over it
}

// rest is what an exchange means for its host: how long it is left alone, and in which condition.
type rest struct {
	wait      time.Duration // from the end of the exchange
	by        string        // who asked for wait; empty for the pace
	condition frontier.Condition
	reason    string
	url       time.Duration // for a task that comes again: how long it waits itself
}

// after updates n by what an exchange said and says how the host rests: never shorter than the pace p.
func (n *notes) after(s said, p time.Duration) rest {
	r := rest{wait: p}
	if s.answer == guarded {
		return r // nobody was asked: our own limit neither adds to what is in a row nor ends it
	}
	if s.answer != cutOff { // that says no more than its head, if it came to one
		n.interrupt(s)
	}
	switch s.answer {
	case throttled:
		n.throttled(&r, s.why)
	case nowhere:
		n.unknown++
		n.failed(&r, firstNetwork, s.why)
		if n.unknown >= unknownToEnd {
			r.condition = frontier.Retired
		}
	case unreachable:
		n.failed(&r, firstNetwork, s.why)
	case broken:
		n.failed(&r, firstBroken, s.why)
	case refused:
		if n.refusals++; n.refusals >= noToRefuse {
			r.condition, r.reason = frontier.Refused, fmt.Sprintf("%d refusals in a row, the last: %s", n.refusals, s.why)
		}
	}
	if s.after.given {
		r.asked(s)
	} else {
		r.limited(s.limit)
	}
	if p > r.wait {
		r.wait, r.by = p, ""
	}
	return r
}

// atLeast raises the rest to p.
func (r *rest) atLeast(p pace) {
	if p.d > r.wait {
		r.wait, r.by = p.d, p.by
	}
}

// interrupt ends what is in a row. Only an answer does, not a failure to answer. That of robots.txt, which a busy site
// may give from a cache while its pages fail, ends no row that a page is part of, and no row of refusals: those are of
// pages alone.
func (n *notes) interrupt(s said) {
	if s.answer.blame() || s.answer == throttled {
		n.pageFailed = n.pageFailed || !s.robots
		return
	}
	n.unknown = 0
	if s.answer != refused && !s.robots {
		n.refusals = 0
	}
	if !s.robots { // what that comes to, at the end of its redirects, is for policyOver to say
		n.mended(false)
	}
}

// mended ends the failures in a row.
func (n *notes) mended(robots bool) {
	if !robots || !n.pageFailed {
		n.failures, n.throttles, n.pageFailed = 0, 0, false
	}
}

// throttled rests a host that said 429 or 503: one minute, doubled, up to an hour.
func (n *notes) throttled(r *rest, why string) {
	n.throttles++
	r.wait, r.by = double(firstThrottle, n.throttles-1), byErrors
	r.url = r.wait
	r.condition, r.reason = frontier.Parked, why
	if n.throttles >= noToRefuse {
		r.condition, r.reason = frontier.Refused, fmt.Sprintf("%d park periods in a row, the last: %s", n.throttles, why)
	}
}

// failed rests a host after a failure: first, doubled, up to an hour, and an hour after each five in a row.
func (n *notes) failed(r *rest, first time.Duration, why string) {
	n.failures++
	r.url = double(first, n.failures-1)
	r.wait, r.by = r.url, byErrors
	r.condition, r.reason = frontier.Parked, why
	if n.failures > 1 {
		r.reason = fmt.Sprintf("%d failures in a row, the last: %s", n.failures, why)
	}
	if n.failures%failuresToPark == 0 {
		r.wait = longestRest
		if n.parks++; n.parks >= parksToRetire {
			r.condition = frontier.Retired
		}
	}
}

// asked obeys Retry-After: never shortened; above a day the host leaves this run and the next one obeys what is left.
func (r *rest) asked(s said) {
	d := s.after.wait
	switch {
	case s.answer == throttled:
		r.wait, r.url, r.by = d, d, byRetryAfter // an explicit time takes the place of our own guess, shorter or longer
	case d <= r.wait:
		return // rule 12 rests the host longer than it asks for, or the pace does
	default:
		r.wait, r.url, r.by = d, max(r.url, d), byRetryAfter
	}
	if r.condition == frontier.Open {
		r.condition = frontier.Parked
	}
	if r.condition == frontier.Parked {
		r.reason = s.why + ", Retry-After " + s.after.String()
		if d > day {
			r.condition = frontier.Retired
		}
	}
}

// limited obeys RateLimit: a host that has nothing left to give is left alone until it has, and one that wants its
// requests far apart is named among those that rest.
func (r *rest) limited(l limit) {
	d := max(l.wait, l.space)
	if d <= r.wait {
		return
	}
	r.wait, r.by = d, byRateLimit
	if r.condition != frontier.Open || l.wait == 0 && l.space < firstThrottle {
		return
	}
	r.condition = frontier.Parked
	switch {
	case l.wait >= l.space:
		r.reason = fmt.Sprintf("RateLimit: nothing left for %v", l.wait)
	default:
		r.reason = fmt.Sprintf("RateLimit: %v between exchanges", l.space)
	}
	if d > day {
		r.condition = frontier.Retired
	}
}

// double is first × 2^times, at most longestRest.
func double(first time.Duration, times uint64) time.Duration {
	for ; times > 0 && first < longestRest; times-- {
		first *= 2
	}
	return min(first, longestRest)
}
