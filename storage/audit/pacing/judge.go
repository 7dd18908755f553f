package pacing

import (
	"fmt"
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
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
func (j *Judge) Exchange(e *evidence.Exchange, to *Host, m evidence.Measure, site Site) finding.List {
	j.m = m
	to.taken(e, site.Taken)
	j.timing(e, to, site)
	j.declared(e, to)
	return j.found.Take()
}

// Flush judges the starts at addresses that were kept back until others were in their order.
func (j *Judge) Flush() finding.List {
	for _, at := range j.addrs {
		for len(at.starts) > 0 {
			j.start(at)
		}
	}
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

// slack is what the clocks of records may differ by from the one that the crawl kept its pauses with.
func slack(d time.Duration) time.Duration { return pauses.Slack(d) }

// timing checks the pause before an exchange, and that it began when it could.
func (j *Judge) timing(e *evidence.Exchange, to *Host, site Site) {
	if e.Began.IsZero() {
		j.found.Doubt(e.Authority, finding.Gap, "a record has no date", 0, 0)
		return
	}
	j.rested(e, to)
	j.addressed(e)
	t := j.terms(e, to, site)
	required, by := t.standing(j.m.Promises(), e.Own)
	e.Due = required
	if !to.met {
		if to.lost {
			j.found.Doubt(e.Authority, finding.Gap, "the clock was set back before it", 0, 0)
			to.was = t
		}
		j.row(e, to, 0)
		return
	}
	if to.Gaps.N() == 0 || required < to.Lowest {
		to.Lowest = required
	}
	if required > to.Required {
		to.Required, to.RequiredBy = required, by
	}
	lanes := e.Own && required == 0 // politeness rule 18: several exchanges at once
	required, by = t.all(required, by)
	if l := e.Line; j.m.Ours() && l != nil && l.Gap > 0 && l.Pace > required && l.PaceBy != storage.ByAddress {
		required, by = l.Pace, string(l.PaceBy)+", as the crawl itself recorded"
	}
	late := e.Began // what has a whole second may have begun at its end
	if j.m.Ours() {
		late = late.Add(e.Resolution)
	}
	if late.Before(to.began) && !lanes {
		j.row(e, to, required)
		if j.m.Ours() {
			j.found.Add(e.Finding(finding.BadRecord, "the requests to an authority in the order of their dates",
				"it began before the one before it in the archive, of "+finding.Clock(to.began)))
			return
		}
		j.backwards(e, to, required, by)
		return
	}
	if !j.m.Ours() && (!e.HasRequest || !e.HasAnswer) && to.latest == (sighting{e.URL, e.Began}) {
		return // the other half of that exchange, whose records lie far apart
	}
	j.pause(e, to, required, by, &t, lanes)
	j.claimedGap(e, to, &t)
	to.was = t
}

// backwards checks e, of another crawler, which is dated before one that stands before it. In whatever order their
// records are, between the starts of any two exchanges was the pause that is due.
func (j *Judge) backwards(e *evidence.Exchange, to *Host, required time.Duration, by string) {
	due := min(required, to.Lowest)
	if n, in, ok := to.starts.crowded(e.Began, due, max(e.Resolution, to.res)); ok && e.HasAnswer {
		j.found.Add(e.Finding(finding.Gap, "at least "+finding.Round(due)+" between two requests to the authority: "+
			by,
			fmt.Sprintf("%d requests within %s by their dates, with records in another order", n,
				finding.Round(in))))
		return
	}
	j.found.Doubt(e.Authority, finding.InFlight, "requests are not in the order of their dates", 0, 0)
}

// pause checks a pause whose bounds are least and most: dates say when to within their resolution. What may be due by t
// beyond what is required is not known to be.
func (j *Judge) pause(e *evidence.Exchange, to *Host, required time.Duration, by string, t *terms, lanes bool) {
	unless := max(t.unlessTaken, required)
	may := max(t.mayAnswer, unless)
	most := e.Began.Add(e.Resolution).Sub(to.end)
	least := e.Began.Sub(to.end) - to.res
	if !to.ended {
		least = 0
	}
	middle := e.Began.Sub(to.end)
	if lanes && middle < 0 {
		return
	}
	j.Gaps++
	to.Gaps.Add(max(middle, 0))
	to.StartToStart = to.StartToStart || !to.ended
	sum, short := j.row(e, to, required)
	switch {
	case most < -slack(0):
		j.found.Add(e.Finding(finding.InFlight, "one request at a time to an authority (politeness rule 9)",
			"it began "+finding.Round(-most)+" before the end of the one before it"))
	case most+slack(required) < required:
		f := e.Finding(finding.Gap, "at least "+finding.Round(required)+
			" since the end of the authority's last response: "+by, finding.Round(max(middle, 0)))
		if e.Resolution+to.res > 10*time.Millisecond || !to.ended {
			f.Observed = "at most " + finding.Round(max(most, 0))
		}
		if !to.ended {
			f.Observed += " since its start"
		}
		j.found.Add(f)
	case short:
		j.tooFastInSum(e, sum, by)
	case !to.ended && required > 0:
		j.found.Doubt(e.Authority, finding.Gap, "the archive does not record when responses ended", least, most)
	case !to.ended:
		j.found.Doubt(e.Authority, finding.InFlight, "the archive does not record when responses ended", least, most)
	case least+slack(required) < required:
		j.found.Doubt(e.Authority, finding.Gap, "dates have a resolution of "+max(e.Resolution, to.res).String(), least,
			most)
	case least+slack(unless) < unless:
		j.found.Doubt(e.Authority, finding.Gap, "a redacted response may have required another delay", least, most)
	case least+slack(may) < may:
		j.found.Doubt(e.Authority, finding.Gap, "the archive does not have the starts of responses, and the delay due is five times the response time",
			least, most)
	}
}

// claimedGap compares what the crawl says of its pause with the records. It is not held against a crawl that the
// first pause in a file is told otherwise: it may have been killed before it knew of its last exchange, and have gone
// on with a new file.
func (j *Judge) claimedGap(e *evidence.Exchange, to *Host, t *terms) {
	l := e.Line
	if l == nil || !j.m.Ours() {
		return
	}
	at := func(required, observed string) {
		f := e.Finding(finding.GapTold, required, observed)
		f.Place = e.LineAt
		j.found.Add(f)
	}
	seen := e.Began.Sub(to.end)
	if to.file == e.File && to.hasMetadata && !e.Own && !l.Own {
		if jump := l.Ahead - to.ahead; jump >= 0 {
			seen -= jump // dates follow a clock that jumps, and the pause is measured with one that does not
		} else {
			at("a clock that was ahead by "+finding.Round(to.ahead)+" before",
				"the crawl recorded that it was ahead by "+finding.Round(l.Ahead))
		}
		if to.ended && seen > l.Gap+slack(seen) && (l.Gap > 0 || j.m.Ledger) {
			j.hidden(e, to, seen)
		}
	}
	if told := l.Gap > 0 && to.ended && l.Gap > seen+slack(seen); told && to.file != e.File {
		f := e.Finding(finding.CrashInFlight, "the delay in the records: "+finding.Round(seen),
			"the crawl recorded "+finding.Round(l.Gap)+": it was killed before it recorded its last response")
		f.Place, f.Note = e.LineAt, true
		j.found.Add(f)
	} else if told {
		at("the delay in the records: "+finding.Round(seen), "the crawl recorded "+finding.Round(l.Gap))
	}
	required, by := t.all(t.standing(true, e.Own))
	switch {
	case l.PaceBy == "" || l.Gap == 0 && to.file != e.File: // a run that was killed does not know of its last exchange
	case l.Pace+slack(required) < required:
		at("the delay that was due: "+finding.Round(required)+", "+by,
			"the crawl recorded "+finding.Round(l.Pace)+", "+string(l.PaceBy))
	case to.file == e.File && !e.Own && !l.Own: // of what a killed run left its heir may know less
		if can := j.whoAsked(l, to, t, required); can != "" {
			at("the reason for the delay: "+can, "the crawl recorded "+finding.Round(l.Pace)+", "+string(l.PaceBy))
		}
	}
}

// hidden notes that the crawl tells a shorter pause than its records show: there was another exchange in between. An
// attempt that reached no server has no record, but a line: the ledger knows.
func (j *Judge) hidden(e *evidence.Exchange, to *Host, seen time.Duration) {
	if e.Since = to.end; !j.m.Ledger {
		j.found.Doubt(e.Authority, finding.GapTold,
			"a recorded delay is shorter than the records show: only the ledger has attempts that reached no server",
			e.Line.Gap, seen)
	}
}

// After makes an exchange, which was judged and has a date, what is known of its host.
func (j *Judge) After(e *evidence.Exchange, to *Host, m evidence.Measure) finding.List {
	j.m = m
	j.starts(e, to)
	if !to.met || e.Began.After(to.began) {
		to.began, to.latest = e.Began, sighting{e.URL, e.Began}
	}
	if end := e.End(); !to.met || !end.Before(to.end) {
		to.end, to.ended, to.res, to.file = end, e.Ended, e.Resolution+time.Microsecond, e.File
		if to.hasMetadata = e.Line != nil; to.hasMetadata {
			to.ahead = e.Line.Ahead
		}
	}
	to.met, to.lost, to.unread = true, false, to.unread && !e.Asked().IsRobots()
	j.rest(e, to)
	j.heard(e, to)
	return j.found.Take()
}
