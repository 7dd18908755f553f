package audit

import (
	"context"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
)

// family is a family of rules that every exchange is held to.
type family struct {
	name  string
	by    string         // the documents that ask for it
	codes []finding.Code // what breaking it is called
	judge func(a *audit, x *sitting) error
}

// families are the rules in the order in which an exchange meets them (docs/reference/audit-findings.md). The reader (evidence) has
// checked each record for itself before; the witnesses check behind them what stands beside the archive.
var families = []family{
	{"the records of a request", "WARC 1.1; archive reference; ledger reference",
		[]finding.Code{finding.BadRecord, finding.GapTold}, (*audit).judgeRecords},
	{"identity and method", "RFC 9309 2.2.1; politeness rules 1 to 3",
		[]finding.Code{finding.UserAgent, finding.Method, finding.Credentials, finding.BadRecord},
		(*audit).judgeRequest},
	{"delays and back-offs of hosts, and the delay of addresses", "robots.txt; RFC 9110 10.2.3; politeness rules 7 to 14",
		[]finding.Code{finding.Gap, finding.InFlight, finding.RetryAfter, finding.AddressPace, finding.Window, finding.Hours, finding.PerDay,
			finding.GapTold, finding.BadRecord}, (*audit).judgePause},
	{"robots.txt", "RFC 9309; politeness rules 4 to 7",
		[]finding.Code{finding.RobotsMissing, finding.RobotsExpired, finding.RobotsUnreachable, finding.Disallowed,
			finding.Verdict}, (*audit).judgeRobots},
}

// sitting is an exchange before its judges.
type sitting struct {
	*evidence.Joined

	to *host
	m  evidence.Measure
}

// exchange judges one exchange, and then makes it what is known of its authority.
func (a *audit) exchange(ctx context.Context, h *evidence.Joined) error {
	if h.Alone != "" {
		found, err := a.robots.Alone(h, &a.host(h.Exchange.Authority).policy, a.measure())
		a.take(found)
		return err
	}
	e := &h.Exchange
	a.stepped(e)
	a.now = sitting{h, a.host(e.Authority), a.measure()}
	x := &a.now
	e.Own = x.to.isOwn(e, x.m)
	x.to.own = x.to.own || e.Own
	if e.Blocks = h.Blocks(); e.LeftOut != "" {
		e.Blocks = "" // what binds them binds the answer, too
	}
	for i := range families {
		if err := families[i].judge(a, x); err != nil {
			return err
		}
	}
	a.after(x)
	for _, w := range a.o.Witnesses {
		if err := w.Exchange(ctx, e, a.report); err != nil {
			return err
		}
	}
	return nil
}

// stepped takes the clock back where it was set back before e.
func (a *audit) stepped(e *evidence.Exchange) {
	begun, back := a.clock.isBack(e)
	if !back {
		return
	}
	a.take(a.pace.SetBack())
	a.report(a.clock.setBack(e, begun))
}

func (a *audit) judgeRecords(x *sitting) error {
	a.records.m = x.m
	a.records.leftOut(x.Joined, &x.to.pace)
	a.count(x.Joined)
	a.records.judge(x.Joined)
	a.take(a.records.found.Take())
	return nil
}

// count counts an exchange.
func (a *audit) count(h *evidence.Joined) {
	e, r := &h.Exchange, a.r
	r.Totals.Exchanges++
	if !h.HasAnswer {
		r.Totals.Unanswered++
	}
	if r.From.IsZero() || !e.Began.IsZero() && e.Began.Before(r.From) {
		r.From = e.Began
	}
	if e.End().After(r.To) {
		r.To = e.End()
	}
}

func (a *audit) judgeRequest(x *sitting) error {
	a.requests.m = x.m
	a.requests.judge(x.Joined, x.to.policy.Asker)
	a.take(a.requests.found.Take())
	return nil
}

func (a *audit) judgePause(x *sitting) error {
	e, to := &x.Exchange, x.to
	e.Robots = a.robots.IsRobots(e)
	var site pacing.Site
	for _, w := range a.o.Witnesses {
		if r, knows := w.(Redactor); knows {
			site.Taken = r.Taken(e)
		}
	}
	if !e.Began.IsZero() && to.pace.Crosses(e.File) {
		to.cross(x.m.Ours() && to.run != a.clock.run)
	}
	to.policy.Told(e.Line)
	site.Unasked, site.Forgotten, site.Hearsay = to.policy.Unasked(), to.policy.Forgotten(), to.policy.Hearsay()
	site.Delay, site.Rate = a.robots.Asks(&to.policy, x.m, e.Agent)
	a.take(a.pace.Exchange(x.Joined, &to.pace, x.m, site))
	return nil
}

func (a *audit) judgeRobots(x *sitting) error {
	var found finding.List
	var err error
	if x.Exchange.Robots {
		found, err = a.robots.Robots(x.Joined, &x.to.policy, x.m)
		x.to.robots++
		a.r.Totals.Robots++
	} else {
		found, err = a.robots.Page(x.Joined, &x.to.policy, x.m)
		x.to.pages++
		a.r.Totals.Pages++
	}
	a.take(found)
	return err
}

// after makes an exchange what is known of its authority.
func (a *audit) after(x *sitting) {
	e, to := &x.Exchange, x.to
	to.owned(x.Joined, x.m)
	to.since = min(to.since+1, evidence.AtKill+1)
	if !e.Began.IsZero() {
		a.take(a.pace.After(x.Joined, &to.pace, x.m))
		if x.m.Promises() {
			to.policy.Heard(e.Robots)
		}
		to.run = a.clock.run
		to.dated(x.Joined)
	}
	a.clock.note(e)
}
