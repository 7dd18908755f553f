package report

import (
	"strings"
	"time"

	"curtsy/storage"
)

// account gathers what was done with a host, or with several.
type account struct {
	Host
	gaps  gaps
	waits bool // the last line that counts left a URL to be tried again
	dumb  bool // robots.txt could not be had when it was last asked for
	mute  bool // the last attempt for a page brought no response
	part  bool // what opted out was not the whole host: something was asked of it afterwards
}

// The most that one line may count for: a ledger that lies must not make sums run over.
const (
	mostTimes  = 1 << 40
	mostOctets = 1 << 44
)

// times is how many URLs a line stands for.
func times(l *storage.Line) int64 { return min(max(l.Count, 1), mostTimes) }

// received is what came over the connection.
func received(l *storage.Line) int64 { return min(max(l.Octets, 0), mostOctets) }

// attempted reports whether an exchange was tried.
func attempted(l *storage.Line) bool { return l.Attempt > 0 }

// Sent reports whether a request was sent: something crossed a connection, and has a record. An attempt that reached nobody
// is none. The audit, which reads records, counts the same.
func Sent(l *storage.Line) bool { return attempted(l) && (l.Record != "" || l.Status != 0) }

func (a *account) add(l *storage.Line) {
	n := times(l)
	a.Lines += n
	a.Own = a.Own || l.Own
	a.count(l, n)
	if !attempted(l) {
		return
	}
	if Sent(l) {
		a.Exchanges++
	} else {
		a.Unreached++
	}
	a.part = a.part || a.OptedOut > 0
	a.Octets += received(l)
	if Failed(l) {
		a.Errors++
	}
	if Sent(l) {
		a.delay(l)
	}
	if l.Decision == storage.DecisionRobots {
		a.robots(l)
	} else {
		a.mute = l.Outcome == storage.OutcomeFailed && l.Status == 0 && l.Reason != storage.ReasonAborted
	}
}

// delay takes in the delay before a request that was sent.
func (a *account) delay(l *storage.Line) {
	if ms(l.Pace) >= a.PaceMs && l.PaceBy != "" {
		a.PaceMs, a.PaceBy = ms(l.Pace), cleanTo(string(l.PaceBy), 40)
	}
	if l.Gap > 0 {
		a.gaps.add(l.Gap, l.Pace)
	}
}

// count counts how a line ended.
func (a *account) count(l *storage.Line, n int64) {
	switch l.Decision {
	case storage.DecisionDisallow:
		a.Disallowed += n
		return
	case storage.DecisionRefuse:
		a.Refused += n
		return
	case storage.DecisionHold:
		a.Held += n
		return
	case storage.DecisionOptOut:
		a.OptedOut += n
		return
	}
	a.waits = l.Outcome == storage.OutcomeDeferred
	switch l.Outcome {
	case storage.OutcomeFetched:
		a.Fetched += n
		if isPage(l) {
			a.Pages += n
		}
	case storage.OutcomeRedirected:
		a.Redirected += n
	case storage.OutcomeGone:
		a.Gone += n
	case storage.OutcomeFailed:
		a.Failed += n
	case storage.OutcomeDropped:
		a.Dropped += n
	case storage.OutcomeDeferred:
		a.Deferred += n
	}
}

func isPage(l *storage.Line) bool { return l.Type == "text/html" || l.Type == "application/xhtml+xml" }

// Failed reports whether an attempt brought no usable answer. That there is no robots.txt is an answer, and that the
// operator broke off is no fault of a host.
func Failed(l *storage.Line) bool {
	if !attempted(l) {
		return false
	}
	if l.Decision == storage.DecisionRobots {
		return unavailable(l)
	}
	return l.Outcome == storage.OutcomeFailed || l.Outcome == storage.OutcomeDeferred &&
		l.Reason != "redirect to its own key" && l.Reason != storage.ReasonAborted
}

// unavailable reports whether an exchange for robots.txt left it unknown what the site wants (RFC 9309 2.3.1.4).
func unavailable(l *storage.Line) bool {
	switch l.Status {
	case 0, 408, 425, 429:
		return true
	}
	broken := l.Status >= 200 && l.Status < 300 && l.Reason != "" && l.RobotsSHA256 == "" // its body was cut short, or is in no coding that is known
	return broken || l.Status >= 500
}

func (a *account) robots(l *storage.Line) {
	if Sent(l) {
		a.RobotsAsked++
	}
	a.dumb = unavailable(l)
	switch {
	case a.dumb && l.Status < 300:
		a.Robots = silentRobots + ": " + clean(l.Reason)
	case a.dumb:
		a.Robots = silentRobots + ": status " + number(l.Status)
	case l.Status >= 400:
		a.Robots = "none (status " + number(l.Status) + ")"
	case l.Status >= 300 && l.Status != 304:
		a.Robots = "redirects"
	default:
		a.Robots = "read"
	}
}

// result is the host as it is shown.
func (a *account) result() Host {
	h := a.Host
	h.Gaps, h.Short, h.LeastMs, h.MidMs = a.gaps.n, a.gaps.short, ms(a.gaps.least), ms(a.gaps.median())
	switch {
	case a.OptedOut > 0 && !a.part:
		h.State = "opted out"
	case a.dumb:
		h.State = "not crawled"
	case a.waits:
		h.State = "to be tried again"
	case a.Exchanges+a.Unreached == 0:
		h.State = "not requested"
	case a.mute:
		h.State = "last request not answered"
	default:
		h.State = "answers"
	}
	return h
}

// span is when a line's exchange began and ended, or when it was decided.
func span(l *storage.Line) (from, to time.Time) {
	if l.Began.IsZero() {
		return l.Time, l.Time
	}
	if to = l.Began.Add(l.Took); to.Year() > 9999 || to.Before(l.Began) {
		to = l.Began // what no calendar of ours has cannot be written
	}
	return l.Began, to
}

func isTrap(reason string) bool { return strings.HasPrefix(reason, storage.RuleOfTraps) }

// silentRobots begins what is said of a robots.txt that could not be had.
const silentRobots = "unavailable"
