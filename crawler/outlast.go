package crawler

import (
	"context"
	"errors"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/frontier"
)

// errOutlasted ends a task's exchange with the time of its lease, so that what came until then is archived.
var errOutlasted = &fetch.Failure{Class: fetch.Stopped, Err: errLease}

// asking returns the context of a task's exchange: it is over when ctx is, and an exchange that the end of the lease's time
// cuts is one that was cut, as at the end of the crawl. Robots.txt and proofs do without: what became of them is learned of
// what their errors say.
func asking(ctx context.Context) (within context.Context, end func()) {
	within, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		why := context.Cause(ctx)
		if errors.Is(why, errLease) {
			why = errOutlasted
		}
		cancel(why)
	})
	return within, func() {
		unwatch()
		cancel(nil)
	}
}

// instead is err, or the error of ctx where err means no more than that within, its child by asking, is over.
func instead(ctx, within context.Context, err error) error {
	if err != nil && over(within, err) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// outlasted reports whether the end of the lease's time cut an exchange short.
func outlasted(ex *fetch.Exchange) bool { return stopped(ex) && errors.Is(ex.Failure, errLease) }

// tellOutlasted writes down what came of an exchange until the time of the lease was over: a failed attempt of the task, which
// says nothing of the host. It waits for nobody, so it does not matter that ctx is over.
func (c *Crawl) tellOutlasted(ctx context.Context, v *visit, task frontier.Task, ex *fetch.Exchange, d decision) error {
	if !dialled(ex) {
		return ctx.Err() // endure says so, without an exchange
	}
	v.exchanged(c, ex, host.CutOff, reasonLease, heedsRetryAfter(ex))
	ctx = context.WithoutCancel(ctx)
	asks, err := c.directives(ctx, ex)
	if err != nil {
		return err
	}
	c.wishes(v, ex, asks, &d)
	d.reason = reasonLease
	if d.attempt >= host.Broken.Attempts() {
		d.outcome = frontier.Failed
	}
	return c.settle(ctx, v, task, d)
}
