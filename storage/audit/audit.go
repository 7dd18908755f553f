package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
)

// Options say what is audited, and by what measure.
type Options struct {
	// Files are WARC files, in the order in which they were written. Those of other crawlers, which may write several
	// at a time, are put in order by their dates. Their names are kept in findings as given.
	Files []string

	// Floor is the shortest pause between two exchanges of a host that is not the operator's own. Zero means: what the
	// archive's warcinfo declares, at least 1 s, for archives of this crawler; none for those of others.
	Floor time.Duration

	// Token is the product token to judge by (RFC 9309 2.2.1). Empty means the one the archive names: the field
	// product-token of its warcinfo, or else what the User-Agent of a request says.
	Token string

	// Limit is how many findings of one code and host are kept; the rest are counted. Zero means 100.
	Limit int

	// TempDir holds the texts of robots.txt while the audit runs. Empty means the system's folder for such files.
	TempDir string

	// Ours says that this crawler wrote the files whatever they say: its ledger stands beside them. A warcinfo that
	// names another software is a violation then, and frees from nothing.
	Ours bool

	// LeftOut is how many answers whoever packed the files says that he left out, because their pages ask not to be
	// archived.
	LeftOut int64

	// Strict holds archives of other crawlers to this crawler's promises too, as far as an archive of theirs can show
	// whether they were kept (docs/trust/politeness.md).
	Strict bool

	// Witnesses are shown what the archive holds, and may find more.
	Witnesses []Witness
}

// Witness compares the archive with something beside it: a ledger, an access log. Its methods are called one at a time.
type Witness interface {
	// Exchange is called for each exchange, in the order of the archive.
	Exchange(ctx context.Context, e *evidence.Exchange, found finding.Report) error
	// Refused is called for each line of a decision without an exchange that the archive holds. at is the record that
	// holds it.
	Refused(ctx context.Context, l *storage.Line, at finding.Place, found finding.Report) error
	// Info is called with the fields of each warcinfo record, before what follows it.
	Info(ctx context.Context, in *evidence.Info, found finding.Report) error
	// Close is called once, when the archive is at its end. It may change the result: its level, and what it cannot
	// show.
	Close(ctx context.Context, r *Result, found finding.Report) error
}

// Silent is a Witness that finds nothing. Others embed it for the methods that they have no use for.
type Silent struct{}

// Exchange implements Witness.
func (Silent) Exchange(context.Context, *evidence.Exchange, finding.Report) error { return nil }

// Refused implements Witness.
func (Silent) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}

// Info implements Witness.
func (Silent) Info(context.Context, *evidence.Info, finding.Report) error { return nil }

// Close implements Witness.
func (Silent) Close(context.Context, *Result, finding.Report) error { return nil }

// Redactor is a Witness that knows what was taken down of the archive.
type Redactor interface {
	// Taken is called for each exchange, before it is judged.
	Taken(e *evidence.Exchange) pacing.Taken
}

// ErrNothing says that the files hold no exchange and no warcinfo record, and that no ledger of ours stands beside them:
// that nothing was audited.
var ErrNothing = errors.New("audit: the files hold no web archive")

// Run audits the files. An error means that the audit could not be made; what is wrong with an archive that can be
// read is in the result.
func Run(ctx context.Context, o Options) (*Result, error) {
	a, err := newAudit(o)
	if err != nil {
		return nil, err
	}
	defer a.judge.texts.Close()
	if err := a.read.Each(ctx, a.next); err != nil {
		return nil, err
	}
	return a.conclude(ctx)
}

// audit is one run.
type audit struct {
	*Tally

	o     Options
	hosts map[string]*host
	read  *evidence.Reader
	clock clock

	pace  *pacing.Judge
	judge judge
}

