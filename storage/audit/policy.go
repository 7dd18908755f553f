package audit

import (
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// policyHost is the archived state of an authority's robots.txt. The zero value has none requested.
type policyHost struct {
	Asker string // the User-Agent of the request for robots.txt

	policy     policy
	learnedFor int           // exchanges since its text was learned, the first included, at most evidence.AtKill+2
	forgot     bool          // a kill may have made the crawl forget it
	before     evidence.Text // the text that held before this one

	records  []uint64    // hashes of the records that it was learned from, the last of them
	learned  int         // policies that it got in this run
	replaces []oldPolicy // the last of those that they replaced
	back     []oldPolicy // those that a kill may have brought back before this run
	aside    *oldPolicy  // the one before its robots.txt was read for another host, and not for its own since; nil for none

	firstRobots time.Time // the earliest date of an exchange for its robots.txt; zero when it has none
	payload     string    // the payload digest of the last answer with a text
}

func (h *policyHost) Kind() string { return h.policy.kind.String() }

// Heard counts an exchange with a host of a crawl whose archive promises this crawler's rules.
func (h *policyHost) Heard(robots bool) {
	h.learnedFor, h.forgot = min(h.learnedFor+1, evidence.AtKill+2), h.forgot && robots
	for i := range h.replaces {
		h.replaces[i].exchanges++
	}
}

// Killed notes that the crawl may have been killed before it stored its last exchanges with the host.
func (h *policyHost) Killed() {
	h.forgot = h.learnedFor <= evidence.AtKill
	if h.learnedFor <= evidence.AtKill+1 { // the exchanges that used its text may also be lost
		h.policy.used = false
	}
	h.mayBeBack()
}

// SetBack notes that the clock was set back to an instant: robots.txt is at least as old.
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

// A kill may undo the policy from the last exchanges with a host: the next run uses the previous one, and records that.
// It keeps its age; but if the clock was set back before those and forward after them, its dates are young again.

// oldPolicy is a policy that was replaced.
type oldPolicy struct {
	policy    policy
	payload   string
	exchanges int // exchanges with the host since then, including the one that changed it
}

const maxBack = 2 * (evidence.AtKill + 1)

// replaced notes that an exchange replaced a policy.
func (h *policyHost) replaced(was policy, payload string) {
	if was.kind == h.policy.kind && was.since.Equal(h.policy.since) {
		return
	}
	h.learned++
	h.replaces = append(h.replaces[max(0, len(h.replaces)-evidence.AtKill):], oldPolicy{was, payload, 0})
}

func (h *policyHost) mayBeBack() {
	if h.learned == 0 {
		return // the killed run began with a state that it may have restored itself
	}
	kept := slices.DeleteFunc(h.replaces, func(s oldPolicy) bool { return s.exchanges > evidence.AtKill })
	if len(kept) < h.learned {
		h.back = nil
	}
	h.back = append(h.back, kept...)
	h.back = h.back[max(0, len(h.back)-maxBack):]
	h.replaces, h.learned = nil, 0
}

// read notes whether robots.txt was read for another host. A read for another host's redirect sets no policy of its own
// host (RFC 9309 2.3.1.2), whose earlier one may remain valid.
func (h *policyHost) read(forAnother bool, was oldPolicy) {
	switch {
	case !forAnother:
		h.aside = nil
	case h.aside == nil:
		h.aside = &was
	}
}

// Told takes the robots.txt that the line records, before the exchange is judged: if none was fetched since, it may be
// the one before one read for another host, or one that a kill restored.
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
	i := slices.IndexFunc(h.back, func(s oldPolicy) bool { return s.policy.record == l.RobotsRecord })
	if i < 0 {
		return
	}
	h.policy, h.payload, h.learnedFor, h.forgot, h.back = h.back[i].policy, h.back[i].payload, evidence.AtKill+2, false, nil
}

