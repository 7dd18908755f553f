package host

import (
	"fmt"
	"strconv"
	"time"

	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// The schedules of politeness rules 11 to 13.
const (
	firstThrottle  = time.Minute      // after a 429 or 503 without Retry-After, doubled each time; also the shortest RateLimit interval that is a back-off
	firstBroken    = 30 * time.Second // after other 5xx
	firstNetwork   = time.Minute      // after network errors
	LongestRest    = time.Hour
	FailuresToPark = 5  // failures in a row that park a host for LongestRest
	ParksToRetire  = 3  // such parks in one run that retire it
	noToRefuse     = 10 // refusals in a row, or park periods from 429 and 503 in a row, that end it
	unknownToEnd   = 2  // NXDOMAIN in one run, without a response in between

	againFound = time.Second     // least delay before a URL whose failure is a finding is requested again
	againDead  = 5 * time.Second // between the two attempts to reach a host that only a link check wants
)

// Signal is the meaning of an exchange for its host.
type Signal struct {
	Answer   Answer
	Why      string        // by Classify
	Robots   bool          // for robots.txt, or a hop of its redirects
	Status   int           // 0 without a response
	Finding  bool          // a failing page is a finding, not a reason to back off
	Brief    bool          // no connection to a host that is tried twice, seconds apart
	Ended    int64         // the end of the exchange
	Response time.Duration // from the request sent to the first byte; 0 without a response

	RetryAfter RetryAfter // if it counts with this response
	RateLimit  RateLimit  // Retry-After takes precedence
}

// Rest is the wait of a host after an exchange, and its condition.
type Rest struct {
	Wait      time.Duration  // from the end of the exchange
	By        storage.PaceBy // the reason for Wait
	Condition frontier.Condition
	Reason    string        // of the condition; empty for Open
	URL       time.Duration // the wait of a task that comes again
	Asked     Wish          // by the host itself
}

// Wish is the time, from the end of the exchange, that a host asks for, and its field: Retry-After, RateLimit, or none for a 429
// or 503 without either. The zero value means no wish.
type Wish struct {
	Wait  time.Duration
	Field string
}

// After returns the state of a host after an exchange, and its rest, which is never shorter than its delay.
func After(s State, x Signal, t Terms) (State, Rest) {
	s.Hear(x.Response)
	s.LastEnd, s.Lost = max(s.LastEnd, x.Ended), false
	if !x.RetryAfter.Given {
		s.limit(x.RateLimit, x.Ended)
	}
	pace := t.Pace(&s, x.Ended)
	r := s.after(x, pace.Pause)
	r.Asked = s.asked(x)
	if r.By == "" {
		r.By = pace.By
	}
	return s, r
}

// Cut returns the state of a host after an exchange that curtsy cut.
func Cut(s State, ended int64) State {
	s.LastEnd, s.Lost = ended, false
	return s
}

// WithoutPolicy is After for an unreachable policy without a failed exchange, as at the end of a chain of redirects. It counts
// as a failure (RFC 9309 2.3.1.4).
func WithoutPolicy(s State, why string) (State, Rest) {
	var r Rest
	s.failed(&r, firstBroken, why)
	return s, r
}

// WithPolicy ends the failures of robots.txt in a row.
func WithPolicy(s State) State {
	s.endFailures(true)
	return s
}

// after updates n by an exchange, and returns the rest of the host at a delay of p.
func (n *State) after(s Signal, p time.Duration) Rest {
	r := Rest{Wait: p}
	if s.Answer == Guarded {
		return r // without a request no row changes
	}
	if s.Answer != CutOff {
		n.interrupt(s)
	}
	switch {
	case s.Finding && n.noteFinding(&r, s):
	case s.Answer == Throttled:
		n.throttled(&r, s.Why)
	case s.Answer == Nowhere, s.Brief:
		n.Unknown++
		n.failed(&r, firstNetwork, s.Why)
		if s.Brief {
			r.Wait, r.URL = againDead, againDead
		}
		if n.Unknown >= unknownToEnd {
			r.Condition = frontier.Retired
		}
	case s.Answer == Unreachable:
		n.failed(&r, firstNetwork, s.Why)
	case s.Answer == Broken:
		n.failed(&r, firstBroken, s.Why)
	case s.Answer == Refused:
		if n.Refusals++; n.Refusals >= noToRefuse {
			r.Condition, r.Reason = frontier.Refused, fmt.Sprintf("%d refusals in a row, the last: %s", n.Refusals, s.Why)
		}
	}
	if s.RetryAfter.Given {
		r.retryAfter(s)
	} else {
		r.rateLimit(s.RateLimit)
	}
	if p > r.Wait {
		r.Wait, r.By = p, ""
	}
	return r
}

// asked returns the host's wish in s, which n includes. Spacing below a minute only affects the delay.
func (n *State) asked(s Signal) Wish {
	if s.RetryAfter.Given {
		return Wish{s.RetryAfter.Wait, "Retry-After"}
	}
	var a Wish
	if l := s.RateLimit; l.Wait > 0 || l.Space >= firstThrottle {
		a = Wish{max(l.Wait, l.Space), "RateLimit"}
	}
	if wait := double(firstThrottle, n.Throttles-1); s.Answer == Throttled && wait > a.Wait {
		a = Wish{Wait: wait}
	}
	return a
}

// AtLeast raises the rest to p.
func (r *Rest) AtLeast(p Pace) {
	if p.Pause > r.Wait {
		r.Wait, r.By = p.Pause, p.By
	}
}

// interrupt ends rows by a response. One for robots.txt, which may come from a cache while pages fail, does not end rows that
// include a page, nor refusals.
func (n *State) interrupt(s Signal) {
	if s.Answer.IsFailure() || s.Answer == Throttled {
		n.PageFailed = n.PageFailed || !s.Robots
		return
	}
	n.Unknown = 0
	if s.Answer != Refused && !s.Robots {
		n.Refusals = 0
	}
	if !s.Robots { // for robots.txt WithPolicy and WithoutPolicy decide after all redirects
		n.endFailures(false)
	}
}

// endFailures ends the failures in a row.
func (n *State) endFailures(robots bool) {
	if !robots || !n.PageFailed {
		n.Failures, n.Throttles, n.PageFailed = 0, 0, false
	}
}

// throttled backs off after a 429 or 503: one minute, doubled, up to an hour.
func (n *State) throttled(r *Rest, why string) {
	n.Throttles++
	r.Wait, r.By = double(firstThrottle, n.Throttles-1), storage.ByErrors
	r.URL = r.Wait
	r.Condition, r.Reason = frontier.Parked, why
	if n.Throttles >= noToRefuse {
		r.Condition, r.Reason = frontier.Refused, fmt.Sprintf("%d park periods in a row, the last: %s", n.Throttles, why)
	}
}

// failed backs off after a failure: first, doubled, up to an hour, and an hour after each five in a row.
func (n *State) failed(r *Rest, first time.Duration, why string) {
	n.Failures++
	r.URL = double(first, n.Failures-1)
	r.Wait, r.By = r.URL, storage.ByErrors
	r.Condition, r.Reason = frontier.Parked, why
	if n.Failures > 1 {
		r.Reason = fmt.Sprintf("%d failures in a row, the last: %s", n.Failures, why)
	}
	if n.Failures%FailuresToPark == 0 {
		r.Wait = LongestRest
		if n.Parks++; n.Parks >= ParksToRetire {
			r.Condition = frontier.Retired
		}
	}
}

// noteFinding records a failure that is a finding. It returns false if the host seems to be down: at each fifth exchange in a row
// without a response.
func (n *State) noteFinding(r *Rest, s Signal) bool {
	switch {
	case s.Status != 0:
		n.endFailures(false)
	case (n.Failures+1)%FailuresToPark == 0:
		return false
	default:
		n.Failures++
	}
	r.URL = max(r.Wait, againFound)
	return true
}

// retryAfter obeys Retry-After, which is never shortened. Above a day the host leaves this run, and the next one obeys the rest.
func (r *Rest) retryAfter(s Signal) {
	d := s.RetryAfter.Wait
	switch {
	case s.Answer == Throttled:
		r.Wait, r.URL, r.By = d, d, storage.ByRetryAfter // an explicit time replaces the schedule, shorter or longer
	case d <= r.Wait:
		return
	default:
		r.Wait, r.URL, r.By = d, max(r.URL, d), storage.ByRetryAfter
	}
	if r.Condition == frontier.Open {
		r.Condition = frontier.Parked
	}
	if r.Condition == frontier.Parked {
		r.Reason = s.Why + ", Retry-After " + s.RetryAfter.String()
		if d > Day {
			r.Condition = frontier.Retired
		}
	}
}

// rateLimit obeys RateLimit: it parks a host without quota, and one that wants its requests at least a minute apart.
func (r *Rest) rateLimit(l RateLimit) {
	d := max(l.Wait, l.Space)
	if d <= r.Wait {
		return
	}
	r.Wait, r.By = d, storage.ByRateLimit
	if r.Condition != frontier.Open || l.Wait == 0 && l.Space < firstThrottle {
		return
	}
	r.Condition = frontier.Parked
	switch {
	case l.Wait >= l.Space:
		r.Reason = fmt.Sprintf("RateLimit: nothing left for %v", l.Wait)
	default:
		r.Reason = fmt.Sprintf("RateLimit: %v between exchanges", l.Space)
	}
	if d > Day {
		r.Condition = frontier.Retired
	}
}

// double returns first × 2^times, at most LongestRest.
func double(first time.Duration, times uint64) time.Duration {
	for ; times > 0 && first < LongestRest; times-- {
		first *= 2
	}
	return min(first, LongestRest)
}

// WhyUnreachable returns why a policy is unreachable.
func WhyUnreachable(s robots.State) string {
	if f := s.Failure(); f != "" {
		return "robots.txt: " + f
	}
	return "robots.txt: status " + strconv.Itoa(s.Status())
}

// The response-time term of the delay (politeness rule 9).
const (
	ResponseFactor   = 5
	MaxResponseDelay = 30 * time.Second
)

// Pace is the delay from the end of one exchange to the start of the next.
type Pace struct {
	Pause time.Duration
	By    storage.PaceBy // its source; empty without one
}

// AtLeast raises p to d.
func (p Pace) AtLeast(d time.Duration, by storage.PaceBy) Pace {
	if d > p.Pause {
		return Pace{d, by}
	}
	return p
}

// Asked returns the delay in the policies of a site, or zero.
func Asked(book *robots.Rulebook) Pace {
	var p Pace
	if book == nil {
		return p
	}
	if d, ok := book.CrawlDelay(); ok {
		p = p.AtLeast(d, storage.ByCrawlDelay)
	}
	if d, ok := book.RequestRate(); ok {
		p = p.AtLeast(d, storage.ByRequestRate)
	}
	return p
}

// Terms are the terms of a host apart from its responses.
type Terms struct {
	Floor  time.Duration    // the shortest delay
	Set    time.Duration    // by the operator for this host
	Raised time.Duration    // Set as the operator raised it during the run
	Own    bool             // own host (politeness rule 18): response times do not count
	Rules  *robots.Rulebook // may be nil
}

// Pace returns the largest of floor, host setting, Crawl-delay, Request-rate, RateLimit and, for third-party hosts, five times
// the usual response time. Crawl-delay and Request-rate may have been read for another host (Hearsay).
func (t Terms) Pace(s *State, now int64) Pace {
	site := Asked(t.Rules).AtLeast(s.Hearsay.Pause, s.Hearsay.By)
	p := Pace{t.Floor, storage.ByFloor}.AtLeast(t.Set, storage.ByHostSetting).AtLeast(t.Raised, storage.ByOperator).AtLeast(site.Pause, site.By).AtLeast(s.Spacing(now), storage.ByRateLimit)
	if !t.Own {
		p = p.AtLeast(ResponsePace(s.Response()), storage.ByResponseTime)
	}
	return p
}

// ResponsePace returns the delay for a response time.
func ResponsePace(response time.Duration) time.Duration {
	return min(ResponseFactor*response, MaxResponseDelay)
}
