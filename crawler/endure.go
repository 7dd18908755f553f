package crawler

import (
	"context"
	"errors"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// attempt is exchange, but that a panic in it, or the end of the lease's time, is a failed attempt of the task and no
// more: a page that makes a parser panic must not stop ten million others. What the task has added is taken back.
func (c *Crawl) attempt(ctx context.Context, v *visit, task frontier.Task, verdict robots.Verdict) error {
	d := decision{kind: storage.DecisionAllow, verdict: verdict, attempt: task.Attempts + 1, pace: v.due()}
	return c.endure(ctx, v, task, d, func() error { return c.exchange(ctx, v, task, verdict) })
}

// attempted is attempt for an exchange that was made already.
func (c *Crawl) attempted(ctx context.Context, v *visit, f flight, d decision) error {
	return c.endure(ctx, v, f.task, d, func() error {
		switch {
		case f.panicked != nil:
			panic(f.panicked)
		case f.err != nil:
			v.cut(c)
			return f.err
		}
		v.was, v.listed = f.was, listed{}
		return c.tell(ctx, v, f.task, f.ex, d)
	})
}

// endure makes a failed attempt of a panic in run.
func (c *Crawl) endure(ctx context.Context, v *visit, task frontier.Task, d decision, run func() error) error {
	before := v.mark()
	d.reason = reasonPanic
	panicked, err := c.survive(task.URL, run)
	if !panicked {
		if errors.Is(err, errNotYet) {
			return nil
		}
		if err == nil || !late(ctx, err) {
			return errors.Join(err, c.aborted(ctx, v, err, func(ctx context.Context) error {
				d.reason, d.pace = host.Aborted, v.kept
				return c.line(ctx, v, task, d, storage.OutcomeDeferred)
			}))
		}
		d.reason = reasonLease
	}
	v.undo(before)
	v.cut(c)
	if v.kept.By != "" {
		d.pace = v.kept
	}
	if d.attempt >= host.Broken.Attempts() {
		d.outcome = frontier.Failed
	}
	return c.settle(context.WithoutCancel(ctx), v, task, d)
}

// aborted has a line written for an exchange that an abort cut short: the host was asked, though nothing came of it, and
// its own log may say so.
func (c *Crawl) aborted(ctx context.Context, v *visit, err error, line func(context.Context) error) error {
	if err == nil || !over(ctx, err) || v.end.IsZero() {
		return nil // nobody was asked, or it is a failure of our own state
	}
	return line(context.WithoutCancel(ctx))
}

// errLease is why a turn's context ends before its lease does.
var errLease = errors.New("crawler: the lease is nearly over")

// late reports whether err means that the lease's time is over, and not that somebody aborts.
func late(ctx context.Context, err error) bool {
	return over(ctx, err) && errors.Is(context.Cause(ctx), errLease)
}