func newAudit(o Options) (*audit, error) {
	texts, err := evidence.NewStore(o.TempDir)
	if err != nil {
		return nil, err
	}
	told := evidence.Told{Floor: o.Floor, Token: o.Token, Strict: o.Strict, Ledger: o.Ours}
	a := &audit{
		Tally: NewTally(SelfConsistent, o.Limit), o: o, hosts: map[string]*host{}, pace: pacing.NewJudge(),
		judge: judge{mayLack: o.LeftOut, texts: texts, redirects: redirects{}, m: evidence.Measure{Told: told}},
	}
	a.read = evidence.NewReader(evidence.Options{Files: o.Files, Ours: o.Ours, Texts: texts}, a.report)
	a.judge.host, a.judge.expect = func(name string) *policyHost { return &a.host(name).policy }, a.read.Expect
	return a, nil
}

// host returns what is known of an authority, and makes it known.
func (a *audit) host(name string) *host {
	h := a.hosts[name]
	if h == nil {
		h = &host{Host: Host{Authority: name}, steps: a.clock.steps}
		a.hosts[name] = h
	}
	if h.steps != a.clock.steps {
		h.steps = a.clock.steps
		h.setBack(a.clock.stepAt)
	}
	return h
}

// next judges what comes next in the files.
func (a *audit) next(ctx context.Context, ev evidence.Event) error {
	a.judge.m.Info = ev.Info
	switch {
	case ev.Exchange != nil:
		return a.exchange(ctx, ev.Exchange)
	case ev.Refusals != nil:
		for i := range ev.Refusals {
			if err := a.refused(ctx, &ev.Refusals[i], ev.At); err != nil {
				return err
			}
		}
		return nil
	}
	a.clock.boundary(ev.Info)
	for _, w := range a.o.Witnesses {
		if err := w.Info(ctx, ev.Info, a.report); err != nil {
			return err
		}
	}
	return nil
}

// take counts what a judge says.
func (a *audit) take(l finding.List) {
	for _, f := range l.Findings {
		a.report(f)
	}
	for _, d := range l.Doubts {
		a.Doubt(d, &a.host(d.Authority).Host)
	}
}

// report counts a finding.
func (a *audit) report(f finding.Finding) {
	if f.Authority == "" {
		a.Find(f, nil)
		return
	}
	a.Find(f, &a.host(f.Authority).Host)
}

