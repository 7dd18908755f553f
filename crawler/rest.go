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
	noToRefuse     = 10 // refusals in a row, or throttled park periods, that end it
	unknownToEnd   = 2  // NXDOMAIN answers in one run
)

// rest is what an exchange means for its host: how long it is left alone, and in which condition.
type rest struct {
	wait      time.Duration // from the end of the exchange
	condition frontier.Condition
	reason    string
	url       time.Duration // for a task that comes again: how long it waits itself
}

// after updates n by the answer to an exchange and says how the host rests. asked is what Retry-After asks for; ok is
// false when it does not, or means nothing with this answer. The wait is never shorter than the pace p.
func (n *notes) after(a answer, why string, asked time.Duration, ok bool, p time.Duration) rest {
	r := rest{wait: p}
	if a != refused {
		n.refusals = 0
	}
	if a != throttled {
		n.throttles = 0
	}
	if !a.blame() && a != throttled {
		n.failures = 0
	}
	switch {
	case a == throttled:
		n.throttled(&r, why)
	case a == nowhere:
		n.unknown++
		n.failed(&r, firstNetwork, why, p)
		if n.unknown >= unknownToEnd {
			r.condition = frontier.Retired
		}
	case a == unreachable:
		n.failed(&r, firstNetwork, why, p)
	case a == broken:
		n.failed(&r, firstBroken, why, p)
	case a == refused:
		if n.refusals++; n.refusals >= noToRefuse {
			r.condition, r.reason = frontier.Refused, fmt.Sprintf("%d refusals in a row, the last: %s", n.refusals, why)
		}
	}
	if ok {
		n.asked(&r, asked, why)
	}
	r.wait = max(r.wait, p)
	return r
}

// throttled rests a host that said 429 or 503: one minute, doubled, up to an hour.
func (n *notes) throttled(r *rest, why string) {
	n.throttles++
	n.throttling++
	r.wait = double(firstThrottle, n.throttles-1)
	r.url = r.wait
	r.condition, r.reason = frontier.Parked, why
	if n.throttling >= noToRefuse {
		r.condition, r.reason = frontier.Refused, fmt.Sprintf("%d park periods, the last: %s", n.throttling, why)
	}
}

// failed rests a host after a failure. The first one delays its own URL and costs the host twice its pace; the
// host-wide schedule starts with the second in a row.
func (n *notes) failed(r *rest, first time.Duration, why string, p time.Duration) {
	n.failures++
	r.url = double(first, n.failures-1)
	if n.failures == 1 {
		r.wait = 2 * p
		return
	}
	r.wait = double(first, n.failures-2)
	r.condition, r.reason = frontier.Parked, fmt.Sprintf("%d failures in a row, the last: %s", n.failures, why)
	if n.failures%failuresToPark == 0 {
		r.wait = longestRest
		if n.parks++; n.parks >= parksToRetire {
			r.condition = frontier.Retired
		}
	}
}

// asked obeys Retry-After: never shortened; above a day the host leaves this run and the next one obeys what is left.
func (n *notes) asked(r *rest, d time.Duration, why string) {
	if d < r.wait && r.condition == frontier.Open {
		return
	}
	// An explicit time replaces our own guess, shorter or longer.
	r.wait, r.url = d, d
	if r.condition == frontier.Open {
		r.condition = frontier.Parked
	}
	if r.condition == frontier.Parked {
		r.reason = fmt.Sprintf("%s, Retry-After %v", why, d.Round(time.Second))
		if d > day {
			r.condition = frontier.Retired
		}
	}
}

// double is first × 2^times, at most longestRest.
func double(first time.Duration, times uint64) time.Duration {
	for ; times > 0 && first < longestRest; times-- {
		first *= 2
	}
	return min(first, longestRest)
}
