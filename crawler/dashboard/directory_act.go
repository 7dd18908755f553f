package dashboard

import (
	"context"
	"errors"
	"fmt"

	"curtsy/crawler/control"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// Do implements dashboard.Source.
func (d *directory) Do(ctx context.Context, a Act) (said string, err error) {
	ctx = control.Noted(ctx, a.Reason)
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		said, err = do(ctx, r, a)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		return "", ErrReadOnly
	}
	return said, err
}

func do(ctx context.Context, r *control.Remote, a Act) (string, error) {
	switch a.Verb {
	case ActChange:
		done, err := r.Change(ctx, a.Change)
		return changed(a.Change, done), err
	case ActPause:
		return "Paused: no new requests start.", r.Pause(ctx, true)
	case ActGoOn:
		return "The crawl continues.", r.Pause(ctx, false)
	case ActDrain:
		return "The crawl ends after the requests in flight.", r.Drain(ctx)
	case ActSeed:
		added, err := r.Add(ctx, []frontier.Candidate{{URL: a.Seed, Kind: frontier.KindSeed, Seed: a.Seed.String()}})
		if err == nil && added.New == 0 {
			return fmt.Sprintf("%s was already known; the scope now includes it.", a.Seed), nil
		}
		return fmt.Sprintf("%s was added.", a.Seed), err
	case ActRetry:
		done, err := r.Retry(ctx, frontier.Retrial{Outcome: a.What, Authority: a.Host, Hosts: true})
		return fmt.Sprintf("%s of %s will be retried.", plainly.Count(done.URLs, "URL"), a.Host.Origin()), err
	}
	return steer(ctx, r, a)
}

// Try implements dashboard.Source.
func (d *directory) Try(ctx context.Context, c control.Change) (done control.Changed, err error) {
	c.Try = true
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		done, err = r.Change(ctx, c)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		err = ErrReadOnly
	}
	return done, err
}

// changed says what came of a change.
func changed(c control.Change, done control.Changed) string {
	var text string
	switch {
	case c.Setting == control.SetOptOuts:
		text = "The opt-out lists were reread: " + done.After + "."
	case done.Before == "":
		text = fmt.Sprintf("%s now has %q.", c.Setting, done.After)
	case done.After == "":
		text = fmt.Sprintf("%s no longer has %q.", c.Setting, done.Before)
	default:
		text = fmt.Sprintf("%s is now %s; it was %s.", c.Setting, done.After, done.Before)
	}
	if done.URLs > 0 {
		text += fmt.Sprintf(" It affects %s of %d in the queue.", plainly.Count(done.URLs, "URL"), done.Pending)
	}
	for _, trouble := range done.Trouble {
		text += " " + trouble
	}
	return text
}

// steer is what is done with a host.
func steer(ctx context.Context, r *control.Remote, a Act) (string, error) {
	s := frontier.Steering{Authority: a.Host, Reason: a.Reason, For: a.For}
	switch a.Verb {
	case ActPark:
		s.Act = frontier.Park
	case ActDrop:
		s.Act = frontier.Drop
	case ActRelease:
		s.Act, s.Reason = frontier.Resume, ""
	default:
		return "", fmt.Errorf("unknown action %q", a.Verb)
	}
	done, err := r.Steer(ctx, s)
	switch {
	case err != nil:
		return "", err
	case !done.Changed:
		return fmt.Sprintf("%s: nothing to change.", a.Host.Origin()), nil
	case a.Verb == ActPark:
		return fmt.Sprintf("%s is paused.", a.Host.Origin()), nil
	case a.Verb == ActDrop:
		return fmt.Sprintf("%s is dropped: %s closed.", a.Host.Origin(), plainly.Count(done.URLs, "URL")), nil
	}
	return fmt.Sprintf("%s is unpaused; its delay still applies.", a.Host.Origin()), nil
}
