package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
	"curtsy/storage/audit/pauses"
)

// Options set the files to audit and the rules to apply.
type Options struct {
	// Files are WARC files in written order; those of other crawlers are ordered by their dates. Findings name them as given.
	Files []string

	// Floor is the shortest delay on hosts that are not the operator's own. Zero means, for archives of
	// this crawler, the floor that their warcinfo declares, at least 1 s; none for others.
	Floor time.Duration

	// Token is the product token to judge by (RFC 9309 2.2.1). Empty means that of the warcinfo, or else of the User-Agent.
	Token string

	// Limit is how many findings of one code and host are kept; the rest are counted. Zero means 100.
	Limit int

	// TempDir holds the texts of robots.txt while the audit runs. Empty means the system's folder for such files.
	TempDir string

	// Ours marks files of this crawler: its ledger is beside them. A warcinfo of other software is a violation then.
	Ours bool

	// LeftOut is the packer's count of responses left out because their pages ask not to be archived.
	LeftOut int64

	// Strict checks other crawlers' archives against this crawler's promises (docs/trust/politeness.md), where possible.
	Strict bool

	// Witnesses see the archive's contents, and may find more.
	Witnesses []Witness
}

// Witness compares the archive with other evidence: a ledger, an access log. Its methods are called one at a time.
type Witness interface {
	// Exchange is called for each exchange, in the order of the archive.
	Exchange(ctx context.Context, e *evidence.Exchange, found finding.Report) error
	// Refused is called for each line of a decision without an exchange, with the place of its record.
	Refused(ctx context.Context, l *storage.Line, at finding.Place, found finding.Report) error
	// Info is called with the fields of each warcinfo record, before the records after it.
	Info(ctx context.Context, in *evidence.Info, found finding.Report) error
	// Close is called once, at the end of the archive. It may change the level and the limits of the result.
	Close(ctx context.Context, r *Result, found finding.Report) error
}

// Silent is a Witness that finds nothing, to be embedded.
type Silent struct{}

func (Silent) Exchange(context.Context, *evidence.Exchange, finding.Report) error { return nil }
func (Silent) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}
func (Silent) Info(context.Context, *evidence.Info, finding.Report) error { return nil }
func (Silent) Close(context.Context, *Result, finding.Report) error       { return nil }

// Redactor is a Witness that can identify the redacted parts of the archive.
type Redactor interface {
	// Taken is called for each exchange, before it is judged.
	Taken(e *evidence.Exchange) pacing.Taken
}

// ErrNothing reports files without an exchange or warcinfo record, and without a ledger of this crawler beside them.
var ErrNothing = errors.New("audit: the files hold no web archive")

// Run audits the files. An error means that the audit failed; faults of an archive are in the result.
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
	given := evidence.Told{Floor: o.Floor, Token: o.Token, Strict: o.Strict, Ledger: o.Ours}
	a := &audit{
		Tally: NewTally(SelfConsistent, o.Limit), o: o, hosts: map[string]*host{},
		judge: judge{mayLack: o.LeftOut, texts: texts, redirects: redirects{}, m: evidence.Measure{Told: given}},
	}
	a.judge.found = finding.Hearing{Add: a.report, Unproved: func(d finding.Doubt) { a.Doubt(d, &a.host(d.Authority).Host) }}
	a.pace = pacing.NewJudge(a.judge.found)
	a.read = evidence.NewReader(evidence.Options{Files: o.Files, Ours: o.Ours, Texts: texts}, a.report)
	a.judge.host, a.judge.expect = func(name string) *policyHost { return &a.host(name).policy }, a.read.Expect
	return a, nil
}

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

func (a *audit) report(f finding.Finding) {
	if f.Authority == "" {
		a.Find(f, nil)
		return
	}
	a.Find(f, &a.host(f.Authority).Host)
}

type family struct {
	name  string
	by    string         // the documents that ask for it
	codes []finding.Code // codes of its violations
	judge func(a *audit, e *evidence.Exchange, to *host) error
}

// families are the rules in the order in which they check an exchange (docs/reference/audit-findings.md), after the
// reader has checked each record and before the witnesses.
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

