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
	firstThrottle  = time.Minute      // rest after a 429 or 503 without Retry-After, doubled each time
	firstBroken    = 30 * time.Second // after other 5xx
	firstNetwork   = time.Minute      // after network errors
	LongestRest    = time.Hour
	FailuresToPark = 5  // failures in a row that park a host for LongestRest
	ParksToRetire  = 3  // such parks in one run that retire it
	noToRefuse     = 10 // refusals in a row, or park periods from 429 and 503 in a row, that end it
	unknownToEnd   = 2  // NXDOMAIN in one run, without an answer in between

	againFound = time.Second     // least delay before a URL whose failure is a finding is requested again
	againDead  = 5 * time.Second // between the two attempts to reach a host that only a link check wants
)

// Signal is what an exchange told of its host.
type Signal struct {
	Answer   Answer
	Why      string        // in a few stable words, as Classify gives them
	Robots   bool          // it was for robots.txt, or a hop of its redirects
	Status   int           // of the response; 0 without one
	Finding  bool          // it was for a page whose failure is a finding, and no reason to back off
	Brief    bool          // no connection was made to a host that is tried twice, seconds apart
	Ended    int64         // when the exchange was over
	Response time.Duration // from the request sent to the first byte of the answer; 0 when none came

	RetryAfter RetryAfter // what Retry-After asks for, if that means something with this answer
	RateLimit  RateLimit  // what RateLimit says; Retry-After wins over it
}

// Rest is what an exchange means for its host: how long it is left alone, and in which condition.
type Rest struct {
	Wait      time.Duration  // from the end of the exchange
	By        storage.PaceBy // who asked for Wait
	Condition frontier.Condition
	Reason    string        // of the condition; empty for Open
	URL       time.Duration // for a task that comes again: how long it waits itself
	Asked     Wish          // what the host itself asked for
}

// Wish is the time for which a host asks to be left alone, from the end of the exchange, and the field that says so:
// Retry-After, RateLimit, or none where the status of 429 or 503 is all that was said. The zero value is none.
type Wish struct {
	Wait  time.Duration
	Field string
}

// After is what is known of a host after an exchange, and how it rests: never shorter than its pace.
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

// Cut is what is known of a host after an exchange that our side cut short: it says nothing, and the pace is kept.
func Cut(s State, ended int64) State {
	s.LastEnd, s.Lost = ended, false
	return s
}

// WithoutPolicy is After for a policy that cannot be had though its last exchange was no failure of the host, as at the end
// of a chain of redirects: a failure in the row like any other (RFC 9309 2.3.1.4).
func WithoutPolicy(s State, why string) (State, Rest) {
	var r Rest
	s.failed(&r, firstBroken, why)
	return s, r
}

// WithPolicy is what is known of a host whose policy was had: the failures of robots.txt in a row are over.
func WithPolicy(s State) State {
	s.mended(true)
	return s
}

