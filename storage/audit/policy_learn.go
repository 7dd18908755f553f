package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

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
func (j *judge) robots(h *evidence.Joined, own *policyHost) {
	p := h.Exchange.Asked()
	key := p.Key
	asked := p.Authority + p.Target
	waiting := j.redirects.due(key, &h.Exchange, j.m.Ours())
	isFirst, forAnother := p.IsRobots(), j.forAnother(h, p, waiting)
	if isFirst && !(forAnother && leadsAway(h, p)) &&
		!slices.ContainsFunc(waiting, func(w hop) bool { return w.origin == p.Authority }) {
		waiting = append(waiting, hop{origin: p.Authority})
	}
	for _, w := range waiting {
		to := own
		if w.origin != p.Authority {
			to = j.host(w.origin)
		}
		was, payload := to.policy, to.payload
		j.learn(h, to, w, asked)
		if w.origin == p.Authority {
			to.read(forAnother, said{policy: was, payload: payload})
		}
	}
}

// learn makes an exchange the policy of a host, or goes on to where it redirects.
func (j *judge) learn(h *evidence.Joined, to *policyHost, w hop, asked string) {
	e, now := &h.Exchange, h.Exchange.End()
	s := e.Status
	if to.policy.kind == unasked && to.firstRobots.IsZero() || e.Began.Before(to.firstRobots) {
		to.firstRobots = e.Began
	}
	if h.HasRequest {
		to.Asker = e.Agent
	}
	was, payload := to.policy, to.payload
	defer func() {
		to.replaced(was, payload)
		to.remember(to.policy.record)
	}()
	switch {
	case e.Damaged.File != "" && (!h.HasAnswer || e.Damaged == e.Place):
		to.policy = policy{kind: unclear, since: now, expires: now.Add(day), why: "its record is damaged", record: e.Record}
	case !e.Answered || s == 0:
		j.fail(to, now, "no answer")
	case j.m.Ours() && e.Cut == evidence.CutUnread:
		j.fail(to, now, "an answer that breaks HTTP")
	case s == 304:
		j.renew(h, to, now)
	case s >= 300 && s < 400:
		j.follow(h, to, w, asked)
	case s >= 200 && s < 300 && (e.Method == "HEAD" || s == 206 && !j.m.Ours() && !h.Answer.Whole()):
		j.unread(h, to)
	case s >= 200 && s < 300:
		j.text(h, to, now)
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
func (j *judge) renew(h *evidence.Joined, to *policyHost, now time.Time) {
	switch {
	case to.policy.text.Known:
		to.policy = policy{kind: ruled, text: to.policy.text, since: now, expires: now.Add(j.life(h, now)), record: h.Exchange.Record}
		to.forgot = false
	case j.m.Ours() && to.policy.kind != unclear:
		j.fail(to, now, "status 304, and no earlier robots.txt")
	default:
		to.policy = policy{kind: unclear, since: now, expires: now.Add(day),
			why: "status 304, and the robots.txt that holds is not in the files"}
	}
}

// text makes the body of an answer the policy.
func (j *judge) text(h *evidence.Joined, to *policyHost, now time.Time) {
	e := &h.Exchange
	next := policy{kind: ruled, since: now, expires: now.Add(j.life(h, now)), record: e.Record}
	switch {
	case e.Status == 206 && j.m.Ours():
		j.fail(to, now, "status 206, without a request for a range")
		return
	case h.Bodyless && e.Payload != "" && to.policy.text.Known && to.payload == e.Payload: // the same as before
		next.text = to.policy.text
	case h.Bodyless && e.Revisit != "":
		next.kind, next.why = unclear, "it is kept as a revisit of a record that is not in the files"
	case !h.Kept && !h.Bodyless:
		next.kind, next.why = unclear, "the redirect to it was met after it"
	case e.Cut == "disconnect" || e.Cut == "time": // a network error, and so complete disallow (RFC 9309 2.3.1.4)
		j.fail(to, now, "incomplete (WARC-Truncated: "+e.Cut+")")
		return
	case e.Cut != "" && !j.m.Ours() && h.Text.Length < evidence.Enough: // of ours it is cut behind what must be read
		next.kind, next.why = unclear, "it is cut (WARC-Truncated: "+e.Cut+
			") before the 500 KiB that must be read (RFC 9309 2.5)"
	case h.Incomplete != "" && h.Text.Length == 0 && !j.m.Ours():
		next.kind, next.why = unclear, "its text is not in the archive: "+h.Incomplete
	case h.Incomplete != "":
		j.fail(to, now, "incomplete: "+h.Incomplete)
		return
	case h.TextFault != "" && j.m.Ours():
		j.fail(to, now, h.TextFault)
		return
	case h.TextFault != "":
		next.kind, next.why = unclear, h.TextFault
	default:
		next.text = h.Text
	}
	if to.policy.text.Known && to.policy.text.SHA256 != next.text.SHA256 {
		to.before = to.policy.text
	}
	to.policy, to.payload, to.learnedFor, to.forgot = next, e.Payload, 0, false
}

// life is how long an answer may be used. RFC 9309 2.4 asks for 24 h at most and allows, but does not ask for, what
// Cache-Control says; this crawler promises that too (RFC 9111 4.2).
func (j *judge) life(h *evidence.Joined, now time.Time) time.Duration {
	if !j.m.Promises() {
		return day
	}
	fresh, given := time.Duration(0), false
	for _, v := range h.Answer.CacheControl {
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
	if !given && h.Answer.Expires.Value != "" {
		date, ok := evidence.Date(h.Answer.Date.Value)
		if !ok {
			date = now
		}
		if t, ok := evidence.Date(h.Answer.Expires.Value); ok {
			fresh = t.Sub(date)
		}
		given = true
	}
	if !given {
		return day
	}
	age, _ := evidence.Seconds(h.Answer.Age.Value)
	return min(max(fresh-age, minLife), day)
}

// unread takes an answer that has not the text of robots.txt: to HEAD, or with a part of it. The policy at hand
// stays.
func (j *judge) unread(h *evidence.Joined, to *policyHost) {
	if to.policy.kind != unasked {
		return
	}
	to.policy.why = "it was requested only by HEAD, at " + finding.Clock(h.Exchange.Began) +
		", and the response has no rules"
	if h.Exchange.Method != "HEAD" {
		to.policy.why = "only a part of it was requested, at " + finding.Clock(h.Exchange.Began)
	}
}
