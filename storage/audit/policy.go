package audit

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// policyHost is what the archive shows of an authority's robots.txt, and of those before it. The zero Host was not asked
// for any.
type policyHost struct {
	Asker string // the User-Agent that asked for robots.txt

	policy     policy
	learnedFor int           // exchanges since its text was learned, the first included, at most evidence.AtKill+2
	forgot     bool          // a kill may have made the crawl forget it
	before     evidence.Text // the text that held before this one

	records  []uint64 // hashes of the records that it was learned from, the last of them
	learned  int      // policies that it got in this run
	replaces []said   // the last of those that they took the place of
	back     []said   // those that a kill may have brought back before this run
	aside    *said    // the one before its robots.txt was read for another host, and not for its own since; nil for none

	firstRobots time.Time // the earliest date of an exchange for its robots.txt; zero when it has none
	payload     string    // the payload digest of the last answer with a text
}

// Kind says in a word how the last robots.txt binds.
func (h *policyHost) Kind() string { return h.policy.kind.String() }

// Heard counts an exchange with the host of a crawl that keeps this crawler's promises.
func (h *policyHost) Heard(robots bool) {
	h.learnedFor, h.forgot = min(h.learnedFor+1, evidence.AtKill+2), h.forgot && robots
	for i := range h.replaces {
		h.replaces[i].heard++
	}
}

// Killed notes that the crawl may have been killed before it knew of its last exchanges with the host.
func (h *policyHost) Killed() {
	h.forgot = h.learnedFor <= evidence.AtKill
	if h.learnedFor <= evidence.AtKill+1 { // so may be what its text was used for since
		h.policy.used = false
	}
	h.mayBeBack()
}

// SetBack notes that the clock was set back to an instant: robots.txt is as old, at least, as that.
func (h *policyHost) SetBack(to time.Time) {
	h.policy.setBack(to)
	for i := range h.replaces {
		h.replaces[i].policy.setBack(to)
	}
	for i := range h.back {
		h.back[i].policy.setBack(to)
	}
	if h.aside != nil {
		h.aside.policy.setBack(to)
	}
}

// A kill may take back what the last exchanges with a host said of its robots.txt: then the next run goes by the one
// before, and says so. As a rule that is as old as it was; but where the clock was set back before those exchanges and
// forward behind them, its dates are young again.

// said is a policy that another one took the place of.
type said struct {
	policy  policy
	payload string
	heard   int // exchanges with the host since then, the one that brought the other included
}

// maxBack bounds the policies that a host may be back at.
const maxBack = 2 * (evidence.AtKill + 1)

// replaced notes that an exchange said something of robots.txt, in the place of a policy.
func (h *policyHost) replaced(was policy, payload string) {
	if was.kind == h.policy.kind && was.since.Equal(h.policy.since) {
		return
	}
	h.learned++
	h.replaces = append(h.replaces[max(0, len(h.replaces)-evidence.AtKill):], said{was, payload, 0})
}

// mayBeBack notes which policies a kill may have brought back.
func (h *policyHost) mayBeBack() {
	if h.learned == 0 {
		return // the run that was killed began with what it may have had back itself
	}
	kept := slices.DeleteFunc(h.replaces, func(s said) bool { return s.heard > evidence.AtKill })
	if len(kept) < h.learned {
		h.back = nil
	}
	h.back = append(h.back, kept...)
	h.back = h.back[max(0, len(h.back)-maxBack):]
	h.replaces, h.learned = nil, 0
}

// read notes for whom robots.txt was read. What is read for another host, whose own one redirects there, is no policy of
// the host that it is of (RFC 9309 2.3.1.2), whose own one may go on to hold.
func (h *policyHost) read(forAnother bool, was said) {
	switch {
	case !forAnother:
		h.aside = nil
	case h.aside == nil:
		h.aside = &was
	}
}

// Told takes what the crawl says of the robots.txt that it goes by, before the exchange is judged: it may be the one
// before one that was read for another host, or one that a kill brought back, as long as none was had since.
func (h *policyHost) Told(l *storage.Line) {
	if l == nil || l.Decision != storage.DecisionAllow || l.RobotsRecord == "" || l.RobotsRecord == h.policy.record {
		return
	}
	if h.aside != nil && h.aside.policy.record == l.RobotsRecord {
		h.policy, h.payload = h.aside.policy, h.aside.payload
		return
	}
	if h.learned > 0 {
		return
	}
	i := slices.IndexFunc(h.back, func(s said) bool { return s.policy.record == l.RobotsRecord })
	if i < 0 {
		return
	}
	h.policy, h.payload, h.learnedFor, h.forgot, h.back = h.back[i].policy, h.back[i].payload, evidence.AtKill+2, false, nil
}

// maxRecords bounds the records of a host's robots.txt that are remembered, 8 bytes each.
const maxRecords = 64

// remember notes that the host's robots.txt was learned from a record.
func (h *policyHost) remember(record string) {
	id := maphash.String(recordSeed, record)
	if n := len(h.records); record == "" || n > 0 && h.records[n-1] == id {
		return
	}
	h.records = append(h.records[max(0, len(h.records)-maxRecords+1):], id)
}