// after updates n by what an exchange said and says how the host rests: never shorter than the pace p.
func (n *State) after(s Signal, p time.Duration) Rest {
	r := Rest{Wait: p}
	if s.Answer == Guarded {
		return r // nobody was asked: our own limit neither adds to what is in a row nor ends it
	}
	if s.Answer != CutOff { // that says no more than its head, if it came to one
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

// asked is what the host of n, which knows of s, asked for by it. Requests that are to be less than a minute apart are a matter
// of the pace.
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

// interrupt ends what is in a row. Only an answer does, not a failure to answer. That of robots.txt, which a busy site
// may give from a cache while its pages fail, ends no row that a page is part of, and no row of refusals: those are of
// pages alone.
func (n *State) interrupt(s Signal) {
	if s.Answer.IsFailure() || s.Answer == Throttled {
		n.PageFailed = n.PageFailed || !s.Robots
		return
	}
	n.Unknown = 0
	if s.Answer != Refused && !s.Robots {
		n.Refusals = 0
	}
	if !s.Robots { // what that comes to, at the end of its redirects, is for WithPolicy and WithoutPolicy to say
		n.mended(false)
	}
}

// mended ends the failures in a row.
func (n *State) mended(robots bool) {
	if !robots || !n.PageFailed {
		n.Failures, n.Throttles, n.PageFailed = 0, 0, false
	}
}

// throttled rests a host that said 429 or 503: one minute, doubled, up to an hour.
func (n *State) throttled(r *Rest, why string) {
	n.Throttles++
	r.Wait, r.By = double(firstThrottle, n.Throttles-1), storage.ByErrors
	r.URL = r.Wait
	r.Condition, r.Reason = frontier.Parked, why
	if n.Throttles >= noToRefuse {
		r.Condition, r.Reason = frontier.Refused, fmt.Sprintf("%d park periods in a row, the last: %s", n.Throttles, why)
	}
}

// failed rests a host after a failure: first, doubled, up to an hour, and an hour after each five in a row.
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

// noteFinding notes a failure that is a finding, after which the host keeps its pace. It reports false where the host itself seems to
// be down: each fifth exchange in a row without any response.
func (n *State) noteFinding(r *Rest, s Signal) bool {
	switch {
	case s.Status != 0:
		n.mended(false)
	case (n.Failures+1)%FailuresToPark == 0:
		return false
	default:
		n.Failures++
	}
	r.URL = max(r.Wait, againFound)
	return true
}

// retryAfter obeys Retry-After: never shortened; above a day the host leaves this run and the next one obeys what is left.
func (r *Rest) retryAfter(s Signal) {
	d := s.RetryAfter.Wait
	switch {
	case s.Answer == Throttled:
		r.Wait, r.URL, r.By = d, d, storage.ByRetryAfter // an explicit time takes the place of our own guess, shorter or longer
	case d <= r.Wait:
		return // rule 12 rests the host longer than it asks for, or the pace does
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

// rateLimit obeys RateLimit: a host that has nothing left to give is left alone until it has, and one that wants its
// requests far apart is named among those that rest.
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

// double is first × 2^times, at most LongestRest.
func double(first time.Duration, times uint64) time.Duration {
	for ; times > 0 && first < LongestRest; times-- {
		first *= 2
	}
	return min(first, LongestRest)
}

// WhyUnreachable says why a policy cannot be had.
func WhyUnreachable(s robots.State) string {
	if f := s.Failure(); f != "" {
		return "robots.txt: " + f
	}
	return "robots.txt: status " + strconv.Itoa(s.Status())
}

// The response-time term of the pace: a host that takes long to answer is asked less often (politeness rule 9).
const (
	ResponseFactor   = 5
	MaxResponseDelay = 30 * time.Second
)

// Pace is the pause that is kept between the end of one exchange and the start of the next.
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

// Asked is the pace that the policies of a site ask for; zero when they ask for none.
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

// Terms are what holds for a host beside what it answers.
type Terms struct {
	Floor  time.Duration    // the least pace
	Set    time.Duration    // set by the operator for this host and perhaps others
	Raised time.Duration    // the same, since an operator raised it while the run went on
	Own    bool             // the operator's own host (politeness rule 18): its response times add nothing
	Rules  *robots.Rulebook // what robots.txt asks for; nil for nothing
}

// Pace is the largest of floor, host setting, Crawl-delay, Request-rate, what RateLimit asks for now and, for hosts that are not the
// operator's own, five times the usual response time. Crawl-delay and Request-rate count though they were read for another
// host (Hearsay).
func (t Terms) Pace(s *State, now int64) Pace {
	site := Asked(t.Rules).AtLeast(s.Hearsay.Pause, s.Hearsay.By)
	p := Pace{t.Floor, storage.ByFloor}.AtLeast(t.Set, storage.ByHostSetting).AtLeast(t.Raised, storage.ByOperator).AtLeast(site.Pause, site.By).AtLeast(s.Spacing(now), storage.ByRateLimit)
	if !t.Own {
		p = p.AtLeast(ResponsePace(s.Response()), storage.ByResponseTime)
	}
	return p
}

// ResponsePace is the pause that a host gets which takes so long to answer.
func ResponsePace(response time.Duration) time.Duration {
	return min(ResponseFactor*response, MaxResponseDelay)
}