// maxRecords bounds the records of a host's robots.txt that are remembered, 8 bytes each.
const maxRecords = 64

func (h *policyHost) remember(record string) {
	id := maphash.String(recordSeed, record)
	if n := len(h.records); record == "" || n > 0 && h.records[n-1] == id {
		return
	}
	h.records = append(h.records[max(0, len(h.records)-maxRecords+1):], id)
}

var recordSeed = maphash.MakeSeed()

// learnedFrom reports whether the host's robots.txt was ever learned from a record. An empty id names none.
func (h *policyHost) learnedFrom(record string) bool {
	return record == "" || slices.Contains(h.records, maphash.String(recordSeed, record))
}

func (p *policy) setBack(to time.Time) {
	if by := p.since.Sub(to); by > 0 {
		p.since, p.expires, p.ahead = to, p.expires.Add(-by), p.ahead+by
	}
}

// forth reports whether p is valid until limit by its dates from before the clock was set back, and the clock is at such a date.
func (p *policy) forth(at, limit time.Time) bool {
	return p.ahead > 0 && !at.Before(p.since.Add(p.ahead)) && !at.After(limit.Add(p.ahead))
}

type policy struct {
	kind    policyKind
	text    evidence.Text
	since   time.Time // the end of the exchange that set it
	expires time.Time
	why     string // of unreachable, unclear and closed: the answer
	record  string
	used    bool // another URL than robots.txt was requested since

	ahead time.Duration // by how much its dates were set back with the clock
}

// policyKind is how a robots.txt binds (RFC 9309 2.3.1).
type policyKind uint8

const (
	unasked     policyKind = iota
	ruled                  // 2.3.1.1: its rules hold
	absent                 // 2.3.1.3: the host has none, everything is allowed
	closed                 // access to it is restricted, which is full disallow by the draft of 1996, 3.1
	unreachable            // 2.3.1.4: full disallow
	unclear                // the archive does not hold its text
)

func (k policyKind) String() string {
	return [...]string{"not requested", "rules", "none", "closed", "unreachable", "unknown"}[k]
}

const (
	day     = 24 * time.Hour
	minLife = 5 * time.Minute // this crawler's minimum (docs/trust/politeness.md, rule 4)
	grace   = time.Minute     // between the verdict and the first byte of the request: resolver, queue at the address, connection
)

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
			to.read(forAnother, oldPolicy{policy: was, payload: payload})
		}
	}
}

// learn makes an exchange the policy of a host, or follows its redirect.
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
	case (s == 429 || s == 408 || s == 425) && j.m.Promises(): // politeness rule 6; RFC 9309 2.3.1.3 treats them as no robots.txt
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

// fail disallows all of a host (RFC 9309 2.3.1.4), unless a text is stored, which 2.4 allows to use for longer. This
// crawler uses it until it expires; one dated later than now has expired.
func (j *judge) fail(to *policyHost, now time.Time, why string) {
	p := &to.policy
	if p.kind == ruled && (!j.m.Promises() || now.Before(p.expires) && !now.Before(p.since.Add(p.ahead))) {
		if !j.m.Promises() {
			to.policy.expires = now.Add(30 * day)
		}
		return
	}
	to.policy = policy{kind: unreachable, text: to.policy.text, since: now, why: why} // a 304 may still confirm the text
}

// renew extends the stored text (RFC 9111 4.3.4).
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
	case e.Cut != "" && !j.m.Ours() && e.Text.Length < evidence.Enough: // this crawler cuts it after the required part
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

// life is how long a response may be used: 24 h at most (RFC 9309 2.4), and for this crawler by Cache-Control (RFC 9111 4.2).
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

// unread takes a response without the whole text of robots.txt, to HEAD or of a part. The policy stays.
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

