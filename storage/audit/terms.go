package audit

import (
	"fmt"
	"slices"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/httpfield"
)

// terms are the pauses that are due before an exchange, by who asks for them (docs/politeness.md, rules 7, 9 and 14).
type terms struct {
	settled            time.Duration // the floor that the crawl had set
	floor, delay, rate time.Duration // these stand as long as settings and robots.txt do
	limit              time.Duration // what RateLimit spaces requests by
	answer             time.Duration // for the host's response times: at least this
	mayAnswer          time.Duration // and it may be so much, where the archive does not say when an answer began
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
func (a *audit) terms(e *evidence.Exchange, to *host) (t terms) {
	t.floor = a.o.Floor
	if a.strict() {
		t.settled = time.Second
		if a.ours() {
			t.settled = max(a.info.Floor, t.settled)
		}
		t.floor = max(a.o.Floor, t.settled)
	}
	if e.Own {
		t.floor = 0
	}
	if !to.forgot || !e.Robots { // else it asks for robots.txt since it does not know it
		t.delay, t.rate = a.sitePace(to, e.Agent)
	}
	if !a.strict() {
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

// sitePace is what the robots.txt of a host asks for: as Crawl-delay, and as Request-rate.
func (a *audit) sitePace(to *host, agent string) (delay, rate time.Duration) {
	if !to.policy.text.Known || to.policy.kind != ruled {
		return 0, 0
	}
	var d, r float64
	for _, token := range a.tokens(agent) {
		if said, err := a.texts.Pace(to.policy.text, token); err == nil {
			d, r = max(d, said.Delay), max(r, said.Rate)
		}
	}
	const year = 365 * 24 * 3600
	return time.Duration(min(d, year) * float64(time.Second)), time.Duration(min(r, year) * float64(time.Second))
}

// atKill is how many of a host's last exchanges a crawl may not know of after a kill, though they are archived: the
// frontier's commit comes after them. Whether there was one, between two files, the archive alone does not say.
const atKill = 2

// answers are the last response times of a host, the newest last.
type answers struct{ last []answerTime }

// answerTime is a response time: from the request to the first octet of the answer.
type answerTime struct {
	least, most time.Duration // the same, if the archive tells it
	unsure      bool          // a kill may have made the crawl forget it
}

// counted is how many response times make the usual one; with those that may be forgotten, so many are kept.
const (
	usualOf   = 5
	maxUnsure = 2 * atKill
)

func (s *answers) add(t answerTime) {
	if len(s.last) == usualOf+maxUnsure {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, t)
}

// cross notes that the archive goes on in another file.
func (s *answers) cross() {
	for i := max(0, len(s.last)-atKill); i < len(s.last); i++ {
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

// cross notes that the archive goes on in another file. killed says that another run of ours begins there, so that the one
// before may have been killed.
func (h *host) cross(killed bool) {
	h.answers.cross()
	if h.spacedFor < atKill {
		h.spaced = 0
	}
	if !killed {
		return
	}
	if h.restFor < atKill {
		h.rest, h.backoff = time.Time{}, time.Time{}
	}
	h.forgot = h.learnedFor <= atKill
	if h.learnedFor <= atKill+1 { // so may be what its text was used for since
		h.policy.used = false
	}
}

// heard takes what an exchange says of the pause that follows it: how long the answer took to begin, and RateLimit.
func (a *audit) heard(h *evidence.Joined, to *host) {
	e := &h.Exchange
	if !a.strict() {
		return
	}
	to.spacedFor, to.emptied = min(to.spacedFor+1, atKill), 0
	to.restFor, to.learnedFor, to.forgot = min(to.restFor+1, atKill), min(to.learnedFor+1, atKill+2), to.forgot && e.Robots
	l := e.Line
	switch {
	case e.Own: // several at once are in no order
		to.answers.last = nil
	case l != nil && l.FirstByte > 0:
		if e.Ended && l.FirstByte > e.Took {
			a.report(e.Finding(finding.BadRecord, "an answer begins before it ends: within "+finding.Round(e.Took), "firstByteTimeMs says "+finding.Round(l.FirstByte)))
		}
		to.answers.add(answerTime{least: l.FirstByte, most: l.FirstByte})
	case e.Answered && e.Status != 0:
		most := answerMost / answerFactor
		if e.Ended {
			most = min(most, e.Took)
		}
		to.answers.add(answerTime{most: most})
	}
	a.limited(h, to)
}

// limited takes what RateLimit asks for, unless a Retry-After is obeyed in its place.
func (a *audit) limited(h *evidence.Joined, to *host) {
	e := &h.Exchange
	q := httpfield.RateLimit(h.Answer.RateLimit)
	if q.Given {
		to.mayLimit = [2]time.Duration{q.Space, q.Wait}
	}
	switch {
	case !q.Given || e.Own || a.retryGiven(h):
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
		to.backoffWhy = fmt.Sprintf("RateLimit: %s, of which nothing is left for %v (docs/politeness.md, rule 14)", finding.Short(h.Answer.RateLimit), q.Wait)
	}
}