var recordSeed = maphash.MakeSeed()

// learnedFrom reports whether the host's robots.txt was learned from a record, now or before: whether the one before may
// still be used is for others to judge. An empty id names none.
func (h *policyHost) learnedFrom(record string) bool {
	return record == "" || slices.Contains(h.records, maphash.String(recordSeed, record))
}

// setBack makes p hold by a clock that was set back to an instant: it is as old, at least, as that.
func (p *policy) setBack(to time.Time) {
	if by := p.since.Sub(to); by > 0 {
		p.since, p.expires, p.ahead = to, p.expires.Add(-by), p.ahead+by
	}
}

// forth reports whether p holds until limit by the dates that it had before the clock was set back, and the clock was set
// forward again to such a date. Whoever asked for something by an earlier date had to ask for robots.txt anew.
func (p *policy) forth(at, limit time.Time) bool {
	return p.ahead > 0 && !at.Before(p.since.Add(p.ahead)) && !at.After(limit.Add(p.ahead))
}

// policy is what the archive shows of an authority's robots.txt.
type policy struct {
	kind    policyKind
	text    evidence.Text
	since   time.Time // when the exchange that said so ended
	expires time.Time
	why     string // of unreachable, unclear and closed: what was answered
	record  string
	used    bool // something else than robots.txt was asked for since

	ahead time.Duration // by how much its dates were set back with the clock
}

// policyKind is how a robots.txt binds (RFC 9309 2.3.1).
type policyKind uint8

const (
	unasked     policyKind = iota
	ruled                  // 2.3.1.1: its rules hold
	absent                 // 2.3.1.3: there is none, everything may be asked for
	closed                 // access to it is restricted, which is full disallow by the draft of 1996, 3.1
	unreachable            // 2.3.1.4: full disallow
	unclear                // the archive does not hold its text
)

func (k policyKind) String() string {
	return [...]string{"not requested", "rules", "none", "closed", "unreachable", "unknown"}[k]
}

// How long a policy holds.
const (
	day     = 24 * time.Hour
	minLife = 5 * time.Minute // what this crawler makes of less (docs/trust/politeness.md, rule 4)
	grace   = time.Minute     // between the verdict and the first byte of the request: resolver, queue at the address, connection
)

// robots takes what an exchange says of robots.txt to the authorities that it binds.
func (j *judge) robots(e *evidence.Exchange, own *policyHost) {
	p := e.Asked()
	key := p.Key
	asked := p.Authority + p.Target
	waiting := j.redirects.due(key, e, j.m.Ours())
	isFirst, forAnother := p.IsRobots(), j.forAnother(e, p, waiting)
	if isFirst && !(forAnother && leadsAway(e, p)) &&
		!slices.ContainsFunc(waiting, func(w hop) bool { return w.origin == p.Authority }) {
		waiting = append(waiting, hop{origin: p.Authority})
	}
	for _, w := range waiting {
		to := own
		if w.origin != p.Authority {
			to = j.host(w.origin)
		}
		was, payload := to.policy, to.payload
		j.learn(e, to, w, asked)
		if w.origin == p.Authority {
			to.read(forAnother, said{policy: was, payload: payload})
		}
	}
}

// learn makes an exchange the policy of a host, or goes on to where it redirects.
func (j *judge) learn(e *evidence.Exchange, to *policyHost, w hop, asked string) {
	now := e.End()
	s := e.Status
	if to.policy.kind == unasked && to.firstRobots.IsZero() || e.Began.Before(to.firstRobots) {
		to.firstRobots = e.Began
	}
	if e.HasRequest {
		to.Asker = e.Agent
	}
	was, payload := to.policy, to.payload
	defer func() {
		to.replaced(was, payload)
		to.remember(to.policy.record)
	}()
	switch {
	case e.Damaged.File != "" && (!e.HasAnswer || e.Damaged == e.Place):
		to.policy = policy{kind: unclear, since: now, expires: now.Add(day), why: "its record is damaged", record: e.Record}
	case !e.Answered || s == 0:
		j.fail(to, now, "no answer")
	case j.m.Ours() && e.Cut == evidence.CutUnread:
		j.fail(to, now, "an answer that breaks HTTP")
	case s == 304:
		j.renew(e, to, now)
	case s >= 300 && s < 400:
		j.follow(e, to, w, asked)
	case s >= 200 && s < 300 && (e.Method == "HEAD" || s == 206 && !j.m.Ours() && !e.Answer.Whole()):
		j.unread(e, to)
	case s >= 200 && s < 300:
		j.text(e, to, now)
	case (s == 429 || s == 408 || s == 425) && j.m.Promises(): // politeness rule 6; by RFC 9309 2.3.1.3 alone they say that there is none
		j.fail(to, now, "status "+strconv.Itoa(s))
	case (s == 401 || s == 403) && j.m.Ours() && j.m.Info.Standard == "draft1996":
		to.policy = policy{kind: closed, since: now, expires: now.Add(day), why: "status " + strconv.Itoa(s),
			record: e.Record}
	case s >= 400 && s < 500:
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: e.Record}
	default:
		j.fail(to, now, "status "+strconv.Itoa(s))
	}
}

