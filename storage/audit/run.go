package audit

import (
	"context"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/rules"
)

// audit is one run.
type audit struct {
	o     Options
	r     *Result
	hosts map[string]*host
	texts *rules.Store // of robots.txt
	read  *evidence.Reader

	info  *evidence.Info // the last warcinfo record before what is judged
	addrs map[string]*address
	hops  map[string][]hop // what robots.txt redirected to, by key

	runNo       int       // of runs of ours, as their files tell
	runBegan    time.Time // as the last warcinfo says; zero when it does not
	begun, last time.Time // of the file that was just begun, and the latest end since the clock was set
	steps       int       // how often it was set back
	stepAt      time.Time // the first date behind the last time

	startsKept int // of all hosts

	absent int64 // answers that request and metadata name, and that are not there

	found map[codeAt]int
	count map[finding.Code]*Count
	quiet *host // stands for no host in particular
}

// codeAt is a code at a host.
type codeAt struct {
	code finding.Code
	at   *host
}

func newAudit(o Options) (*audit, error) {
	t, err := rules.NewStore(o.TempDir)
	if err != nil {
		return nil, err
	}
	a := &audit{
		o: o, r: &Result{Version: Version, Level: SelfConsistent}, texts: t,
		hosts: map[string]*host{}, addrs: map[string]*address{}, hops: map[string][]hop{},
		found: map[codeAt]int{}, count: map[finding.Code]*Count{}, quiet: &host{},
	}
	a.read = evidence.NewReader(evidence.Options{Files: o.Files, Ours: o.Ours, Texts: t}, a.report)
	return a, nil
}

func (a *audit) close() { a.texts.Close() }

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
	a.boundary(ev.Info)
	for _, w := range a.o.Witnesses {
		if err := w.Info(ctx, ev.Info, a.report); err != nil {
			return err
		}
	}
	return nil
}

// report counts a finding, and keeps it unless there are too many of its kind.
func (a *audit) report(f finding.Finding) {
	h := a.quiet
	if f.Authority != "" {
		h = a.host(f.Authority)
	}
	c := a.count[f.Code]
	if c == nil {
		c = &Count{Code: f.Code}
		a.count[f.Code] = c
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
