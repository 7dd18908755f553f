package pacing

import (
	"fmt"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// This crawler leaves a host alone for so long after an answer that names no time (docs/trust/politeness.md, rules 11 and
// 12). After the second in a row it is more; this much is certain.
const (
	afterBusy   = time.Minute
	afterBroken = 30 * time.Second
)

// hearing is how long it may take until all exchanges with one of the operator's own hosts, of which there may be
// several at a time, know what one of them was told.
const hearing = time.Second

// rested checks that e came after the rest that the server asked for, or that an error asks for. Exchanges that were
// under way when the server said so, as several may be with the operator's own hosts, are not held against it.
func (j *Judge) rested(e *evidence.Exchange, to *Host) {
	const tolerance = 10 * time.Millisecond
	from := to.restAt
	if e.Own {
		from = from.Add(hearing)
	}
	early := func(until time.Time) bool {
		return !until.IsZero() && e.Began.Add(e.Resolution+tolerance).Before(until) && !e.Began.Before(from)
	}
	switch {
	case early(to.rest):
		j.found.Add(e.Finding(finding.RetryAfter, "nothing before "+finding.Clock(to.rest)+": "+to.restWhy,
			"requested "+finding.Round(to.rest.Sub(e.Began))+" before"))
	case early(to.backoff.Add(-slack(afterBusy))):
		j.found.Add(e.Finding(finding.Gap, "nothing before "+finding.Clock(to.backoff)+": "+to.backoffWhy,
			"requested "+finding.Round(to.backoff.Sub(e.Began))+" before"))
	}
}

// rest notes how long the server asks to be left alone (RFC 9110 10.2.3), or how long its error does.
func (j *Judge) rest(h *evidence.Joined, to *Host) {
	e := &h.Exchange
	s := e.Status
	busy, given := s == 429 || s == 503, j.retryGiven(h)
	to.mayRest = time.Time{}
	if e.LeftOut != "" {
		if busy || s >= 500 {
			j.found.Doubt(e.Authority, finding.RetryAfter,
				"a response and the delay that it required are left out of the package", 0, 0)
		}
		return
	}
	for _, v := range h.Answer.RetryAfter {
		until, ok := j.until(strings.TrimSpace(v), e.End())
		if !ok || !given || strings.TrimSpace(v) == "" {
			continue
		}
		if j.m.Ours() && e.Unread() { // it may have been heard, or not
			if until.After(to.mayRest) {
				to.mayRest = until
			}
			continue
		}
		if until.After(to.rest) {
			to.rest, to.restAt, to.restFor = until, e.End(), -1
			to.restWhy = fmt.Sprintf("Retry-After: %s with status %d at %s", finding.Short(v), s,
				finding.Clock(e.Began))
		}
	}
	if !j.m.Promises() || j.m.Ours() && e.Unread() {
		return
	}
	wait := time.Duration(0)
	switch {
	case busy && !given:
		wait = afterBusy
	case e.Own && j.m.Ours() && j.m.Info.Findings: // rule 12: a link check does not back off
	case !busy && (s >= 500 || s == 408 || s == 425):
		wait = afterBroken
	}
	if until := e.End().Add(wait); wait > 0 && until.After(to.backoff) {
		to.backoff, to.restAt, to.restFor = until, e.End(), -1
		to.backoffWhy = fmt.Sprintf("%v after status %d (politeness rules 11 and 12)", wait, s)
	}
}

// retryGiven reports whether an answer has a Retry-After that means something with it (docs/trust/politeness.md, rule 11).
func (j *Judge) retryGiven(h *evidence.Joined) bool {
	s := h.Exchange.Status
	if s != 429 && s != 503 && !(j.m.Promises() && (s >= 300 && s < 400 || h.Exchange.Robots)) {
		return false
	}
	for _, v := range h.Answer.RetryAfter {
		if _, ok := j.until(strings.TrimSpace(v), h.Exchange.End()); ok && strings.TrimSpace(v) != "" {
			return true
		}
	}
	return false
}

// until is the time that a Retry-After names. A value that cannot be read, or is over a year away, is a day for our
// own archives, and nothing for those of others.
func (j *Judge) until(v string, now time.Time) (t time.Time, ok bool) {
	if d, isNumber := evidence.Seconds(v); isNumber {
		t, ok = now.Add(d), true
	} else {
		t, ok = evidence.Date(v)
	}
	if !ok || t.Sub(now) > 365*day {
		return now.Add(day), j.m.Promises()
	}
	return t, true
}