func (a *audit) exchange(ctx context.Context, e *evidence.Exchange) error {
	if e.Alone != "" {
		return a.judge.alone(e, &a.host(e.Authority).policy)
	}
	if begun, back := a.clock.isBack(e); back {
		a.pace.SetBack()
		a.report(a.clock.setBack(e, begun))
	}
	to := a.host(e.Authority)
	e.Own = to.isOwn(e, a.judge.m)
	to.Own = to.Own || e.Own
	for i := range families {
		if err := families[i].judge(a, e, to); err != nil {
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

func (a *audit) judgeRecords(e *evidence.Exchange, to *host) error {
	a.judge.leftOut(e, &to.pace)
	a.count(e)
	a.judge.records(e)
	return nil
}

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
	site.Delay, site.Rate = a.judge.pace(&to.policy, e.Agent)
	a.pace.Exchange(e, &to.pace, a.judge.m, site)
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

func (a *audit) after(e *evidence.Exchange, to *host) {
	to.owned(e, a.judge.m)
	to.since = min(to.since+1, evidence.AtKill+1)
	if !e.Began.IsZero() {
		a.pace.After(e, &to.pace, a.judge.m)
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
		if err := a.judge.refusal(l, &to.policy, p, at); err != nil {
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

// judge checks the records and request of exchanges, and the archive's robots.txt files. Package pacing checks delays.
type judge struct {
	judged  int64 // verdicts recomputed
	mayLack int64 // answers that the packer left out, by its own count
	absent  int64 // answers that request and metadata name and the archive lacks

	texts  *evidence.Store
	host   func(authority string) *policyHost // the state of an authority, whose robots.txt may redirect to another's
	expect func(*evidence.Exchange)           // makes the reader of the archive keep the target of a redirect

	m     evidence.Measure
	found finding.Hearing

	redirects redirects
}

func (j *judge) pace(to *policyHost, agent string) (delay, rate time.Duration) {
	if !to.policy.text.Known || to.policy.kind != ruled {
		return 0, 0
	}
	var d, r float64
	for _, token := range j.m.Tokens(agent) {
		if pace, err := j.texts.Pace(to.policy.text, token); err == nil {
			d, r = max(d, pace.Delay), max(r, pace.Rate)
		}
	}
	const year = 365 * 24 * 3600
	return time.Duration(min(d, year) * float64(time.Second)), time.Duration(min(r, year) * float64(time.Second))
}

type host struct {
	Host

	pace   pacing.Host
	policy policyHost
	skew   pauses.Sample // by which the dates of answers differ from the archive's

	// The operator's own (politeness rule 18).
	proved time.Time // when its proof was last archived
	young  time.Time // and when one was before the clock was set back, so that it may be young again
	since  int       // exchanges since the clock was set back, at most evidence.AtKill+1

	run   int // of its last exchange
	steps int // steps of the clock that have been handled
}

// cross notes that the archive continues in another file. killed: another run of this crawler begins there.
func (h *host) cross(killed bool) {
	h.pace.Cross(killed)
	if killed {
		h.policy.Killed()
	}
}

// setBack adapts h to a clock that was set back.
func (h *host) setBack(to time.Time) {
	if h.pace.Met() {
		h.cross(true) // a step comes between two runs
	}
	h.pace.SetBack()
	h.policy.SetBack(to)
	if h.proved.After(to) {
		if h.young.IsZero() || h.since > evidence.AtKill {
			h.young = h.proved
		}
		h.proved, h.since = to, 0
	}
}

func (h *host) show() *Host {
	p, last, shown := &h.pace, &h.policy.policy, &h.Host
	if last.kind == ruled && last.text.Known {
		shown.RobotsSHA256 = hex.EncodeToString(last.text.SHA256[:])
	}
	shown.Authority, shown.Policy, shown.RobotsTime = finding.Short(h.Authority), h.policy.Kind(), last.since
	shown.Required, shown.RequiredBy, shown.Lowest = p.Required.Seconds(), p.RequiredBy, p.Lowest.Seconds()
	shown.Gaps, shown.MinGap, shown.MedianGap = p.Gaps.N(), p.Gaps.Least().Seconds(), p.Gaps.Median().Seconds()
	shown.StartToStart = p.StartToStart
	shown.Dates, shown.Skew = h.skew.N(), h.skew.Median().Seconds()
	return shown
}

// proofLife is how long a proof holds, and the time that may pass between that and the first byte of a request.
const proofLife = 24*time.Hour + time.Minute

// isOwn reports whether e's host is the operator's own: loopback, unless the archive treats it as foreign, or one whose proof
// was archived within a day.
func (h *host) isOwn(e *evidence.Exchange, m evidence.Measure) bool {
	if m.Info != nil && m.Info.OwnSites == "none" {
		return false
	}
	if evidence.Loopback(e.Authority) {
		return true
	}
	holds := func(proved time.Time) bool {
		return m.Ours() && !proved.IsZero() && !e.Began.After(proved.Add(proofLife)) && !e.Began.Before(proved)
	}
	if !holds(h.proved) && h.since <= evidence.AtKill && holds(h.young) { // the clock went forward again, and a kill lost the requests between
		h.proved, h.young = h.young, time.Time{}
	}
	return holds(h.proved)
}

// owned notes a proof. Only the operator's key can verify its value.
func (h *host) owned(e *evidence.Exchange, m evidence.Measure) {
	_, authority, _ := strings.Cut(e.Authority, "https://")
	if e.Target != evidence.OwnerPath || !m.Ours() || authority == "" || strings.Contains(authority, ":") {
		return
	}
	h.proved = time.Time{}
	if e.Status == 200 && e.OwnerProof {
		h.proved = e.End()
	}
}

// dated notes how much the Date of a response (RFC 9110 6.6.1) differs from the archive's. It has whole seconds, between the
// request and the response's first byte: the middle is taken, and the median of many is right to about a tenth of a second.
// A response with an Age is from a cache, and older. This proves nothing, since the server's clock may be wrong; but it
// shows if the archive's dates of a host were all shifted alike.
func (h *host) dated(e *evidence.Exchange) {
	at, ok := evidence.Date(strings.TrimSpace(e.Answer.Date.Value))
	if ok && e.Answer.Age.Value == "" && e.Status != 0 && (at.Sub(e.Began)).Abs() < mostSkew {
		made := e.Began
		if l := e.Line; l != nil {
			made = made.Add(min(l.FirstByte, e.Took) / 2)
		}
		h.skew.Add(at.Add(time.Second / 2).Sub(made))
	}
}

// mostSkew bounds clock errors: a date further off was chosen by somebody.
const mostSkew = 100 * 365 * 24 * time.Hour

// clock is the crawling computer's, by the dates of the archive. Within a run of this crawler they never go back (record.Dates);
// between runs the clock may be set, which shows if a run began, by its warcinfo, before the end of the records before it. Then
// neither a host's next delay nor the end of its rest is known, and robots.txt is at least as old as the step.
type clock struct {
	run         int       // number of this crawler's runs so far, by their files
	runBegan    time.Time // by the last warcinfo; zero if it has none
	begun, last time.Time // of the current file, and the latest end since the clock was set
	steps       int       // how often it was set back
	stepAt      time.Time // the first date after the last time
}

// boundary notes that a file continues after a warcinfo record.
func (c *clock) boundary(in *evidence.Info) {
	if !in.Ours || !in.RunBegan.IsZero() && in.RunBegan.Equal(c.runBegan) { // another file of the same run
		return
	}
	c.run++
	if c.runBegan = in.RunBegan; !in.RunBegan.IsZero() {
		c.begun = in.RunBegan
	} else {
		c.begun = in.Date
	}
}

// isBack reports whether the clock was set back before e, the first exchange after a boundary, and when the run began.
func (c *clock) isBack(e *evidence.Exchange) (begun time.Time, back bool) {
	begun, c.begun = c.begun, time.Time{}
	if begun.IsZero() || e.Began.IsZero() || !begun.Add(pauses.Slack(0)).Before(c.last) {
		return begun, false
	}
	// Without its beginning only the file's date remains: an exchange may have ended while the file was begun.
	return begun, !c.runBegan.IsZero() || e.Began.Before(c.last)
}

func (c *clock) setBack(e *evidence.Exchange, begun time.Time) finding.Finding {
	by := c.last.Sub(begun)
	e.Stepped = true
	c.steps, c.stepAt, c.last = c.steps+1, begun, time.Time{}
	f := e.Finding(finding.ClockStep, "files in the order of their dates",
		"the clock was set back, by "+finding.Round(by)+" at least, before "+e.File+
			": the first delay of each host after it is unprovable, and so is the end of its back-offs")
	f.Authority, f.URL, f.Note = "", "", true
	return f
}