// page checks an exchange that is not for robots.txt against the valid robots.txt.
func (j *judge) page(e *evidence.Exchange, to *policyHost) error {
	p := &to.policy
	defer func() { p.used = true }()
	switch p.kind {
	case unasked:
		why := "the archive has no request for it before that"
		if p.why != "" {
			why = p.why
		}
		j.found.Add(e.Finding(finding.RobotsMissing,
			"robots.txt before anything else of "+e.Authority+" (RFC 9309 2.2, 2.3)", why))
		return nil
	case unreachable:
		j.found.Add(e.Finding(finding.RobotsUnreachable,
			"nothing while robots.txt is unavailable (RFC 9309 2.3.1.4: complete disallow)",
			"requested, after robots.txt: "+p.why+" at "+finding.Clock(p.since)))
		return nil
	case closed:
		j.found.Add(e.Finding(finding.Disallowed,
			"nothing of a site that restricts access to robots.txt (draft-koster-robots-00, 3.1, which the archive "+
				"declares)", "requested, after "+p.why))
		return nil
	case unclear:
		j.found.Doubt(e.Authority, finding.Disallowed, "robots.txt: "+p.why, 0, 0)
		return nil
	}
	if first := to.firstRobots; !j.m.Ours() && !e.Began.IsZero() &&
		e.Began.Add(e.Resolution+2*time.Second).Before(first) {
		j.found.Add(e.Finding(finding.RobotsMissing,
			"robots.txt before anything else of "+e.Authority+" (RFC 9309 2.2, 2.3)",
			"it is dated before the first of the archive, of "+finding.Clock(first)))
	}
	j.fresh(e, to)
	if e.Began.Before(p.since.Add(p.ahead)) {
		p.ahead = 0
	}
	if p.kind != ruled {
		j.judged++
		return j.claimedVerdict(e, to, nil)
	}
	vs, err := j.pageVerdicts(to, e.Target, e.Agent)
	if err != nil {
		return err
	}
	j.judged++
	for _, v := range vs {
		if !v.Allowed {
			how := "requested"
			if v.Target != "" {
				how += " as " + e.Target + ", which is " + v.Target + " (RFC 3986 6.2.2.3)"
			}
			j.found.Add(e.Finding(finding.Disallowed, j.forbidden(to, v), how))
			break
		}
	}
	return j.claimedVerdict(e, to, vs)
}

// fresh checks the age of the policy that e was judged by (RFC 9309 2.4).
func (j *judge) fresh(e *evidence.Exchange, to *policyHost) {
	p := &to.policy
	limit, why := p.expires, "by its Cache-Control or Expires, RFC 9111 4.2"
	if p.expires.Sub(p.since) >= day {
		why = "24 h at most, RFC 9309 2.4"
	}
	if j.m.Promises() && !p.used { // a new policy is used once, even if short-lived: else each lease would only fetch it
		limit = p.since.Add(day)
	}
	if e.Began.After(limit.Add(grace)) && !e.Began.IsZero() && !p.forth(e.Began, limit.Add(grace)) {
		j.found.Add(e.Finding(finding.RobotsExpired,
			"a valid robots.txt: that of "+finding.Clock(p.since)+" held until "+finding.Clock(p.expires)+" ("+why+")",
			"requested "+e.Began.Sub(p.since).Round(time.Second).String()+" after it was fetched"))
	}
}

func (j *judge) pageVerdicts(to *policyHost, target, agent string) ([]evidence.Verdict, error) {
	if to.policy.kind != ruled {
		return nil, nil
	}
	return j.texts.Served(to.policy.text, target, j.m.Binding(agent))
}

func (j *judge) isRobots(e *evidence.Exchange) bool {
	p := e.Asked()
	return p.IsRobots() || j.redirects.leadTo(e, p.Key)
}