// family is a family of rules that every exchange is held to.
type family struct {
	name  string
	by    string         // the documents that ask for it
	codes []finding.Code // what breaking it is called
	judge func(a *audit, e *evidence.Exchange, to *host) error
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

// exchange judges one exchange, and then makes it what is known of its authority.
func (a *audit) exchange(ctx context.Context, e *evidence.Exchange) error {
	if e.Alone != "" {
		err := a.judge.alone(e, &a.host(e.Authority).policy)
		a.take(a.judge.found.Take())
		return err
	}
	a.stepped(e)
	to := a.host(e.Authority)
	e.Own = to.isOwn(e, a.judge.m)
	to.Own = to.Own || e.Own
	for i := range families {
		err := families[i].judge(a, e, to)
		if a.take(a.judge.found.Take()); err != nil {
			return err
		}
	}
	a.after(e, to)
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

func (a *audit) judgeRecords(e *evidence.Exchange, to *host) error {
	a.judge.leftOut(e, &to.pace)
	a.count(e)
	a.judge.records(e)
	return nil
}

// count counts an exchange.
func (a *audit) count(e *evidence.Exchange) {
	r := a.Result
	r.Totals.Exchanges++
	if !e.HasAnswer {
		r.Totals.Unanswered++
	}
	if r.From.IsZero() || !e.Began.IsZero() && e.Began.Before(r.From) {
		r.From = e.Began
	}
	if e.End().After(r.To) {
		r.To = e.End()
	}
}

func (a *audit) judgeRequest(e *evidence.Exchange, to *host) error {
	a.judge.request(e, to.policy.Asker)
	return nil
}

func (a *audit) judgePause(e *evidence.Exchange, to *host) error {
	e.Robots = a.judge.isRobots(e)
	var site pacing.Site
	for _, w := range a.o.Witnesses {
		if r, knows := w.(Redactor); knows {
			site.Taken = r.Taken(e)
		}
	}
	if !e.Began.IsZero() && to.pace.Crosses(e.File) {
		to.cross(a.judge.m.Ours() && to.run != a.clock.run)
	}
	to.policy.Told(e.Line)
	site.Unasked, site.Forgotten, site.Hearsay = to.policy.policy.kind == unasked, to.policy.forgot, to.policy.aside != nil
	site.Delay, site.Rate = a.judge.asks(&to.policy, e.Agent)
	a.take(a.pace.Exchange(e, &to.pace, a.judge.m, site))
	return nil
}

func (a *audit) judgeRobots(e *evidence.Exchange, to *host) error {
	if !e.Robots {
		to.Pages++
		a.Totals.Pages++
		return a.judge.page(e, &to.policy)
	}
	to.Robots++
	a.Totals.Robots++
	err := a.judge.followed(e, &to.policy)
	if err == nil {
		a.judge.robots(e, &to.policy)
	}
	return err
}

// after makes an exchange what is known of its authority.
func (a *audit) after(e *evidence.Exchange, to *host) {
	to.owned(e, a.judge.m)
	to.since = min(to.since+1, evidence.AtKill+1)
	if !e.Began.IsZero() {
		a.take(a.pace.After(e, &to.pace, a.judge.m))
		if a.judge.m.Promises() {
			to.policy.Heard(e.Robots)
		}
		to.run = a.clock.run
		to.dated(e)
	}
	if end := e.End(); end.After(a.clock.last) {
		a.clock.last = end
	}
}

// refused checks the line of a URL that was not asked for.
func (a *audit) refused(ctx context.Context, l *storage.Line, at finding.Place) error {
	n := max(l.Count, 1)
	a.Totals.Refusals += n
	p, err := evidence.ParseURL(l.URL)
	switch {
	case l.Decision == storage.DecisionRefuse && (l.RobotsSHA256 != "" || l.RobotsLine != 0 || l.RobotsRule != "" || l.RobotsGroup != "" || l.Reason == "disallow rule"):
		a.report(finding.Finding{Code: finding.BadRecord, Authority: evidence.AuthorityOf(l.URL), Place: at, URL: l.URL, Time: l.Time,
			Required: "refuse without a verdict of robots.txt, which disallow has (ledger reference)",
			Observed: fmt.Sprintf("reason %q, line %d %q", finding.Short(l.Reason), l.RobotsLine, finding.Short(l.RobotsRule))})
	case l.Decision != storage.DecisionDisallow:
	case err != nil:
		a.report(finding.Finding{Code: finding.BadRecord, Place: at, URL: l.URL,
			Required: "a URL that can be read in the line of a refusal",
			Observed: err.Error() + ": " + finding.Short(l.URL)})
	default:
		to := a.host(p.Authority)
		to.Host.Disallowed += n
		a.Totals.Disallowed += n
		err := a.judge.refusal(l, &to.policy, p, at)
		if a.take(a.judge.found.Take()); err != nil {
			return err
		}
	}
	for _, w := range a.o.Witnesses {
		if err := w.Refused(ctx, l, at, a.report); err != nil {
			return err
		}
	}
	return nil
}

// judge holds exchanges to the records that they should have, to what a request says of who asks, and to the robots.txt
// files of the archive. Delays are for package pacing.
type judge struct {
	judged  int64 // verdicts recomputed
	mayLack int64 // how many answers whoever packed the files says that he left out
	absent  int64 // answers that request and metadata name, and that are not there

	texts  *evidence.Store
	host   func(authority string) *policyHost // what is known of one, whose robots.txt may redirect to another's
	expect func(*evidence.Exchange)           // makes the reader of the archive keep what a redirect leads to

	m     evidence.Measure
	found finding.List

	redirects redirects
}

// asks is what the robots.txt of a host asks for between two requests: as Crawl-delay, and as Request-rate.
func (j *judge) asks(to *policyHost, agent string) (delay, rate time.Duration) {
	if !to.policy.text.Known || to.policy.kind != ruled {
		return 0, 0
	}
	var d, r float64
	for _, token := range j.m.Tokens(agent) {
		if said, err := j.texts.Pace(to.policy.text, token); err == nil {
			d, r = max(d, said.Delay), max(r, said.Rate)
		}
	}
	const year = 365 * 24 * 3600
	return time.Duration(min(d, year) * float64(time.Second)), time.Duration(min(r, year) * float64(time.Second))
}
