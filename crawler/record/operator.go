package record

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"curtsy/crawler/found"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Barrier returns what the frontier must call before each commit: it makes the records durable, then the lines that
// name them.
func Barrier(r storage.Recorder, l storage.Ledger) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := r.Sync(ctx); err != nil {
			return err
		}
		return l.Sync(ctx)
	}
}

// Closed is for frontier.Options: it writes down what an operator closes, before the frontier says so. A line names a URL, or
// counts what a host had left, and then names the host by its root.
func Closed(r storage.Recorder, l storage.Ledger) func(context.Context, frontier.Closings) error {
	return func(ctx context.Context, closed frontier.Closings) error {
		var all []storage.Line
		for _, c := range closed.URLs {
			all = append(all, Dropped(found.Line(c)))
		}
		hosts := slices.SortedFunc(maps.Keys(closed.Hosts), func(a, b canon.Authority) int { return cmp.Compare(a.String(), b.String()) })
		for _, a := range hosts {
			all = append(all, Dropped(storage.Line{Time: time.Now(), URL: a.Origin() + "/", Count: closed.Hosts[a]}))
		}
		return writeAll(ctx, r, l, all)
	}
}

// Quarantined writes down that URLs were set aside when the frontier was opened.
func Quarantined(ctx context.Context, r storage.Recorder, l storage.Ledger, cs []frontier.Candidate) error {
	var all []storage.Line
	for _, c := range cs {
		line := found.Line(c)
		line.Decision, line.Reason, line.Outcome = storage.DecisionRefuse, frontier.ReasonQuarantined, storage.OutcomeFailed
		all = append(all, line)
	}
	return writeAll(ctx, r, l, all)
}

// Barred writes down which of the candidates of an Add were refused because an operator has dropped their host.
func Barred(ctx context.Context, r storage.Recorder, l storage.Ledger, cs []frontier.Candidate, added frontier.Added) error {
	var all []storage.Line
	for _, place := range added.Barred {
		all = append(all, Dropped(found.Line(cs[place])))
	}
	return writeAll(ctx, r, l, all)
}

// Dropped makes l the line of a URL that an operator has dropped.
func Dropped(l storage.Line) storage.Line {
	l.Decision, l.Reason, l.Outcome = storage.DecisionRefuse, frontier.ReasonOperator, storage.OutcomeDropped
	return l
}

// writeAll writes lines into both, durably.
func writeAll(ctx context.Context, r storage.Recorder, l storage.Ledger, all []storage.Line) error {
	if len(all) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)     // what they tell has happened
	if err := l.Begin(ctx); err != nil { // before the archive has a file
		return err
	}
	for _, line := range all {
		if err := r.Refuse(ctx, line); err != nil {
			return err
		}
		if err := l.Append(ctx, line); err != nil {
			return err
		}
	}
	return Barrier(r, l)(ctx)
}