// followed judges an exchange that follows the redirect of a robots.txt. RFC 9309 2.3.1.2 allows it to another authority,
// whatever that forbids. But any host can so cause a request for any page, so one that known rules forbid is named.
func (j *judge) followed(e *evidence.Exchange, to *policyHost) error {
	p := &to.policy
	if path, _, _ := strings.Cut(e.Target, "?"); path == evidence.RobotsPath {
		return nil
	}
	const why = "a robots.txt redirects here, "
	switch p.kind {
	case unasked:
		if !j.m.Ours() && j.redirects.fromElsewhere(e) {
			j.found.Doubt(e.Authority, finding.RobotsMissing, why+"and this host's own was not requested", 0, 0)
		}
		return nil
	case unreachable:
		if j.redirects.fromElsewhere(e) {
			j.found.Doubt(e.Authority, finding.RobotsUnreachable, why+"and this host's own is unavailable", 0, 0)
		}
		return nil
	}
	vs, err := j.pageVerdicts(to, e.Target, e.Agent)
	if err != nil {
		return err
	}
	for _, v := range vs {
		switch {
		case v.Allowed:
			continue
		case j.m.Ours() || !j.redirects.fromElsewhere(e) || e.Began.After(p.expires): // a site's own redirect, or expired rules
			j.found.Doubt(e.Authority, finding.Disallowed, why+"which the known rules forbid", 0, 0)
		default:
			f := e.Finding(finding.Disallowed, j.forbidden(to, v),
				"requested, by a redirect of another host's robots.txt, which RFC 9309 2.3.1.2 allows")
			f.Note = true
			j.found.Add(f)
		}
		return nil
	}
	return nil
}

// alone judges a record whose exchange is not in the files. If robots.txt forbids its URL, it is a violation. Otherwise
// the result is unprovable, since the content may have been obtained in another way.
func (j *judge) alone(e *evidence.Exchange, to *policyHost) error {
	kind := "a " + finding.Short(e.Alone) + " record"
	if e.Alone == "response" {
		kind = "a response record that is not HTTP"
	}
	if e.Asked().IsRobots() {
		j.found.Doubt(e.Authority, finding.RobotsMissing,
			"robots.txt is kept in "+kind+", which does not show how it was fetched", 0, 0)
		return nil
	}
	vs, err := j.pageVerdicts(to, e.Target, to.Asker)
	if err != nil {
		return err
	}
	for _, v := range vs {
		switch {
		case v.Allowed:
		case e.Alone == "conversion" && to.before.Known: // no record has the time of the robots.txt that applied
			j.found.Doubt(e.Authority, finding.Disallowed,
				"a conversion of what robots.txt forbids, or did at some time, whose original is not in the files", 0,
				0)
			return nil
		default:
			j.found.Add(e.Finding(finding.Disallowed, j.forbidden(to, v), "kept in "+kind+", without request and response"))
			return nil
		}
	}
	j.found.Doubt(e.Authority, finding.Gap, kind+" does not show when and how it was requested", 0, 0)
	return nil
}

func (j *judge) forbidden(to *policyHost, v evidence.Verdict) string {
	p := &to.policy
	return "no request: " + v.String() + " of robots.txt, " + strconv.Quote(j.texts.Line(p.text, v.Line)) +
		" (record " + p.record + ")"
}

func (j *judge) claimedVerdict(e *evidence.Exchange, to *policyHost, vs []evidence.Verdict) error {
	l := e.Line
	if l == nil || !j.m.Ours() || l.Decision != storage.DecisionAllow {
		return nil
	}
	at := func(required, observed string) {
		f := e.Finding(finding.Verdict, required, observed)
		f.Place = e.LineAt
		j.found.Add(f)
	}
	want := ""
	if to.policy.kind == ruled {
		want = hex.EncodeToString(to.policy.text.SHA256[:])
	}
	if l.RobotsSHA256 != want {
		at("judged by the robots.txt valid then: "+known(want), "judged by "+known(l.RobotsSHA256))
		return nil
	}
	if !to.learnedFrom(l.RobotsRecord) {
		at("the record that the robots.txt of "+e.Authority+" valid then was learned from: "+to.policy.record,
			"the crawl recorded: "+finding.Short(l.RobotsRecord))
		return nil
	}
	if !evidence.Agree(vs, l, true) {
		at("the verdict that follows from robots.txt: "+evidence.InWords(vs),
			"the crawl recorded: allowed by line "+strconv.Itoa(l.RobotsLine)+" "+strconv.Quote(l.RobotsRule))
		return nil
	}
	if l.Standard != "" && !slices.Contains(j.m.Standards(), l.Standard) {
		at("a verdict by the standard that the archive declares: "+strings.Join(j.m.Standards(), " or "),
			"the crawl recorded: by "+strconv.Quote(finding.Short(l.Standard)))
	}
	right, err := j.texts.Misquoted(to.policy.text, vs, l, e.Target, true)
	if right != "" {
		at("literal quotes of robots.txt", "it has "+right)
	}
	return err
}

