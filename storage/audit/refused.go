package audit

import (
	"context"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/weburl"
)

// refused checks the line of a URL that was not asked for.
func (a *audit) refused(ctx context.Context, l *storage.Line, at finding.Place) error {
	n := max(l.Count, 1)
	a.r.Totals.Refusals += n
	p, err := weburl.Parse(l.URL)
	switch {
	case l.Decision != storage.DecisionDisallow:
	case err != nil:
		a.report(finding.Finding{Code: finding.BadRecord, Place: at, URL: l.URL,
			Required: "a URL that can be read in the line of a refusal",
			Observed: err.Error() + ": " + finding.Short(l.URL)})
	default:
		to := a.host(p.Authority)
		to.avoided += n
		a.r.Totals.Disallowed += n
		found, err := a.robots.Refusal(l, &to.policy, p, at, a.measure())
		if a.take(found); err != nil {
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
