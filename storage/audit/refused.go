package audit

import (
	"context"
	"fmt"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// refused checks the line of a URL that was not asked for.
func (a *audit) refused(ctx context.Context, l *storage.Line, at finding.Place) error {
	n := max(l.Count, 1)
	a.r.Totals.Refusals += n
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
