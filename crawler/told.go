package crawler

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"curtsy/crawler/found"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// steer obeys an operator's command. What it closes is told by Frontier, which was opened with Tell.
func (c *Crawl) steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if err := s.Check(); err != nil {
		return frontier.Steered{}, badOrder{err}
	}
	defer c.live.Forget()
	return c.cfg.Frontier.Steer(ctx, s)
}

// Tell is for frontier.Options: it writes down what an operator closes, before the frontier says so. A line names a URL, or
// counts what a host had left, and then names the host by its root.
func Tell(r storage.Recorder, l storage.Ledger) func(context.Context, frontier.Closings) error {
	return func(ctx context.Context, closed frontier.Closings) error {
		var all []storage.Line
		for _, c := range closed.URLs {
			all = append(all, dropped(found.Line(c)))
		}
		hosts := slices.SortedFunc(maps.Keys(closed.Hosts), func(a, b canon.Authority) int { return cmp.Compare(a.String(), b.String()) })
		for _, a := range hosts {
			all = append(all, dropped(storage.Line{Time: time.Now(), URL: a.Origin() + "/", Count: closed.Hosts[a]}))
		}
		return tell(ctx, r, l, all)
	}
}

// TellQuarantined writes down that URLs were set aside when the frontier was opened.
func TellQuarantined(ctx context.Context, r storage.Recorder, l storage.Ledger, cs []frontier.Candidate) error {
	var all []storage.Line
	for _, c := range cs {
		line := found.Line(c)
		line.Decision, line.Reason, line.Outcome = storage.DecisionRefuse, frontier.ReasonQuarantined, storage.OutcomeFailed
		all = append(all, line)
	}
	return tell(ctx, r, l, all)
}

// TellBarred writes down which of the candidates of an Add were refused because an operator has dropped their host.
func TellBarred(ctx context.Context, r storage.Recorder, l storage.Ledger, cs []frontier.Candidate, added frontier.Added) error {
	var all []storage.Line
	for _, place := range added.Barred {
		all = append(all, dropped(found.Line(cs[place])))
	}
	return tell(ctx, r, l, all)
}

// dropped makes l the line of a URL that an operator has dropped.
func dropped(l storage.Line) storage.Line {
	l.Decision, l.Reason, l.Outcome = storage.DecisionRefuse, frontier.ReasonOperator, storage.OutcomeDropped
	return l
}

// addGiven enters candidates that no turn has found.
func (c *Crawl) addGiven(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	added, err := c.cfg.Frontier.Add(ctx, cs)
	err = errors.Join(err, TellBarred(ctx, c.cfg.Recorder, c.cfg.Ledger, cs, added))
	c.flusher.Note()
	return added, err
}

// tellBarred is TellBarred for what a turn has found: many lines are counted (package refusals).
func (c *Crawl) tellBarred(ctx context.Context, v *visit, cs []frontier.Candidate, added frontier.Added) error {
	for _, place := range added.Barred {
		if _, err := c.write(ctx, dropped(c.lineOf(v, cs[place])), evidence{}); err != nil {
			return err
		}
	}
	return nil
}

// tellLate writes down what an operator's Drop closed with the Finish of a turn: what was found, and the turn's own tasks
// that were open still. Both are decided by the frontier alone, so that their lines can only follow.
func (c *Crawl) tellLate(ctx context.Context, v *visit, finished frontier.Finished) error {
	ctx = context.WithoutCancel(ctx) // what they tell has happened
	if err := c.tellBarred(ctx, v, v.result.Found, finished.Added); err != nil {
		return err
	}
	for _, t := range v.turn.Tasks {
		if !slices.Contains(finished.Dropped, t.Print) {
			continue
		}
		if _, err := c.write(ctx, dropped(c.lineOf(v, t.Candidate)), evidence{}); err != nil {
			return err
		}
	}
	return nil
}

// tell writes lines into both, durably.
func tell(ctx context.Context, r storage.Recorder, l storage.Ledger, all []storage.Line) error {
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
