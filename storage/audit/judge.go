package audit

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/rules"
	"curtsy/storage/audit/weburl"
	"curtsy/storage/audit/words"
)

// exchange judges one exchange, and then makes it what is known of its authority.
func (a *audit) exchange(ctx context.Context, h *evidence.Joined) error {
	if h.Alone != "" {
		return a.keptAlone(h)
	}
	e := &h.Exchange
	a.stepped(e)
	to := a.host(e.Authority)
	e.Own = a.own(to, e)
	to.own = to.own || e.Own
	if e.Blocks = h.Blocks(); e.LeftOut != "" {
		e.Blocks = "" // what binds them binds the answer, too
	}
	a.leftOut(h, to)
	a.whole(h)
	a.identity(h, to)
	isRobots := a.isRobots(e)
	e.Robots = isRobots
	a.timing(h, to)
	if isRobots {
		if err := a.detour(h, to); err != nil {
			return err
		}
		a.robots(h, to)
		to.robots++
		a.r.Totals.Robots++
	} else {
		if err := a.page(h, to); err != nil {
			return err
		}
		to.policy.used = true
		to.pages++
		a.r.Totals.Pages++
	}
	a.after(h, to)
	a.clocked(e)
	for _, w := range a.o.Witnesses {
		if err := w.Exchange(ctx, e, a.report); err != nil {
			return err
		}
	}
	return nil
}

// isRobots reports whether e asks for robots.txt, or for what one redirected to.
func (a *audit) isRobots(e *evidence.Exchange) bool {
	p := e.Asked()
	return p.IsRobots() || slices.ContainsFunc(a.hops[p.Key], func(w hop) bool { return !w.served(e) })
}

// whole checks that an exchange has the records it should have.
func (a *audit) whole(h *evidence.Joined) {
	e := &h.Exchange
	a.r.Totals.Exchanges++
	if !h.HasAnswer {
		a.r.Totals.Unanswered++
	}
	if a.r.From.IsZero() || !e.Began.IsZero() && e.Began.Before(a.r.From) {
		a.r.From = e.Began
	}
	if e.End().After(a.r.To) {
		a.r.To = e.End()
	}
	if e.OtherHost() {
		a.report(e.Finding(finding.BadRecord, "a request to the host of the record's URL (RFC 9112 3.2)", "it asks "+strconv.Quote(finding.Short(e.Host))))
	}
	if !a.ours() {
		a.sameStory(h)
		return
	}
	if wrong := h.Disagreement(); a.o.Ours && wrong != "" {
		a.report(e.Finding(finding.BadRecord, "request, answer and metadata of an exchange stand together, name each other, and have one date, URL and address (docs/warc.md)", wrong))
	}
	if e.Line != nil {
		for _, w := range words.Of(e.Line, words.Answer{Status: e.Status, Whole: e.Answered && e.Cut == "", LeftOut: e.LeftOut != ""}) {
			f := e.Finding(finding.BadRecord, w.Required+" (docs/decisions.md)", "the crawl says "+finding.Short(w.Said))
			if f.Place = e.LineAt; w.Field == "paceBy" {
				f.Code = finding.GapTold
			}
			a.report(f)
		}
	}
	if !h.HasMetadata && !(h.Last && evidence.Unfinished(e.File)) { // a kill may have come before it was written
		a.report(e.Finding(finding.BadRecord, "a metadata record for every exchange (docs/warc.md)", "an exchange without one"))
	}
	if !h.HasRequest {
		a.report(e.Finding(finding.BadRecord, "a request record for every response (docs/warc.md)", "a response without its request"))
	}
	if p, err := weburl.Parse(e.URL); err == nil && h.HasRequest && e.Target != p.Target {
		a.report(e.Finding(finding.BadRecord, "a request for the record's URL", "the request line asks for "+e.Target))
	}
}

