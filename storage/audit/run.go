package audit

import (
	"context"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
)

// audit is one run.
type audit struct {
	o     Options
	r     *Result
	hosts map[string]*host
	texts *evidence.Store // of robots.txt
	read  *evidence.Reader
	info  *evidence.Info // the last warcinfo record before what is judged
	clock clock
	now   sitting // the exchange that is judged

	records  records
	requests requests
	pace     *pacing.Judge
	robots   *judge

	found map[codeAt]int
	codes map[finding.Code]*Count
	quiet *host // stands for no host in particular
}

// codeAt is a code at a host.
type codeAt struct {
	code finding.Code
	at   *host
}

func newAudit(o Options) (*audit, error) {
	t, err := evidence.NewStore(o.TempDir)
	if err != nil {
		return nil, err
	}
	a := &audit{
		o: o, r: &Result{Version: Version, Level: SelfConsistent}, hosts: map[string]*host{}, texts: t,
		records: records{mayLack: o.LeftOut}, pace: pacing.NewJudge(),
		found: map[codeAt]int{}, codes: map[finding.Code]*Count{}, quiet: &host{},
	}
	a.read = evidence.NewReader(evidence.Options{Files: o.Files, Ours: o.Ours, Texts: t}, a.report)
	a.robots = newJudge(t, func(name string) *policyHost { return &a.host(name).policy }, a.read.Expect)
	return a, nil
}

func (a *audit) close() { a.texts.Close() }

// measure is by what is judged next.
func (a *audit) measure() evidence.Measure {
	return evidence.Measure{Told: evidence.Told{Floor: a.o.Floor, Token: a.o.Token, Strict: a.o.Strict, Ledger: a.o.Ours},
		Info: a.info}
}

// host returns what is known of an authority, and makes it known.
func (a *audit) host(name string) *host {
	h := a.hosts[name]
	if h == nil {
		h = &host{name: name, steps: a.clock.steps}
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
	a.info = ev.Info
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
		a.r.Totals.Unprovable++
		a.host(d.Authority).unprove(d)
	}
}

// report counts a finding, and keeps it unless there are too many of its kind.
func (a *audit) report(f finding.Finding) {
	h := a.quiet
	if f.Authority != "" {
		h = a.host(f.Authority)
	}
	c := a.codes[f.Code]
	if c == nil {
		c = &Count{Code: f.Code}
		a.codes[f.Code] = c
	}
	c.Found++
	if f.Note {
		c.Notes++
		a.r.Totals.Notes++
	} else {
		h.violations++
		a.r.Totals.Violations++
	}
	k := codeAt{f.Code, h}
	if a.found[k]++; a.found[k] > a.o.Limit || len(a.r.Findings) >= maxFindings {
		return
	}
	c.Kept++
	f.URL, f.Authority = finding.Short(f.URL), finding.Short(f.Authority)
	f.Required, f.Observed = finding.Short(f.Required), finding.Short(f.Observed)
	a.r.Findings = append(a.r.Findings, f)
}

// maxFindings bounds what is kept of all codes and hosts.
const maxFindings = 20000
