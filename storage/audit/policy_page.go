package audit

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// page checks an exchange for something else than robots.txt against the robots.txt that was valid, which it uses.
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
	if j.m.Promises() && !p.used { // what was just learned is used once, however short its life: else every turn would go into it
		limit = p.since.Add(day)
	}
	if e.Began.After(limit.Add(grace)) && !e.Began.IsZero() && !p.forth(e.Began, limit.Add(grace)) {
		j.found.Add(e.Finding(finding.RobotsExpired,
			"a valid robots.txt: that of "+finding.Clock(p.since)+" held until "+finding.Clock(p.expires)+" ("+why+")",
			"requested "+e.Began.Sub(p.since).Round(time.Second).String()+" after it was fetched"))
	}
}

// pageVerdicts are those of a host's rules about what was sent.
func (j *judge) pageVerdicts(to *policyHost, target, agent string) ([]evidence.Verdict, error) {
	if to.policy.kind != ruled {
		return nil, nil
	}
	return j.texts.Served(to.policy.text, target, j.m.Binding(agent))
}

// isRobots reports whether e asks for robots.txt, or for what one redirected to.
func (j *judge) isRobots(e *evidence.Exchange) bool {
	p := e.Asked()
	return p.IsRobots() || j.redirects.leadTo(e, p.Key)
}

// followed judges an exchange that follows the redirect of a robots.txt. RFC 9309 2.3.1.2 lets a crawler follow one
// to another authority, whatever that forbids, as this crawler does: no violation. But whoever has a host of his own
// can have any page so, and what the rules at hand forbid is named.
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
		case j.m.Ours() || !j.redirects.fromElsewhere(e) || e.Began.After(p.expires): // a site's own redirect, or rules that no longer hold
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

// alone judges what a URL gave where the exchange is not in the files. That robots.txt forbids it is a violation: the
// archive contains what was not to be requested. The rest cannot be proved, for it may have been had in another way.
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
		case e.Alone == "conversion" && to.before.Known: // of which robots.txt's time nobody says
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

// forbidden says in words that v forbids something, and by which line.
func (j *judge) forbidden(to *policyHost, v evidence.Verdict) string {
	p := &to.policy
	return "no request: " + v.String() + " of robots.txt, " + strconv.Quote(j.texts.Line(p.text, v.Line)) +
		" (record " + p.record + ")"
}

// claimedVerdict compares what the crawl says of its verdict with the recomputed ones.
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

// refusal recomputes the verdict of a URL that was not asked for because of robots.txt.
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

// How many redirects of a robots.txt in a row are followed.
const (
	maxHops = 5  // RFC 9309 2.3.1.2
	oldHops = 10 // by the draft of 1996, 3.1, which has no bound: so many this crawler follows
)

// maxWaiting bounds the URLs that redirects of robots.txt wait for.
const maxWaiting = 10000

// hop is a redirect of a robots.txt, waiting for the exchange that follows it.
type hop struct {
	origin string // the authority that the rules at its end bind
	file   string // in which it was followed; empty before
	spare  int    // how often it may be followed again there: others wait for the same URL, and each may ask for it
	n      int
	chain  []string // the URLs asked so far
}

// redirects are those that wait, by the key of the URL that they lead to.
type redirects map[string][]hop

// due are the redirects that an exchange with a URL follows. In another file of ours they may be followed once more:
// a crawl that was killed may have to go on where it was.
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

// leadTo reports whether e follows one.
func (r redirects) leadTo(e *evidence.Exchange, key string) bool {
	return slices.ContainsFunc(r[key], func(w hop) bool { return !w.served(e) })
}

// fromElsewhere reports whether e follows redirects from other authorities alone.
func (r redirects) fromElsewhere(e *evidence.Exchange) bool {
	for _, w := range r[e.Asked().Key] {
		if w.origin == e.Authority && !w.served(e) {
			return false
		}
	}
	return true
}

// add makes w wait for an exchange with the URL of a key, in the place of another of its authority.
func (r redirects) add(key string, w hop) {
	if len(r) >= maxWaiting {
		r.forget()
	}
	waiting := slices.DeleteFunc(r[key], func(o hop) bool { return o.origin == w.origin })
	if len(waiting) < 1000 {
		r[key] = append(waiting, w)
	}
}

// forget forgets one redirect, rather one that was followed.
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

// served reports whether e follows something else than w: w was followed as often as it may be, or the line of e names a page, a
// link, or another host whose robots.txt it is for.
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
	case w.n >= j.mostHops() && len(j.m.Standards()) > 1: // an older document permits no such thing
		j.fail(to, now, "more redirects than are followed")
	case w.n >= j.mostHops(): // "crawlers MAY assume that the robots.txt file is unavailable"
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: e.Record}
	default:
		j.expect(e)
		j.redirects.add(p.Key, hop{origin: w.origin, n: w.n + 1, chain: chain})
	}
}

// forAnother reports whether an exchange for the robots.txt of p's host was made for another host, of those whose
// redirects lead there, as the crawl says.
func (j *judge) forAnother(e *evidence.Exchange, p evidence.URL, waiting []hop) bool {
	l := e.Line
	if !j.m.Ours() || l == nil || l.Via == "" {
		return false
	}
	from := evidence.AuthorityOf(l.Via)
	return from != p.Authority && slices.ContainsFunc(waiting, func(w hop) bool { return w.origin == from })
}

// leadsAway reports whether an exchange with p's host redirects to another one. If it was made for another host, what
// stands there says nothing to p's.
func leadsAway(e *evidence.Exchange, p evidence.URL) bool {
	if e.Status < 300 || e.Status > 399 {
		return false
	}
	to, err := evidence.Resolve(e.URL, e.Answer.Location.Value)
	return err == nil && to.Authority != p.Authority
}

// mostHops is how many redirects of a robots.txt in a row are followed, by the document that the archive declares.
func (j *judge) mostHops() int {
	if j.m.Ours() && j.m.Info.Standard == "draft1996" {
		return oldHops
	}
	return maxHops
}
