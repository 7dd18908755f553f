package audit

import (
	"context"
	"errors"
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
	now   sitting // the exchange that is judged

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
