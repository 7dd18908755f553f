package pacing

import (
	"fmt"
	"slices"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/httpfield"
	"curtsy/storage/audit/measure"
)

// terms are the pauses that are due before an exchange, by who asks for them (docs/politeness.md, rules 7, 9 and 14).
type terms struct {
	settled            time.Duration // the floor that the crawl had set
	floor, delay, rate time.Duration // these stand as long as settings and robots.txt do
	limit              time.Duration // what RateLimit spaces requests by
	answer             time.Duration // for the host's response times: at least this
	mayAnswer          time.Duration // and it may be so much, where the archive does not say when an answer began
	unsure             bool          // the crawl may know of another robots.txt than the one at hand, or of none
}

// The words with which findings name who asks.
const (
	byFloor      = "floor (docs/politeness.md, rule 9)"
	byDelay      = "Crawl-delay"
	byRate       = "Request-rate (docs/politeness.md, rule 7)"
	byLimit      = "RateLimit (docs/politeness.md, rule 14)"
	byAnswers    = "five times the usual response time, 30 s at most (docs/politeness.md, rule 9)"
	answerFactor = 5
	answerMost   = 30 * time.Second
)

// terms are what is due before e.
func (j *Judge) terms(e *evidence.Exchange, to *Host, site Site) (t terms) {
	t.unsure = site.Unasked || site.Forgotten
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
	if !site.Forgotten || !e.Robots { // else it asks for robots.txt since it does not know it
		t.delay, t.rate = site.Delay, site.Rate
	}
	if !j.m.Promises() {
		t.rate = 0 // it asks for a mean, and for no pause; that it is kept as one is this crawler's promise
		return t
	}
	if e.Own { // rule 18: response times do not bind them, and of several exchanges at once it is not known which heard what
		return t
	}
	if to.spaced > 0 && to.spacedUntil.Sub(to.end) > slack(0) {
		t.limit = to.spaced
	}
	t.answer, t.mayAnswer, _ = to.answers.pace()
	return t
}

// standing is the pause that is due between any two exchanges with a host, and who asks for it.
func (t *terms) standing(ours, own bool) (time.Duration, string) {
	d, by := t.floor, "the audit's floor"
	switch {
	case own:
		by = "own host"
	case ours && t.floor == t.settled:
		by = byFloor
	}
	d, by = longer(d, by, t.delay, byDelay)
	return longer(d, by, t.rate, byRate)
}

// all is the pause that is due now.
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

// answers are the last response times of a host, the newest last.
type answers struct{ last []answerTime }

// answerTime is a response time: from the request to the first byte of the answer.
type answerTime struct {
	least, most time.Duration // the same, if the archive tells it
	unsure      bool          // a kill may have made the crawl forget it
}

// counted is how many response times make the usual one; with those that may be forgotten, so many are kept.
const (
	usualOf   = 5
	maxUnsure = 2 * measure.AtKill
)

func (s *answers) add(t answerTime) {
	if len(s.last) == usualOf+maxUnsure {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, t)
}

// cross notes that the archive goes on in another file.
func (s *answers) cross() {
	for i := max(0, len(s.last)-measure.AtKill); i < len(s.last); i++ {
		s.last[i].unsure = true
	}
}

// pace is the pause that the response times ask for: at least, and what that may be where the archive does not say when
// answers began. The crawl may have forgotten any of those that are unsure, so the least that any choice of them gives
// is what can be required. The crawl itself may have kept any of those choices; the longest of them is largest.
func (s *answers) pace() (least, most, largest time.Duration) {
	var unsure []int
	for i := range s.last {
		if s.last[i].unsure {
			unsure = append(unsure, i)
		}
	}
	switch {
	case len(s.last) == 0:
		return 0, 0, 0
	case len(unsure) > maxUnsure:
		return 0, 0, answerMost
	}
	least, most = answerMost, answerMost
	var low, high []time.Duration
	for forgotten := range 1 << len(unsure) {
		low, high = low[:0], high[:0]
		for i := len(s.last) - 1; i >= 0 && len(low) < usualOf; i-- {
			if at := slices.Index(unsure, i); at >= 0 && forgotten>>at&1 == 1 {
				continue
			}
			low, high = append(low, s.last[i].least), append(high, s.last[i].most)
		}
		slow := answerFactor * usual(high)
		least, most, largest = min(least, answerFactor*usual(low)), min(most, slow), max(largest, slow)
	}
	return least, most, largest
}

// usual is the middle one; of an even number the larger of the two in the middle (docs/politeness.md, rule 9).
func usual(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// Cross notes that the archive goes on in another file. killed says that another run of ours begins there, so that
// the one before may have been killed.
func (h *Host) Cross(killed bool) {
	h.answers.cross()
	if h.spacedFor < measure.AtKill {
		h.spaced = 0
	}
	if !killed {
		return
	}
	if h.restFor < measure.AtKill {
		h.rest, h.backoff = time.Time{}, time.Time{}
	}
}

// heard takes what an exchange says of the pause that follows it: how long the answer took to begin, and RateLimit.
func (j *Judge) heard(h *evidence.Joined, to *Host) {
	e := &h.Exchange
	if !j.m.Promises() {
		return
	}
	to.spacedFor, to.emptied = min(to.spacedFor+1, measure.AtKill), 0
	to.restFor = min(to.restFor+1, measure.AtKill)
	l := e.Line
	switch {
	case e.Own: // several at once are in no order
		to.answers.last = nil
	case l != nil && l.FirstByte > 0:
		if e.Ended && l.FirstByte > e.Took {
			j.found.Add(e.Finding(finding.BadRecord, "an answer begins before it ends: within "+finding.Round(e.Took),
				"firstByteTimeMs says "+finding.Round(l.FirstByte)))
		}
		to.answers.add(answerTime{least: l.FirstByte, most: l.FirstByte})
	case e.Answered && e.Status != 0:
		most := answerMost / answerFactor
		if e.Ended {
			most = min(most, e.Took)
		}
		to.answers.add(answerTime{most: most})
	}
	j.limited(h, to)
}

// limited takes what RateLimit asks for, unless a Retry-After is obeyed in its place.
func (j *Judge) limited(h *evidence.Joined, to *Host) {
	e := &h.Exchange
	q := httpfield.RateLimit(h.Answer.RateLimit)
	if q.Given {
		to.mayLimit = [2]time.Duration{q.Space, q.Wait}
	}
	switch {
	case !q.Given || e.Own || j.retryGiven(h):
		return
	case e.Unread(): // whether the crawl could make anything of its head is not known
		to.spaced = 0
		return
	}
	end := e.End()
	to.emptied = q.Wait
	to.spaced, to.spacedUntil, to.spacedFor = q.Space, end.Add(q.Until), 0
	if until := end.Add(q.Wait); q.Wait > 0 && until.After(to.backoff) {
		to.backoff, to.restAt, to.restFor = until, end, -1
		to.backoffWhy = fmt.Sprintf("RateLimit: %s, of which nothing is left for %v (docs/politeness.md, rule 14)",
			finding.Short(h.Answer.RateLimit), q.Wait)
	}
}
