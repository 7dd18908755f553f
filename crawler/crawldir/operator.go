package crawldir

import (
	"context"
	"fmt"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/control"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/ledger"
)

// What an operator does to a crawl is in its ledger, a mark for each act, whichever way the order came. The act comes first,
// but for those that end something: a kill in between loses the mark of the last act, never one without its act.

// noting has a ledger say what an operator did.
type noting func(ctx context.Context, act ledger.Operator) error

// operated is a running crawl as its operator meets it.
type operated struct {
	*crawler.Crawl
	frontier frontier.Frontier
	note     noting
	changing *changing
}

func (d *Dir) operated(c *crawler.Crawl) control.Crawl {
	note := func(ctx context.Context, act ledger.Operator) error {
		err := d.Ledger.Operator(context.WithoutCancel(ctx), act) // it was done
		if err == nil && d.options.Operator != nil {
			d.options.Operator(act)
		}
		return err
	}
	return &operated{c, d.Frontier, note, &changing{dir: d.path, frontier: d.Frontier, running: c, tell: note, now: d.settings}}
}

// Steer implements control.Crawl.
func (o *operated) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	return steer(ctx, o.Crawl, o.frontier, s, o.note)
}

// Retry implements control.Crawl.
func (o *operated) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	return retry(ctx, o.Crawl, r, o.note)
}

// Add implements control.Crawl.
func (o *operated) Add(ctx context.Context, seeds []frontier.Candidate) (frontier.Added, error) {
	added, err := o.Crawl.Add(ctx, seeds)
	if err != nil {
		return added, err
	}
	return added, o.note(ctx, ofSeeds(ctx, seeds, added))
}

// Pause implements control.Crawl.
func (o *operated) Pause(ctx context.Context, on bool) error {
	if s, err := o.Status(ctx); err == nil && (s.State == "paused") == on {
		return nil
	}
	o.Crawl.Pause(on)
	act := ledger.ActGoOn
	if on {
		act = ledger.ActPause
	}
	return o.note(ctx, ledger.Operator{Act: act, Note: control.NoteOf(ctx)})
}

// Drain implements control.Crawl. Its mark comes first: the ledger of a run that ends is closed.
func (o *operated) Drain(ctx context.Context) error {
	err := o.note(ctx, ledger.Operator{Act: ledger.ActDrain, Note: control.NoteOf(ctx)})
	o.Crawl.Drain()
	return err
}

// Change implements control.Crawl.
func (o *operated) Change(ctx context.Context, order control.Change) (control.Changed, error) {
	return o.changing.change(ctx, order)
}

// steer obeys a command about a host, and notes it if anything came of it.
func steer(ctx context.Context, f interface {
	Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error)
}, hosts frontier.Reader, s frontier.Steering, note noting) (frontier.Steered, error) {
	done, err := f.Steer(ctx, s)
	if err != nil || !done.Changed && done.URLs == 0 {
		return done, err
	}
	act := ledger.Operator{About: s.Authority.Origin(), URLs: done.URLs, Note: s.Reason}
	if h, ok, err := hosts.Host(ctx, s.Authority); err == nil && ok && s.Act != frontier.Drop {
		act.URLs = h.Queued + h.Deferred
	}
	if act.Note == "" {
		act.Note = control.NoteOf(ctx)
	}
	switch s.Act {
	case frontier.Park:
		if act.Act = ledger.ActPark; s.For > 0 {
			act.About += ", for " + s.For.Round(time.Second).String()
		}
	case frontier.Drop:
		if act.Act = ledger.ActDrop; len(s.URLs) > 0 {
			act.About += ", of it some URLs"
		}
	case frontier.Resume:
		act.Act = ledger.ActRelease
	default:
		return done, nil // no act of an operator
	}
	return done, note(ctx, act)
}

// retry opens what was closed, and notes it if there was any.
func retry(ctx context.Context, f interface {
	Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error)
}, r frontier.Retrial, note noting) (frontier.Retried, error) {
	done, err := f.Retry(ctx, r)
	if err != nil || done.URLs == 0 && done.Hosts == 0 {
		return done, err
	}
	act := ledger.Operator{Act: ledger.ActRetry, URLs: done.URLs, Note: control.NoteOf(ctx)}
	switch r.Outcome {
	case 0:
		act.About = "closed hosts"
	case frontier.Held:
		act.Act, act.About = ledger.ActRelease, "what was held"
	default:
		act.About = r.Outcome.String()
	}
	if !r.Authority.IsZero() {
		act.About += " of " + r.Authority.Origin()
	}
	if r.Reason != "" {
		act.About += ": " + r.Reason
	}
	return done, note(ctx, act)
}

// ofSeeds tells of seeds by their hosts: their paths are in the lines that they get.
func ofSeeds(ctx context.Context, seeds []frontier.Candidate, added frontier.Added) ledger.Operator {
	act := ledger.Operator{Act: ledger.ActSeeds, URLs: int64(added.New), Note: control.NoteOf(ctx)}
	var last canon.Authority
	for i, s := range seeds {
		a := s.URL.Authority()
		if a == last {
			continue
		}
		last = a
		if len(act.About) > ledger.MaxAbout/2 {
			act.About += fmt.Sprintf(" and those of %d further seeds", len(seeds)-i)
			break
		}
		if act.About != "" {
			act.About += " "
		}
		act.About += a.Origin()
	}
	return act
}
