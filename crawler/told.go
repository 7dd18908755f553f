package crawler

import (
	"context"
	"errors"
	"time"

	"curtsy/frontier"
	"curtsy/storage"
)

// steer obeys an operator's command.
func (c *Crawl) steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if err := s.Check(); err != nil {
		return frontier.Steered{}, badOrder{err}
	}
	defer c.overlook.forget()
	did, err := c.cfg.Frontier.Steer(ctx, s)
	err = errors.Join(err, TellDropped(ctx, c.cfg.Recorder, c.cfg.Ledger, s, did))
	c.gathered.note()
	return did, err
}

// TellDropped writes down what an operator's Drop closed. A line names what the operator named: a URL, or a host by its
// root. It counts what was closed where that is not just the URL named.
func TellDropped(ctx context.Context, r storage.Recorder, l storage.Ledger, s frontier.Steering, did frontier.Steered) error {
	if s.Act != frontier.Drop || did.URLs == 0 {
		return nil
	}
	var all []storage.Line
	line := storage.Line{Time: time.Now(), Decision: decisionRefuse, Reason: frontier.ReasonOperator, Outcome: frontier.Dropped.String()}
	for _, u := range s.URLs {
		line.URL = u.String()
		all = append(all, line)
	}
	switch {
	case len(s.URLs) == 0:
		line.URL, line.Count = origin(s.Authority)+"/", did.URLs
		all = []storage.Line{line}
	case int64(len(s.URLs)) != did.URLs: // the others were closed already, or not known; which is not said
		all[0].Count = did.URLs
		all = all[:1]
	}
	return tell(ctx, r, l, all)
}

// TellQuarantined writes down that URLs were set aside when the frontier was opened.
func TellQuarantined(ctx context.Context, r storage.Recorder, l storage.Ledger, cs []frontier.Candidate) error {
	var all []storage.Line
	for _, c := range cs {
		all = append(all, storage.Line{
			Time: time.Now(), URL: c.URL.String(), Via: c.Via, Kind: kindWord(c.Kind), Depth: c.Depth, Seed: c.Seed, Tag: c.Tag,
			Decision: decisionRefuse, Reason: frontier.ReasonQuarantined, Outcome: frontier.Failed.String(),
		})
	}
	return tell(ctx, r, l, all)
}

// tell writes lines into both, durably.
func tell(ctx context.Context, r storage.Recorder, l storage.Ledger, all []storage.Line) error {
	if len(all) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // what they tell has happened
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
