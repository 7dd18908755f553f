package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

// Fleet is a Witness of the audits of all members of a fleet, one after another. At the end of each it reports where two
// members requested from one host at one time, or without the delay between them. Dates are compared as they are: the clocks of
// the members must agree.
type Fleet struct {
	Member string // whose audit is next
	spans  map[string][]span
}

// span is the time in which a member requests from a host with no room for another: no pause in it is twice the delay.
type span struct {
	member   string
	url      string
	at       finding.Place
	from, to time.Time
	due      time.Duration // the delay
}

// Exchange implements Witness.
func (f *Fleet) Exchange(_ context.Context, e *evidence.Exchange, _ finding.Report) error {
	if e.Began.IsZero() {
		return nil
	}
	if f.spans == nil {
		f.spans = map[string][]span{}
	}
	all := f.spans[e.Authority]
	if n := len(all) - 1; n >= 0 && all[n].member == f.Member && !e.Began.Before(all[n].from) && e.Began.Sub(all[n].to) < 2*min(all[n].due, e.Due) {
		last := &all[n]
		if end := e.End(); end.After(last.to) {
			last.to = end
		}
		last.due = e.Due
		return nil
	}
	f.spans[e.Authority] = append(all, span{f.Member, e.URL, e.Place, e.Began, e.End(), e.Due})
	return nil
}

// Refused implements Witness.
func (*Fleet) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}

// Info implements Witness.
func (*Fleet) Info(context.Context, *evidence.Info, finding.Report) error { return nil }

// Close implements Witness.
func (f *Fleet) Close(_ context.Context, r *Result, found finding.Report) error {
	for _, authority := range slices.Sorted(maps.Keys(f.spans)) {
		all := f.spans[authority]
		slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.member, b.member)) })
		last := all[0] // to end
		for _, s := range all[1:] {
			if s.member != last.member && (s.member == f.Member || last.member == f.Member) {
				s.after(last, authority, found)
			}
			if s.to.After(last.to) {
				last = s
			}
		}
	}
	r.CannotShow = append(r.CannotShow, "between members: whether their clocks agreed, and whether there are members whose directory was not given")
	return nil
}

// after reports that s began too early after another member's requests.
func (s *span) after(last span, authority string, found finding.Report) {
	f := finding.Finding{Authority: authority, URL: s.url, Place: s.at, Time: s.from}
	pause := s.from.Sub(last.to)
	switch {
	case pause < -pauses.Slack(0):
		f.Code = finding.InFlight
		f.Required = "one member of a fleet at a time with an authority (docs/trust/politeness.md, rule 9)"
		f.Observed = s.member + " requested it " + finding.Round(-pause) + " before the last of the requests of " + last.member + " ended"
	case pause+pauses.Slack(last.due) < last.due:
		f.Code = finding.Gap
		f.Required = "at least " + finding.Round(last.due) + " since the end of the authority's last exchange, with any member"
		f.Observed = finding.Round(max(pause, 0)) + " after a request of " + last.member + ", by " + s.member
	default:
		return
	}
	found(f)
}
