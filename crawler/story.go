package crawler

import (
	"context"
	"errors"
	"net/http"

	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// story is what happens in one turn, from the robots gate to the outcome of at most one URL that needs an exchange.
// Tasks it does not come to return to the head of their queue.
func (c *Crawl) story(ctx context.Context, v *visit) error {
	if ready, err := c.admit(ctx, v); err != nil || !ready {
		return err
	}
	if c.cfg.DryRun {
		v.leave(frontier.Retired, reasonDryRun, 0)
		return nil
	}
	if c.cfg.MaxPerHost > 0 && int64(v.notes.pages) >= c.cfg.MaxPerHost {
		v.leave(frontier.Retired, reasonMaxPerHost, 0)
		return nil
	}
	for _, task := range v.turn.Tasks {
		judged := c.scope.Judge(inScope(task.Candidate))
		verdict := v.rules.judge(task.URL.RequestURI())
		var err error
		switch {
		case !judged.In:
			err = c.settle(ctx, v, task, decision{kind: decisionRefuse, reason: judged.Rule, outcome: frontier.Dropped})
		case !verdict.Allowed:
			d := decision{kind: decisionDisallow, reason: string(verdict.Reason), verdict: verdict, outcome: frontier.Disallowed}
			err = c.settle(ctx, v, task, d)
		case c.draining.Err() != nil:
			return nil
		default:
			return c.attempt(ctx, v, task, verdict)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exchange fetches one task and settles it by what came back.
func (c *Crawl) exchange(ctx context.Context, v *visit, task frontier.Task, verdict robots.Verdict) error {
	d := decision{kind: decisionAllow, verdict: verdict, attempt: task.Attempts + 1, pace: v.pace}
	ex, err := c.ask(ctx, v, fetch.Request{URL: task.URL, MaxBody: c.cfg.MaxBody, Want: c.wanted(task)})
	if err != nil {
		return err
	}
	defer ex.Close()
	d.status, d.gap = ex.Status, v.gap(c, ex.Start)
	a, why := classify(ex)
	v.exchanged(c, ex, a, why, restful(a, ex.Status))

	if a == answered && task.Kind == frontier.KindRedirect && seedChain(task.Candidate) {
		c.extend(v, task)
	}
	page, isHTML, err := c.page(ctx, v, task, ex, a)
	if err != nil {
		return err
	}
	if d.record, err = c.record(ctx, ex, page.Robots.NoArchive); err != nil {
		return err
	}
	c.conclude(v, task, ex, a, why, &d)
	if err := c.refuse(ctx, v); err != nil {
		return err
	}
	if isHTML {
		v.pages++
		v.notes.pages++
		v.count(CountPages, 1)
	}
	return c.settle(ctx, v, task, d)
}

// conclude decides how a task ends by its exchange, or that it comes again.
func (c *Crawl) conclude(v *visit, task frontier.Task, ex *fetch.Exchange, a answer, why string, d *decision) {
	d.outcome, d.reason = frontier.Failed, why
	switch a {
	case answered:
		d.outcome = frontier.Fetched
		if ex.Truncated != "" {
			v.count(CountTruncated, 1)
			d.reason = "truncated: " + ex.Truncated
		}
	case redirected:
		c.redirect(v, task, ex.Header.Get("Location"), d)
	case gone:
		d.outcome = frontier.Gone
	case unwanted, guarded:
		d.outcome = frontier.Dropped
	case refused:
		if v.notes.forbidden && v.notes.pages == 0 && ex.Status == http.StatusForbidden {
			v.leave(frontier.Refused, "status 403 for robots.txt and for the first page", 0)
		}
	default:
		if task.Attempts+1 < a.again() {
			d.outcome = 0
		}
	}
}

// redirect makes the target a candidate. A target with the task's own key replaces its fetch URL once.
func (c *Crawl) redirect(v *visit, task frontier.Task, location string, d *decision) {
	target, err := task.URL.Resolve(location)
	switch {
	case err != nil:
		d.outcome, d.reason = frontier.Failed, "redirect: "+string(canon.ReasonOf(err))
	case loops(task, target):
		d.outcome, d.reason = frontier.Failed, "redirect loop"
	case target.Key() == task.URL.Key():
		d.outcome, d.reason, d.instead = 0, "redirect to its own key", target
	case task.Hops >= maxHops:
		d.outcome, d.reason = frontier.Dropped, reasonHops
	default:
		next := task.Candidate
		next.URL, next.Kind, next.Via, next.Hops = target, frontier.KindRedirect, task.URL.String(), task.Hops+1
		c.found(v, next, false)
		d.outcome, d.reason = frontier.Redirected, "to "+short(target.String())
	}
}

// loops reports whether a redirect leads back to where it came from. A longer circle ends by itself, since its URLs
// are candidates once; but that of a seed must not pass for an answer.
func loops(task frontier.Task, target canon.URL) bool {
	to := target.String()
	if target.Key() == task.URL.Key() {
		return task.Replaced || to == task.URL.String()
	}
	return seedChain(task.Candidate) && (to == task.Seed || to == task.Via)
}

// maxHops is the longest chain of redirects that is followed (politeness rule 22).
const maxHops = 10

// The reasons that the story itself gives.
const (
	reasonHops       = "trap:redirect-chain"
	reasonMaxPerHost = "budget: max-per-host"
	reasonPanic      = "panic"
	reasonLease      = "lease" // it took longer than a lease allows
)

// wanted looks at a head before its body is asked for.
func (c *Crawl) wanted(task frontier.Task) func(int, http.Header) string {
	return func(status int, h http.Header) string {
		if status < 200 || status > 299 || seedChain(task.Candidate) {
			return ""
		}
		if ok, rule := c.scope.AcceptType(h.Get("Content-Type"), task.URL.Path()); !ok {
			return rule
		}
		return ""
	}
}

// attempt is exchange, but that a panic in it, or the end of the lease's time, is a failed attempt of the task and no
// more: a page that makes a parser panic must not stop ten million others. What the task has added is taken back.
func (c *Crawl) attempt(ctx context.Context, v *visit, task frontier.Task, verdict robots.Verdict) error {
	before := v.mark()
	reason := reasonPanic
	panicked, err := c.survive(task.URL, func() error { return c.exchange(ctx, v, task, verdict) })
	if !panicked {
		if err == nil || !late(ctx, err) {
			return err
		}
		reason = reasonLease
	}
	v.undo(before)
	v.cut(c)
	d := decision{kind: decisionAllow, verdict: verdict, reason: reason, attempt: task.Attempts + 1, pace: before.pace}
	if d.attempt >= broken.again() {
		d.outcome = frontier.Failed
	}
	return c.settle(context.WithoutCancel(ctx), v, task, d)
}

// errLease is why a turn's context ends before its lease does.
var errLease = errors.New("crawler: the lease is nearly over")

// late reports whether err means that the lease's time is over, and not that somebody aborts.
func late(ctx context.Context, err error) bool {
	return over(ctx, err) && errors.Is(context.Cause(ctx), errLease)
}

// short cuts a URL for a reason.
func short(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
