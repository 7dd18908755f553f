package directory

import (
	"context"
	"errors"
	"fmt"

	"curtsy/crawler/control"
	"curtsy/crawler/dashboard"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// Do implements dashboard.Source.
func (d *Directory) Do(ctx context.Context, a dashboard.Act) (said string, err error) {
	ctx = control.Noted(ctx, a.Reason)
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		said, err = do(ctx, r, a)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		return "", dashboard.ErrReadOnly
	}
	return said, err
}

func do(ctx context.Context, r *control.Remote, a dashboard.Act) (string, error) {
	switch a.Verb {
	case dashboard.ActChange:
		done, err := r.Change(ctx, a.Change)
		return changed(a.Change, done), err
	case dashboard.ActPause:
		return "Paused: no new exchange begins.", r.Pause(ctx, true)
	case dashboard.ActGoOn:
		return "The crawl goes on.", r.Pause(ctx, false)
	case dashboard.ActDrain:
		return "The crawl ends when the exchanges under way have.", r.Drain(ctx)
	case dashboard.ActSeed:
		added, err := r.Add(ctx, []frontier.Candidate{{URL: a.Seed, Kind: frontier.KindSeed, Seed: a.Seed.String()}})
		if err == nil && added.New == 0 {
			return fmt.Sprintf("%s was known already; the scope includes it now.", a.Seed), nil
		}
		return fmt.Sprintf("%s was added.", a.Seed), err
	case dashboard.ActRetry:
		done, err := r.Retry(ctx, frontier.Retrial{Outcome: a.What, Authority: a.Host, Hosts: true})
		return fmt.Sprintf("%s of %s tried again.", plainly.Count(done.URLs, "URL"), a.Host.Origin()), err
	}
	return steer(ctx, r, a)
}

// Try implements dashboard.Source.
func (d *Directory) Try(ctx context.Context, c control.Change) (done control.Changed, err error) {
	c.Try = true
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		done, err = r.Change(ctx, c)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		err = dashboard.ErrReadOnly
	}
	return done, err
}

// changed says what came of a change.
func changed(c control.Change, done control.Changed) string {
	var text string
	switch {
	case c.Setting == control.SetOptOuts:
		text = "The opt-out lists were read again: " + done.After + "."
	case done.Before == "":
		text = fmt.Sprintf("%s has %q now.", c.Setting, done.After)
	case done.After == "":
		text = fmt.Sprintf("%s has %q no more.", c.Setting, done.Before)
	default:
		text = fmt.Sprintf("%s is %s now; it was %s.", c.Setting, done.After, done.Before)
	}
	if done.URLs > 0 {
		text += fmt.Sprintf(" It concerns %s of %d that are queued.", plainly.Count(done.URLs, "URL"), done.Pending)
	}
	for _, trouble := range done.Trouble {
		text += " " + trouble
	}
	return text
}

// steer is what is done with a host.
func steer(ctx context.Context, r *control.Remote, a dashboard.Act) (string, error) {
	s := frontier.Steering{Authority: a.Host, Reason: a.Reason, For: a.For}
	switch a.Verb {
	case dashboard.ActPark:
		s.Act = frontier.Park
	case dashboard.ActDrop:
		s.Act = frontier.Drop
	case dashboard.ActRelease:
		s.Act, s.Reason = frontier.Resume, ""
	default:
		return "", fmt.Errorf("there is no act %q", a.Verb)
	}
	done, err := r.Steer(ctx, s)
	switch {
	case err != nil:
		return "", err
	case !done.Changed:
		return fmt.Sprintf("%s: nothing to change.", a.Host.Origin()), nil
	case a.Verb == dashboard.ActPark:
		return fmt.Sprintf("%s is parked.", a.Host.Origin()), nil
	case a.Verb == dashboard.ActDrop:
		return fmt.Sprintf("%s is dropped: %s closed.", a.Host.Origin(), plainly.Count(done.URLs, "URL")), nil
	}
	return fmt.Sprintf("%s is released, and keeps the pause that it is owed.", a.Host.Origin()), nil
}
