package pacing

import (
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

const day = 24 * time.Hour

// Judge holds exchanges to the pauses that were due before them.
type Judge struct {
	Gaps int64 // pauses measured

	m     evidence.Measure
	found finding.List
	addrs map[string]*address
	kept  int // starts, of all hosts
}

// NewJudge returns a Judge that has met no exchange.
func NewJudge() *Judge { return &Judge{addrs: map[string]*address{}} }

// Exchange judges the pause before an exchange with a host, whose robots.txt asks for site.
func (j *Judge) Exchange(x *evidence.Joined, to *Host, m evidence.Measure, site Site) finding.List {
	j.m = m
	to.taken(x, site.Taken)
	j.timing(x, to, site)
	j.declared(x, to)
	return j.found.Take()
}

// After makes an exchange, which was judged, what is known of its host.
func (j *Judge) After(x *evidence.Joined, to *Host, m evidence.Measure) finding.List {
	j.m = m
	j.after(x, to)
	return j.found.Take()
}

// Flush judges the starts at addresses that were kept back until others were in their order.
func (j *Judge) Flush() finding.List {
	j.flush()
	return j.found.Take()
}

// SetBack notes that the clock was set back.
func (j *Judge) SetBack() finding.List {
	all := j.Flush()
	clear(j.addrs)
	return all
}

// longestError is the longest rest after failures.
const longestError = time.Hour

// whoAsked checks that whom the crawl names can have asked for the pace that it names: now, or before the exchange before,
// whose pace it may keep. It returns what the named one did ask for, or "" when all is well. Errors
// are held against their schedule alone, since attempts that reached no server leave no record.
func (j *Judge) whoAsked(l *storage.Line, to *Host, t *terms, required time.Duration) string {
	same := func(name string, may ...time.Duration) string {
		if slices.ContainsFunc(may, func(d time.Duration) bool { return d > 0 && (l.Pace-d).Abs() <= slack(d) }) {
			return ""
		}
		return name + " requires " + finding.Round(max(slices.Max(may), 0))
	}
	if older := len(j.m.Standards()) > 1; older &&
		(l.PaceBy == storage.ByCrawlDelay || l.PaceBy == storage.ByRequestRate) {
		return "" // whom a record binds is for the older document to say, and more may be kept than RFC 9309 asks for
	}
	if (t.unsure || to.was.unsure) && l.Pace >= required && (l.PaceBy == storage.ByCrawlDelay || l.PaceBy == storage.ByRequestRate) {
		return "" // it may have been read when another host's robots.txt redirected here, before a kill or a step of the clock
	}
	switch l.PaceBy {
	case storage.ByFloor:
		return same("the floor", t.settled, to.was.settled)
	case storage.ByHostSetting:
		return same("the crawl's own setting for the host", t.set, to.was.set)
	case storage.ByOperator: // the mark of that is for the ledger to have
		if declared := max(t.settled, t.set); l.Pace < declared {
			return "the operator, who can only set a delay longer than " + finding.Round(declared)
		}
		return ""
	case storage.ByCrawlDelay:
		return same("Crawl-delay", t.delay, to.was.delay)
	case storage.ByRequestRate:
		return same("Request-rate", t.rate, to.was.rate)
	case storage.ByRateLimit, storage.ByRetryAfter:
		if to.Reduced || t.taken || to.unheard && l.PaceBy == storage.ByRateLimit {
			return "" // an answer that is left out, or was taken down, may have
		}
		if l.PaceBy == storage.ByRetryAfter {
			return same("Retry-After", to.rest.Sub(to.end), to.mayRest.Sub(to.end))
		}
		return same("RateLimit", to.spaced, to.emptied, to.mayLimit[0], to.mayLimit[1])
	case storage.ByResponseTime:
		p := to.answers.pace()
		if l.Pace+slack(p.least) < p.least || l.Pace > p.largest+slack(p.largest) {
			return "the response times require " + finding.Round(p.least)
		}
	case storage.ByErrors:
		for _, d := range []time.Duration{afterBroken, afterBusy} {
			for ; d < longestError; d *= 2 {
				if (l.Pace - d).Abs() <= slack(d) {
					return ""
				}
			}
		}
		return same("the schedule of errors, which doubles 30 s and 60 s,", longestError)
	case storage.ByRobots, storage.ByAddress:
		if l.Pace <= required.Truncate(time.Microsecond) {
			return "not " + string(l.PaceBy) + ", which requires more than was due: " + finding.Round(required)
		}
	default:
		return "one of the words that the ledger reference has"
	}
	return ""
}
