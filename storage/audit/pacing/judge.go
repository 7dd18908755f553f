package pacing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

const day = 24 * time.Hour

// Judge checks exchanges against the delays that were due before them.
type Judge struct {
	Gaps int64 // pauses measured

	m     evidence.Measure
	found finding.Hearing
	addrs map[string]*address
	kept  int // starts, of all hosts
}

func NewJudge(found finding.Hearing) *Judge {
	return &Judge{found: found, addrs: map[string]*address{}}
}

// Exchange judges the delay before an exchange with a host whose robots.txt requires site.
func (j *Judge) Exchange(e *evidence.Exchange, to *Host, m evidence.Measure, site Site) {
	j.m = m
	to.taken(e, site.Taken)
	j.timing(e, to, site)
	j.declared(e, to)
}

// Flush judges the starts at addresses that were kept back until others were in their order.
func (j *Judge) Flush() {
	for _, at := range j.addrs {
		for len(at.starts) > 0 {
			j.start(at)
		}
	}
}

func (j *Judge) SetBack() {
	j.Flush()
	clear(j.addrs)
}

// longestError is the longest rest after failures.
const longestError = time.Hour

// whoAsked checks that the recorded delay source can have required its delay, now or before the last exchange. It
// returns the delay that the source did require, or "" if they agree. Errors are compared only with their schedule,
// since attempts that reached no server leave no record.
func (j *Judge) whoAsked(l *storage.Line, to *Host, t *terms, required time.Duration) string {
	same := func(name string, may ...time.Duration) string {
		if slices.ContainsFunc(may, func(d time.Duration) bool { return d > 0 && (l.Pace-d).Abs() <= slack(d) }) {
			return ""
		}
		return name + " requires " + finding.Round(max(slices.Max(may), 0))
	}
	if byRobots := l.PaceBy == storage.ByCrawlDelay || l.PaceBy == storage.ByRequestRate; byRobots &&
		(len(j.m.Standards()) > 1 || (t.unsure || to.was.unsure) && l.Pace >= required) {
		return "" // an older document decides, or another host's robots.txt redirected here before a kill or a step of the clock
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
		if to.Reduced || t.taken || to.lostLimit && l.PaceBy == storage.ByRateLimit {
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

// slack is the tolerance between the clocks of records and the one that timed the delays.
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
	if !to.seen {
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
	late := e.Began // with a resolution of a second, it may have begun at the end of one
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

// backwards checks an exchange of another crawler that is dated before its predecessor: the delay is due between any two dates.
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

// pause checks a delay between the bounds least and most. Delays that t may require beyond required only raise doubts.
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

// claimedGap compares the delay that the crawl recorded with the records. In a new file the first may differ: a killed run
// may not have known its last exchange.
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
	if tooLong := l.Gap > 0 && to.ended && l.Gap > seen+slack(seen); tooLong && to.file != e.File {
		f := e.Finding(finding.CrashInFlight, "the delay in the records: "+finding.Round(seen),
			"the crawl recorded "+finding.Round(l.Gap)+": it was killed before it recorded its last response")
		f.Place, f.Note = e.LineAt, true
		j.found.Add(f)
	} else if tooLong {
		at("the delay in the records: "+finding.Round(seen), "the crawl recorded "+finding.Round(l.Gap))
	}
	required, by := t.all(t.standing(true, e.Own))
	switch {
	case l.PaceBy == "" || l.Gap == 0 && to.file != e.File: // a run after a kill may lack the last exchange
	case l.Pace+slack(required) < required:
		at("the delay that was due: "+finding.Round(required)+", "+by,
			"the crawl recorded "+finding.Round(l.Pace)+", "+string(l.PaceBy))
	case to.file == e.File && !e.Own && !l.Own: // a run after a kill may lack the last values
		if can := j.whoAsked(l, to, t, required); can != "" {
			at("the reason for the delay: "+can, "the crawl recorded "+finding.Round(l.Pace)+", "+string(l.PaceBy))
		}
	}
}

// hidden notes that the crawl recorded a shorter delay than its records show: only the ledger has requests without records.
func (j *Judge) hidden(e *evidence.Exchange, to *Host, seen time.Duration) {
	if e.Since = to.end; !j.m.Ledger {
		j.found.Doubt(e.Authority, finding.GapTold,
			"a recorded delay is shorter than the records show: only the ledger has attempts that reached no server",
			e.Line.Gap, seen)
	}
}

// After adds an exchange, already judged and dated, to the state of its host.
func (j *Judge) After(e *evidence.Exchange, to *Host, m evidence.Measure) {
	j.m = m
	j.starts(e, to)
	if !to.seen || e.Began.After(to.began) {
		to.began, to.latest = e.Began, sighting{e.URL, e.Began}
	}
	if end := e.End(); !to.seen || !end.Before(to.end) {
		to.end, to.ended, to.res, to.file = end, e.Ended, e.Resolution+time.Microsecond, e.File
		if to.hasMetadata = e.Line != nil; to.hasMetadata {
			to.ahead = e.Line.Ahead
		}
	}
	to.seen, to.lost, to.lostRobots = true, false, to.lostRobots && !e.Asked().IsRobots()
	j.rest(e, to)
	j.learn(e, to)
}

// terms are the delays due before an exchange, by their source (docs/trust/politeness.md, rules 7, 9 and 14).
type terms struct {
	settled            time.Duration // the floor that the crawl had set
	set                time.Duration // the delay it recorded for some hosts only, this one among them
	floor, delay, rate time.Duration // these hold as long as settings and robots.txt do
	limit              time.Duration // the space between requests that RateLimit requires
	answer             time.Duration // for the host's response times: at least this
	mayAnswer          time.Duration // and possibly so much, if the archive lacks the start of an answer
	unlessTaken        time.Duration // for RateLimit and response times, unless a redacted response changed them
	taken              bool          // something may have been, since the exchange before
	unsure             bool          // the crawl may have another robots.txt than this one, or none
}

const (
	byFloor      = "floor (politeness rule 9)"
	bySet        = "the crawl's own setting for the host (host-delay-ms)"
	byDelay      = "Crawl-delay"
	byRate       = "Request-rate (politeness rule 7)"
	byLimit      = "RateLimit (politeness rule 14)"
	byAnswers    = "five times the usual response time, 30 s at most (politeness rule 9)"
	answerFactor = 5
	answerMost   = 30 * time.Second
)

func (j *Judge) terms(e *evidence.Exchange, to *Host, site Site) (t terms) {
	t.unsure = site.Unasked || site.Forgotten || site.Hearsay || to.lostRobots
	t.taken = site.Taken.Before > 0
	t.floor = j.m.Floor
	if j.m.Promises() {
		t.settled = time.Second
		if j.m.Ours() {
			t.settled = max(j.m.Info.Floor, t.settled)
		}
		t.floor = max(j.m.Floor, t.settled)
	}
	if e.Own {
		t.floor = 0
	}
	if j.m.Promises() && j.m.Ours() {
		t.set = j.m.Info.Term(e.Authority).Delay
	}
	if !site.Forgotten || !e.Robots { // else it requests robots.txt because it forgot it
		t.delay, t.rate = site.Delay, site.Rate
	}
	if !j.m.Promises() {
		t.rate = 0 // it limits the mean rate, not each delay; keeping it as a delay is this crawler's promise
		return t
	}
	if e.Own { // rule 18: response times do not bind them, and concurrent exchanges have no known order
		return t
	}
	if to.spaced > 0 && to.spacedUntil.Sub(to.end) > slack(0) {
		t.limit = to.spaced
	}
	p := to.answers.pace()
	t.answer, t.mayAnswer, t.unlessTaken = p.least, p.most, p.unlessTaken
	if to.lostLimit {
		t.unlessTaken, t.limit = max(t.unlessTaken, t.limit), 0
	}
	return t
}

// standing returns the delay due between any two exchanges with a host, and its source.
func (t *terms) standing(ours, own bool) (time.Duration, string) {
	d, by := t.floor, "the audit's floor"
	switch {
	case own:
		by = "own host"
	case ours && t.floor == t.settled:
		by = byFloor
	}
	d, by = longer(d, by, t.set, bySet)
	d, by = longer(d, by, t.delay, byDelay)
	return longer(d, by, t.rate, byRate)
}

func (t *terms) all(d time.Duration, by string) (time.Duration, string) {
	d, by = longer(d, by, t.limit, byLimit)
	return longer(d, by, t.answer, byAnswers)
}

func longer(d time.Duration, by string, other time.Duration, otherBy string) (time.Duration, string) {
	if other > d {
		return other, otherBy
	}
	return d, by
}

// Cross notes that the archive continues in another file. killed: another run of this crawler begins there.
func (h *Host) Cross(killed bool) {
	last := h.answers.last
	for i := max(0, len(last)-evidence.AtKill); i < len(last); i++ {
		last[i].unsure = true
	}
	if h.spacedFor < evidence.AtKill {
		h.spaced = 0
	}
	if !killed {
		return
	}
	h.dailyLost += evidence.AtKill
	if h.restFor < evidence.AtKill {
		h.rest, h.backoff = time.Time{}, time.Time{}
	}
}

// learn takes the values of an exchange that set the next delay: how long the answer took to begin, and RateLimit.
func (j *Judge) learn(e *evidence.Exchange, to *Host) {
	if !j.m.Promises() {
		return
	}
	to.spacedFor, to.emptied = min(to.spacedFor+1, evidence.AtKill), 0
	to.restFor = min(to.restFor+1, evidence.AtKill)
	l := e.Line
	switch {
	case e.Own: // several at once are in no order
		to.answers.last = nil
	case l != nil && l.FirstByte > 0:
		if e.Ended && l.FirstByte > e.Took {
			j.found.Add(e.Finding(finding.BadRecord, "an answer begins before it ends: within "+finding.Round(e.Took),
				"firstByteTimeMs is "+finding.Round(l.FirstByte)))
		}
		to.answers.add(answerTime{least: l.FirstByte, most: l.FirstByte})
	case e.Answered && e.Status != 0:
		most := answerMost / answerFactor
		if e.Ended {
			most = min(most, e.Took)
		}
		to.answers.add(answerTime{most: most})
	}
	j.limited(e, to)
}

// limited takes the limit of RateLimit, unless a Retry-After replaces it.
func (j *Judge) limited(e *evidence.Exchange, to *Host) {
	q := evidence.RateLimit(e.Answer.RateLimit)
	if q.Given {
		to.mayLimit = [2]time.Duration{q.Space, q.Wait}
	}
	switch {
	case !q.Given || e.Own || j.retryGiven(e):
		return
	case e.Unread(): // the crawl may or may not have understood its head
		to.spaced = 0
		return
	}
	end := e.End()
	to.emptied = q.Wait
	to.spaced, to.spacedUntil, to.spacedFor, to.lostLimit = q.Space, end.Add(q.Until), 0, false
	if until := end.Add(q.Wait); q.Wait > 0 && until.After(to.backoff) {
		to.backoff, to.restAt, to.restFor = until, end, -1
		to.backoffWhy = fmt.Sprintf("RateLimit: %s, of which nothing is left for %v (politeness rule 14)",
			finding.Short(e.Answer.RateLimit), q.Wait)
	}
}

const (
	// A request may be sent so long after its hours were checked: names are looked up and connections made in between.
	lateSend   = 2 * time.Minute
	aDay       = day - lateSend
	lateWindow = 5 * time.Second // the same for the window, which is checked right before the request
	mostDaily  = 5000            // instants kept of a host; a higher declared limit is not checked
)

// declared judges an exchange by the hours, and the requests in a day, that the archive declares for its host.
func (j *Judge) declared(e *evidence.Exchange, to *Host) {
	if !j.m.Ours() || e.Began.IsZero() {
		return
	}
	in := j.m.Info
	if in.Outside(e.Began) && in.Outside(e.Began.Add(-lateWindow)) && !j.jumped(e, in.Outside) {
		j.found.Add(e.Finding(finding.Window, "no request outside the window that the archive declares (window, guide to steering a crawl)",
			"it began at "+e.Began.UTC().Format("Mon 2006-01-02 15:04:05")+" UTC"))
	}
	closed := func(t time.Time) bool { _, is := in.Closed(e.Authority, t); return is }
	if hosts, is := in.Closed(e.Authority, e.Began); is && closed(e.Began.Add(-lateSend)) && !j.jumped(e, closed) {
		j.found.Add(e.Finding(finding.Hours, fmt.Sprintf("the hours that the archive declares for %s (host-hours, configuration reference)", finding.Short(hosts)),
			"it began at "+e.Began.UTC().Format("15:04:05")+" UTC"))
	}
	most := int(in.Term(e.Authority).PerHostPerDay)
	if most == 0 || most > mostDaily || !e.HasRequest {
		to.daily, to.dailyLost = nil, 0
		return
	}
	kept := to.daily[:0]
	for _, t := range to.daily {
		if e.Began.Sub(t) < aDay {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		to.dailyLost = 0
	}
	to.daily = append(kept, e.Began)
	if n := len(to.daily); n > most+to.dailyLost {
		to.daily = to.daily[1:] // each excess request is reported once
		j.found.Add(e.Finding(finding.PerDay, fmt.Sprintf("%d requests to the host within 24 hours, as the archive declares (host-per-day, configuration reference)", most),
			fmt.Sprintf("it is request %d of them", n)))
	}
}

// jumped reports whether hours were open by the clock before it jumped ahead: the computer slept before it sent the request.
func (j *Judge) jumped(e *evidence.Exchange, closed func(time.Time) bool) bool {
	return e.Line != nil && e.Line.Ahead > 0 && !closed(e.Began.Add(-e.Line.Ahead))
}

// Delays after a response that names no time (docs/trust/politeness.md, rules 11 and 12), at least.
const (
	afterBusy   = time.Minute
	afterBroken = 30 * time.Second
)

// hearing is how long concurrent exchanges with an own host may take to learn of a response to one of them.
const hearing = time.Second

// rested checks that e came after the rest that a response required. Concurrent exchanges with own hosts may be unaware.
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

// rest notes how long the server's response, or its error, requires the crawler to back off (RFC 9110 10.2.3).
func (j *Judge) rest(e *evidence.Exchange, to *Host) {
	s := e.Status
	busy, given := s == 429 || s == 503, j.retryGiven(e)
	to.mayRest = time.Time{}
	if e.LeftOut != "" {
		if busy || s >= 500 {
			j.found.Doubt(e.Authority, finding.RetryAfter,
				"a response and the delay that it required are left out of the package", 0, 0)
		}
		return
	}
	for _, v := range e.Answer.RetryAfter {
		until, ok := j.until(strings.TrimSpace(v), e.End())
		if !ok || !given || strings.TrimSpace(v) == "" {
			continue
		}
		if j.m.Ours() && e.Unread() { // the crawl may have read it or not
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
func (j *Judge) retryGiven(e *evidence.Exchange) bool {
	s := e.Status
	if s != 429 && s != 503 && !(j.m.Promises() && (s >= 300 && s < 400 || e.Robots)) {
		return false
	}
	for _, v := range e.Answer.RetryAfter {
		if _, ok := j.until(strings.TrimSpace(v), e.End()); ok && strings.TrimSpace(v) != "" {
			return true
		}
	}
	return false
}

// until returns the time of a Retry-After. An invalid one, or one over a year away, is a day for a crawl that keeps this
// crawler's promises, and nothing for others.
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