// identity checks who asks, and how.
func (a *audit) identity(h *evidence.Joined, to *host) {
	e := &h.Exchange
	if !h.HasRequest {
		return
	}
	if e.Method != "" && e.Method != "GET" && e.Method != "HEAD" && !a.ours() {
		a.report(e.Finding(finding.Method, "GET or HEAD (draft-illyes-webbotauth-cbcp; docs/politeness.md, rule 3)", e.Method))
	}
	if a.ours() {
		a.promised(h)
	} else if s := h.Sent.Secrets; s != "" { // no standard forbids it; who the crawler was to the site is worth knowing
		f := e.Finding(finding.Credentials, "no cookies and no credentials (docs/politeness.md, rule 3)", "the request has the fields "+s)
		f.Note = !a.o.Strict
		a.report(f)
	}
	const rfc = "a User-Agent that names the crawler by its product token (RFC 9309 2.2.1)"
	token := a.declared()
	switch name := tokenOf(e.Agent); {
	case e.Agent == "":
		a.report(e.Finding(finding.UserAgent, rfc, "no User-Agent"))
	case token != "" && !strings.Contains(strings.ToLower(e.Agent), strings.ToLower(token)):
		a.report(e.Finding(finding.UserAgent, rfc+": "+token, "User-Agent: "+e.Agent))
	case h.Sent.OtherAgent != "" && !a.ours(): // which of them the site took for its name, nobody can say
		a.report(e.Finding(finding.UserAgent, "one User-Agent (RFC 9110 5.3, 10.1.5)", "another before it: User-Agent: "+h.Sent.OtherAgent))
	case name == "" && token == "":
		a.report(e.Finding(finding.UserAgent, rfc, "it poses as a browser: User-Agent: "+e.Agent))
	case a.o.Strict && !a.ours() && !reachable(e.Agent):
		a.report(e.Finding(finding.UserAgent, "a User-Agent with a contact, an http(s) URL or a mailbox (docs/politeness.md, rule 2)", "User-Agent: "+e.Agent))
	case token == "" && a.switched(to, name):
		a.report(e.Finding(finding.UserAgent, "one product token, with which robots.txt was asked for (RFC 9309 2.2.1): "+tokenOf(to.asker), "User-Agent: "+e.Agent))
	}
}

// reachable reports whether a User-Agent tells whom to ask about the crawler.
func reachable(agent string) bool {
	agent = strings.ToLower(agent)
	return strings.Contains(agent, "http://") || strings.Contains(agent, "https://") || strings.Contains(agent, "@")
}

// declared is the product token that the audit or the archive names, or "".
func (a *audit) declared() string {
	if a.o.Token != "" {
		return a.o.Token
	}
	if a.info != nil && a.info.Token != "" {
		return a.info.Token
	}
	if a.info != nil && !a.info.Ours {
		return tokenOf(a.info.Agent)
	}
	return ""
}

// switched reports whether a crawler that calls itself so asked for the robots.txt of a host by another name.
func (a *audit) switched(to *host, name string) bool {
	asker := tokenOf(to.asker)
	return asker != "" && !strings.EqualFold(asker, name)
}

// tokenOf derives a product token from a User-Agent: the name of its first product, or of the one that a browser's
// comment declares it compatible with. It is "" for a browser.
func tokenOf(agent string) string {
	name := agent
	if strings.HasPrefix(agent, "Mozilla/") {
		_, rest, ok := strings.Cut(agent, "compatible;")
		if !ok {
			return ""
		}
		name = strings.TrimLeft(rest, " ")
	}
	i := strings.IndexFunc(name, func(r rune) bool { return (r|0x20 < 'a' || r|0x20 > 'z') && r != '-' && r != '_' })
	if i < 0 {
		i = len(name)
	}
	if name = name[:i]; strings.EqualFold(name, "MSIE") {
		return ""
	}
	return name
}

// tokens are the product tokens that bind an exchange.
func (a *audit) tokens(agent string) []string {
	t := a.declared()
	if t == "" {
		t = tokenOf(agent)
	}
	if a.ours() && !strings.EqualFold(t, evidence.OurToken) {
		if t == "" {
			return []string{evidence.OurToken}
		}
		return []string{t, evidence.OurToken}
	}
	return []string{t}
}