// fail makes everything of a host disallowed (RFC 9309 2.3.1.4), unless a text is at hand: 2.4 lets that be used for
// longer while robots.txt cannot be reached. This crawler uses it until it expires; to it one of a later date than now has.
func (j *judge) fail(to *policyHost, now time.Time, why string) {
	p := &to.policy
	if p.kind == ruled && (!j.m.Promises() || now.Before(p.expires) && !now.Before(p.since.Add(p.ahead))) {
		if !j.m.Promises() {
			to.policy.expires = now.Add(30 * day)
		}
		return
	}
	to.policy = policy{kind: unreachable, text: to.policy.text, since: now, why: why} // a 304 may confirm the text yet
}

// renew makes the text at hand hold for longer (RFC 9111 4.3.4).
func (j *judge) renew(e *evidence.Exchange, to *policyHost, now time.Time) {
	switch {
	case to.policy.text.Known:
		to.policy = policy{kind: ruled, text: to.policy.text, since: now, expires: now.Add(j.life(e, now)), record: e.Record}
		to.forgot = false
	case j.m.Ours() && to.policy.kind != unclear:
		j.fail(to, now, "status 304, and no earlier robots.txt")
	default:
		to.policy = policy{kind: unclear, since: now, expires: now.Add(day),
			why: "status 304, and the robots.txt that holds is not in the files"}
	}
}

// text makes the body of an answer the policy.
func (j *judge) text(e *evidence.Exchange, to *policyHost, now time.Time) {
	next := policy{kind: ruled, since: now, expires: now.Add(j.life(e, now)), record: e.Record}
	switch {
	case e.Status == 206 && j.m.Ours():
		j.fail(to, now, "status 206, without a request for a range")
		return
	case e.Bodyless && e.Payload != "" && to.policy.text.Known && to.payload == e.Payload: // the same as before
		next.text = to.policy.text
	case e.Bodyless && e.Revisit != "":
		next.kind, next.why = unclear, "it is kept as a revisit of a record that is not in the files"
	case !e.Kept && !e.Bodyless:
		next.kind, next.why = unclear, "the redirect to it was met after it"
	case e.Cut == "disconnect" || e.Cut == "time": // a network error, and so complete disallow (RFC 9309 2.3.1.4)
		j.fail(to, now, "incomplete (WARC-Truncated: "+e.Cut+")")
		return
	case e.Cut != "" && !j.m.Ours() && e.Text.Length < evidence.Enough: // of ours it is cut behind what must be read
		next.kind, next.why = unclear, "it is cut (WARC-Truncated: "+e.Cut+
			") before the 500 KiB that must be read (RFC 9309 2.5)"
	case e.Incomplete != "" && e.Text.Length == 0 && !j.m.Ours():
		next.kind, next.why = unclear, "its text is not in the archive: "+e.Incomplete
	case e.Incomplete != "":
		j.fail(to, now, "incomplete: "+e.Incomplete)
		return
	case e.TextFault != "" && j.m.Ours():
		j.fail(to, now, e.TextFault)
		return
	case e.TextFault != "":
		next.kind, next.why = unclear, e.TextFault
	default:
		next.text = e.Text
	}
	if to.policy.text.Known && to.policy.text.SHA256 != next.text.SHA256 {
		to.before = to.policy.text
	}
	to.policy, to.payload, to.learnedFor, to.forgot = next, e.Payload, 0, false
}

// life is how long an answer may be used. RFC 9309 2.4 asks for 24 h at most and allows, but does not ask for, what
// Cache-Control says; this crawler promises that too (RFC 9111 4.2).
func (j *judge) life(e *evidence.Exchange, now time.Time) time.Duration {
	if !j.m.Promises() {
		return day
	}
	fresh, given := time.Duration(0), false
	for _, v := range e.Answer.CacheControl {
		for part := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store", "no-cache":
				fresh, given = 0, true
			case "max-age":
				if d, _ := evidence.Seconds(strings.Trim(value, ` "`)); !given || d < fresh {
					fresh, given = d, true
				}
			}
		}
	}
	if !given && e.Answer.Expires.Value != "" {
		date, ok := evidence.Date(e.Answer.Date.Value)
		if !ok {
			date = now
		}
		if t, ok := evidence.Date(e.Answer.Expires.Value); ok {
			fresh = t.Sub(date)
		}
		given = true
	}
	if !given {
		return day
	}
	age, _ := evidence.Seconds(e.Answer.Age.Value)
	return min(max(fresh-age, minLife), day)
}

// unread takes an answer that has not the text of robots.txt: to HEAD, or with a part of it. The policy at hand
// stays.
func (j *judge) unread(e *evidence.Exchange, to *policyHost) {
	if to.policy.kind != unasked {
		return
	}
	to.policy.why = "it was requested only by HEAD, at " + finding.Clock(e.Began) +
		", and the response has no rules"
	if e.Method != "HEAD" {
		to.policy.why = "only a part of it was requested, at " + finding.Clock(e.Began)
	}
}