// refusal recomputes the verdict of a URL that was not requested because of robots.txt.
func (j *judge) refusal(l *storage.Line, to *policyHost, p evidence.URL, at finding.Place) error {
	if l.RobotsLine == 0 { // full disallow: there is no line to compare
		return nil
	}
	f := finding.Finding{Code: finding.Verdict, Authority: p.Authority, URL: l.URL, Place: at, Time: l.Time}
	var text evidence.Text
	for _, t := range []evidence.Text{to.policy.text, to.before} {
		if t.Known && hex.EncodeToString(t.SHA256[:]) == l.RobotsSHA256 {
			text = t
		}
	}
	if b, err := hex.DecodeString(l.RobotsSHA256); !text.Known && err == nil && len(b) == 32 {
		text = j.texts.Find([32]byte(b))
	}
	if !text.Known {
		j.found.Doubt(p.Authority, finding.Verdict, "a refusal names a robots.txt that is not in the files", 0, 0)
		return nil
	}
	vs, err := j.texts.Verdicts(text, p.Target, j.m.Binding(""))
	if err != nil {
		return err
	}
	j.judged++
	if text == to.policy.text && !to.learnedFrom(l.RobotsRecord) {
		f.Required = "the record that the robots.txt of " + p.Authority + " was learned from: " + to.policy.record
		f.Observed = "the crawl recorded: " + finding.Short(l.RobotsRecord)
		j.found.Add(f)
		return nil
	}
	if !evidence.Agree(vs, l, false) {
		f.Required, f.Observed = "the verdict that follows from robots.txt: "+evidence.InWords(vs),
			fmt.Sprintf("the crawl recorded: disallowed by line %d %q", l.RobotsLine, finding.Short(l.RobotsRule))
		j.found.Add(f)
		return nil
	}
	right, err := j.texts.Misquoted(text, vs, l, p.Target, false)
	if right != "" {
		f.Required, f.Observed = "literal quotes of robots.txt", "it has "+right
		j.found.Add(f)
	}
	return err
}

func known(sha string) string {
	if sha == "" {
		return "no rules"
	}
	return "sha256 " + sha
}

const (
	maxHops = 5  // RFC 9309 2.3.1.2
	oldHops = 10 // the draft of 1996, 3.1, has no bound: this crawler follows so many
)

const maxWaiting = 10000 // URLs that redirects of robots.txt wait for

// hop is a redirect of a robots.txt, waiting for the exchange that follows it.
type hop struct {
	origin string // the authority that the rules at its end bind
	file   string // in which it was followed; empty before
	spare  int    // how often it may be followed again there: others wait for the same URL, and each may request it
	n      int
	chain  []string // the URLs requested so far
}

// redirects are those that wait, by the key of their target.
type redirects map[string][]hop