// standards are the documents that bind the archive: an older one only adds refusals (docs/politeness.md, rule 6).
func (a *audit) standards() []string {
	if a.info != nil && (a.info.Standard == "draft1996" || a.info.Standard == "std1994") {
		return []string{"rfc9309", a.info.Standard}
	}
	return []string{"rfc9309"}
}

// page checks an exchange for something else than robots.txt against the robots.txt that was valid.
func (a *audit) page(h *evidence.Joined, to *host) error {
	e, p := &h.Exchange, &to.policy
	switch p.kind {
	case unasked:
		why := "the archive has no exchange for it until then"
		if p.why != "" {
			why = p.why
		}
		a.report(e.Finding(finding.RobotsMissing, "robots.txt before anything else of "+e.Authority+" (RFC 9309 2.2, 2.3)", why))
		return nil
	case unreachable:
		a.report(e.Finding(finding.RobotsUnreachable, "nothing while robots.txt cannot be had (RFC 9309 2.3.1.4: complete disallow)", "asked for, after robots.txt: "+p.why+" at "+finding.Clock(p.since)))
		return nil
	case closed:
		a.report(e.Finding(finding.Disallowed, "nothing of a site that restricts access to robots.txt (draft-koster-robots-00, 3.1, which the archive declares)", "asked for, after "+p.why))
		return nil
	case unclear:
		a.unprove(to, finding.Disallowed, "robots.txt: "+p.why, 0, 0)
		return nil
	}
	if first := to.firstRobots; !a.ours() && !e.Began.IsZero() && e.Began.Add(e.Resolution+2*time.Second).Before(first) {
		a.report(e.Finding(finding.RobotsMissing, "robots.txt before anything else of "+e.Authority+" (RFC 9309 2.2, 2.3)", "it is dated before the first of the archive, of "+finding.Clock(first)))
	}
	a.fresh(e, to)
	if p.kind != ruled {
		a.r.Totals.Judged++
		return a.toldVerdict(h, to, nil)
	}
	vs, err := a.pageVerdicts(to, e.Target, e.Agent)
	if err != nil {
		return err
	}
	a.r.Totals.Judged++
	for _, v := range vs {
		if !v.Allowed {
			how := "asked for"
			if v.Target != "" {
				how += " as " + e.Target + ", which is " + v.Target + " (RFC 3986 6.2.2.3)"
			}
			a.report(e.Finding(finding.Disallowed, a.forbidden(to, v), how))
			break
		}
	}
	return a.toldVerdict(h, to, vs)
}

// fresh checks the age of the policy that e was judged by (RFC 9309 2.4).
func (a *audit) fresh(e *evidence.Exchange, to *host) {
	p := &to.policy
	limit, why := p.expires, "by its Cache-Control or Expires, RFC 9111 4.2"
	if p.expires.Sub(p.since) >= day {
		why = "24 h at most, RFC 9309 2.4"
	}
	if a.strict() && !p.used { // what was just learned is used once, however short its life: else every turn would go into it
		limit = p.since.Add(day)
	}
	if e.Began.After(limit.Add(grace)) && !e.Began.IsZero() {
		a.report(e.Finding(finding.RobotsExpired, "a valid robots.txt: that of "+finding.Clock(p.since)+" held until "+finding.Clock(p.expires)+" ("+why+")",
			"asked for "+e.Began.Sub(p.since).Round(time.Second).String()+" after it was fetched"))
	}
}

// binding is whom an archive's robots.txt files bind, and by which documents.
func (a *audit) binding(agent string) rules.Binding {
	return rules.Binding{Tokens: a.tokens(agent), Standards: a.standards()}
}

// pageVerdicts are those of a host's rules about what was sent.
func (a *audit) pageVerdicts(to *host, target, agent string) ([]rules.Verdict, error) {
	if to.policy.kind != ruled {
		return nil, nil
	}
	return a.texts.Served(to.policy.text, target, a.binding(agent))
}

// Product returns the product token that a User-Agent names first, or "" for that of a browser.
func Product(agent string) string { return tokenOf(agent) }
