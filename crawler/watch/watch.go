package watch

import (
	"context"
	"errors"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage/hostrule"
)

// A Watch goes on with a crawl, round by round:
//
//	for {
//		more, err := w.Next(ctx)
//		if !more || err != nil { … }
//		result, err := crawldir.Run(ctx, w.Dir, crawldir.Options{Settings: w.Settings})
//	}
//
// While Next sleeps nobody holds the directory. What a stop leaves undone is the first that the next watch does.
type Watch struct {
	Dir      string
	Settings *crawldir.Settings // PerHostPerDay is not zero
	Options  Options
	End      time.Time // when the watch ends; zero for never
	Once     bool      // do what is due now, and end

	// Round is told of a round that begins, Sleep of a sleep. Nil for nobody.
	Round func(g budget.Generation, p *Plan)
	Sleep func(status.Watch)

	notBefore time.Time    // when to look again
	is        status.Watch // why then
	finished  bool         // what was pending had its run
	began     bool         // a round
}

// BusyElsewhere is why a watch waits while another command has the directory.
const BusyElsewhere = "another command has the directory"

// busyShare is how much longer than the making of a plan the time from one to the next is at least.
const busyShare = 20

// leastSleep keeps a plan that is due at once from being made again and again.
const leastSleep = time.Second

// Next returns when there is something for a run to do in the directory: what was left, or a round that it began. It returns
// false when the watch is over; the error is that of ctx when that ends.
func (w *Watch) Next(ctx context.Context) (more bool, err error) {
	for {
		if w.Once && w.began {
			return false, nil
		}
		until := w.sleepsUntil()
		if !w.Once && w.Sleep != nil && time.Until(until) > 0 {
			is := w.is
			if is.Next = until; until.Equal(w.End) {
				is = status.Watch{Ends: w.End, Why: "for", URLs: w.is.URLs}
			}
			w.Sleep(is)
		}
		if !w.Once && !sleep(ctx, time.Until(until)) {
			return false, ctx.Err()
		}
		if !w.End.IsZero() && !time.Now().Before(w.End) {
			return false, nil
		}
		if more, err = w.look(ctx); more || err != nil && !elsewhere(err) {
			return more, err
		}
		if w.Once {
			return false, err
		}
		if err != nil { // somebody looks at it, or goes on with it
			w.is = status.Watch{Why: BusyElsewhere, URLs: w.is.URLs}
			w.notBefore = time.Now().Add(max(leastSleep, min(w.Options.withDefaults().Gather, time.Minute)))
		}
	}
}

// elsewhere reports whether an error says that somebody else has the directory, or had it a moment ago.
func elsewhere(err error) bool {
	return errors.Is(err, frontier.ErrInUse) || errors.Is(err, crawldir.ErrTouched) || errors.Is(err, crawldir.ErrNotEnded)
}

func (w *Watch) sleepsUntil() time.Time {
	if !w.End.IsZero() && w.End.Before(w.notBefore) {
		return w.End
	}
	return w.notBefore
}

// look sees whether there is something to do now, and if not, when.
func (w *Watch) look(ctx context.Context) (more bool, err error) {
	began, o := time.Now(), w.Options.withDefaults()
	o.PerDay, o.Hosts = w.Settings.PerHostPerDay, w.Settings.Hosts
	w.notBefore, w.is = began.Add(o.Gather), status.Watch{Why: "gather", URLs: w.is.URLs}
	if at, shut := w.shut(began); shut && !w.Once {
		w.notBefore, w.is.Why = at, "window"
		return false, nil
	}
	left, _, err := crawldir.Left(ctx, w.Dir)
	if err != nil {
		return false, err
	}
	if left.Asked && left.Due <= w.Settings.MaxWait && !(w.Once && w.finished) {
		w.finished = true
		return true, nil
	}
	p, err := MakePlan(ctx, w.Dir, o, nil)
	if err != nil {
		return false, err
	}
	w.is.URLs = p.URLs
	if len(p.Due) > 0 {
		g, err := crawldir.BeginRound(ctx, w.Dir, w.Settings, p.round())
		if err != nil {
			return false, err
		}
		if least := began.Add(busyShare * time.Since(began)); least.After(w.notBefore) {
			w.notBefore = least
		}
		if w.began = true; w.Round != nil {
			w.Round(g, p)
		}
		return true, nil
	}
	w.notBefore = w.wake(p, left, began)
	switch w.is.Why = "nothing is due"; {
	case w.notBefore.Equal(p.Next):
		w.is.Why, w.is.URL = p.why, p.first
	case left.Asked:
		w.is.Why = "hosts back off"
	}
	return false, nil
}

// shut is when the window of the crawl opens, and whether it is closed.
func (w *Watch) shut(now time.Time) (at time.Time, shut bool) {
	spans, err := hostrule.ParseSpans(w.Settings.Window) // Check has refused what cannot be read
	at, ok := spans.Opens(now)
	return at, err == nil && ok && at.After(now)
}

// wake is when there may be something to do again.
func (w *Watch) wake(p *Plan, left crawldir.Pending, began time.Time) time.Time {
	now := time.Now()
	next := p.Next
	if at := now.Add(left.Due - w.Settings.MaxWait); left.Asked && (next.IsZero() || at.Before(next)) {
		next = at
	}
	if most := now.Add(24 * time.Hour); next.IsZero() || next.After(most) {
		next = most // an operator may have freed something meanwhile
	}
	if least := began.Add(max(busyShare*time.Since(began), leastSleep)); next.Before(least) {
		next = least
	}
	return next
}

// sleep reports whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