// due returns the redirects that an exchange follows. In another file of this crawler they may be followed again: a killed
// crawl may have to resume there.
func (r redirects) due(key string, e *evidence.Exchange, ours bool) (waiting []hop) {
	all := r[key]
	spare := -1
	for i := range all {
		if !all[i].served(e) {
			waiting = append(waiting, all[i])
			spare++
		}
	}
	if !ours {
		delete(r, key)
		return waiting
	}
	for i := range all {
		switch w := &all[i]; {
		case w.served(e):
		case w.file != e.File:
			w.file, w.spare = e.File, spare
		case w.spare > 0:
			w.spare--
		}
	}
	return waiting
}

func (r redirects) leadTo(e *evidence.Exchange, key string) bool {
	return slices.ContainsFunc(r[key], func(w hop) bool { return !w.served(e) })
}

// fromElsewhere reports whether e follows redirects of other authorities only.
func (r redirects) fromElsewhere(e *evidence.Exchange) bool {
	return !slices.ContainsFunc(r[e.Asked().Key], func(w hop) bool { return w.origin == e.Authority && !w.served(e) })
}

// add makes w wait for an exchange with the key's URL, in place of another of its authority.
func (r redirects) add(key string, w hop) {
	if len(r) >= maxWaiting {
		r.forget()
	}
	waiting := slices.DeleteFunc(r[key], func(o hop) bool { return o.origin == w.origin })
	if len(waiting) < 1000 {
		r[key] = append(waiting, w)
	}
}

// forget drops one redirect, preferably one that was followed.
func (r redirects) forget() {
	one := ""
	for old, waiting := range r {
		one = old
		if !slices.ContainsFunc(waiting, func(w hop) bool { return w.file == "" }) {
			break
		}
	}
	delete(r, one)
}

// served reports whether w was followed often enough, or e's line names a page, a link, or robots.txt for another host.
func (w *hop) served(e *evidence.Exchange) bool {
	if l := e.Line; l != nil && (l.Decision == storage.DecisionAllow || l.Kind != "" ||
		l.Decision == storage.DecisionRobots && evidence.AuthorityOf(l.Via) != w.origin) {
		return true
	}
	return w.file != "" && w.file == e.File && w.spare == 0
}

// follow takes a redirect (RFC 9309 2.3.1.2).
func (j *judge) follow(e *evidence.Exchange, to *policyHost, w hop, asked string) {
	now := e.End()
	p, err := evidence.Resolve(e.URL, e.Answer.Location.Value)
	chain := append(slices.Clip(w.chain), asked)
	switch {
	case e.Answer.Location.Value == "" || err != nil || slices.Contains(chain, p.Authority+p.Target):
		if j.m.Promises() {
			j.fail(to, now, "a redirect that leads nowhere")
			return
		}
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: e.Record}
	case w.n >= j.mostHops() && len(j.m.Standards()) > 1: // an older document permits no more redirects
		j.fail(to, now, "more redirects than are followed")
	case w.n >= j.mostHops(): // "crawlers MAY assume that the robots.txt file is unavailable"
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: e.Record}
	default:
		j.expect(e)
		j.redirects.add(p.Key, hop{origin: w.origin, n: w.n + 1, chain: chain})
	}
}

// forAnother reports whether, by the crawl's line, an exchange for robots.txt was made for another host that redirects there.
func (j *judge) forAnother(e *evidence.Exchange, p evidence.URL, waiting []hop) bool {
	l := e.Line
	if !j.m.Ours() || l == nil || l.Via == "" {
		return false
	}
	from := evidence.AuthorityOf(l.Via)
	return from != p.Authority && slices.ContainsFunc(waiting, func(w hop) bool { return w.origin == from })
}

// leadsAway reports whether an exchange with p's host redirects to another one.
func leadsAway(e *evidence.Exchange, p evidence.URL) bool {
	if e.Status < 300 || e.Status > 399 {
		return false
	}
	to, err := evidence.Resolve(e.URL, e.Answer.Location.Value)
	return err == nil && to.Authority != p.Authority
}

func (j *judge) mostHops() int {
	if j.m.Ours() && j.m.Info.Standard == "draft1996" {
		return oldHops
	}
	return maxHops
}
