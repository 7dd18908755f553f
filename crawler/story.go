package crawler

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"curtsy/crawler/fetch"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// story is what happens in one turn, from the robots gate to the outcome of at most one URL that needs an exchange.
// Tasks it does not come to return to the head of their queue.
func (c *Crawl) story(ctx context.Context, v *visit) error {
	if err := c.recall(ctx, v); err != nil {
		return err
	}
	tasks, err := c.leaveOptedOut(ctx, v)
	if err != nil || len(tasks) < len(v.turn.Tasks) && len(tasks) == 0 {
		return err
	}
	ready, err := c.admit(ctx, v)
	if err == nil {
		err = c.nameMaps(ctx, v)
	}
	if err != nil || !ready {
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
	suspect := slices.ContainsFunc(tasks, func(t frontier.Task) bool { return t.Stops > 0 })
	if c.width(v) > 1 && v.turn.Width > 1 && !suspect { // a suspect has its turn alone
		return c.flock(ctx, v, tasks)
	}
	for _, task := range tasks {
		verdict, settled, err := c.judge(ctx, v, task)
		switch {
		case err != nil:
			return err
		case settled:
		case c.draining.Err() != nil:
			return nil
		default:
			return c.attempt(ctx, v, task, verdict)
		}
	}
	return nil
}

// judge asks scope and robots policy about a task, as they are now, and settles one that needs no exchange.
func (c *Crawl) judge(ctx context.Context, v *visit, task frontier.Task) (verdict robots.Verdict, settled bool, err error) {
	judged := c.scope.Judge(inScope(task.Candidate))
	verdict = v.rules.judge(task.URL.RequestURI())
	switch {
	case !judged.In:
		return verdict, true, c.settle(ctx, v, task, decision{kind: decisionRefuse, reason: judged.Rule, outcome: frontier.Dropped})
	case !verdict.Allowed:
		d := decision{kind: decisionDisallow, reason: string(verdict.Reason), verdict: verdict, outcome: frontier.Disallowed}
		return verdict, true, c.settle(ctx, v, task, d)
	case task.Kind == frontier.KindMap && v.notes.maps >= maxMaps:
		return verdict, true, c.settle(ctx, v, task, decision{kind: decisionRefuse, reason: reasonMaps, outcome: frontier.Dropped})
	}
	if rule := c.held(v, task); rule != "" {
		return verdict, true, c.hold(ctx, v, task, verdict, rule)
	}
	return verdict, false, nil
}

// exchange fetches one task and settles it by what came back.
func (c *Crawl) exchange(ctx context.Context, v *visit, task frontier.Task, verdict robots.Verdict) error {
	d := decision{kind: decisionAllow, verdict: verdict, attempt: task.Attempts + 1, pace: v.pace}
	v.was, v.listed = task.Candidate, listed{}
	maps := v.notes.maps
	task = c.prepare(v, task)
	ex, err := c.ask(ctx, v, c.request(v.turn.Width, task))
	if errors.Is(err, errNotYet) {
		v.notes.maps = maps
	}
	if err != nil {
		return err
	}
	return c.tell(ctx, v, task, ex, d)
}

// tell settles a task by what its exchange brought.
func (c *Crawl) tell(ctx context.Context, v *visit, task frontier.Task, ex *fetch.Exchange, d decision) (err error) {
	defer ex.Close()
	if hit := entryOf(ex.Failure); hit != nil {
		return c.settle(ctx, v, task, optedOut(hit))
	}
	d.status, d.pace, d.gap = ex.Status, v.kept, v.gap(c, ex.Start)
	a, why := classify(ex)
	v.exchanged(c, ex, a, why, restful(a, ex.Status))
	if task.Kind != frontier.KindMap {
		v.meet(task)
	}

	if a == answered && task.Kind == frontier.KindRedirect && seedChain(task.Candidate) {
		c.extend(v, task)
	}
	page, isHTML, err := c.page(ctx, v, task, ex, a)
	if err != nil {
		return err
	}
	if err := c.keep(ctx, v, ex, page.Robots, &d); err != nil {
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
		} else if v.copied {
			d.reason = trap.RuleCopy
		}
		if v.listed.reason != "" {
			d.reason, d.note = v.listed.reason, v.listed.note
		}
	case redirected:
		c.redirect(v, task, ex.Header.Get("Location"), d)
	case gone:
		d.outcome = frontier.Gone
	case unwanted, guarded:
		d.outcome = frontier.Dropped
	case refused:
		if v.notes.forbidden && ex.Status == http.StatusForbidden && v.notes.pages == 0 && v.turn.Host.Outcomes[frontier.Fetched] == 0 {
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
	case loops(task, target) || target.Key() != task.URL.Key() && c.circles(task, target):
		d.outcome, d.reason = frontier.Failed, "redirect loop"
	case target.Key() == task.URL.Key():
		d.outcome, d.reason, d.instead = 0, "redirect to its own key", target
	case task.Hops >= maxHops:
		d.outcome, d.reason = frontier.Dropped, reasonHops
	default:
		next := task.Candidate
		next.URL, next.Kind, next.Via, next.Hops = target, frontier.KindRedirect, task.URL.String(), task.Hops+1
		if task.Kind == frontier.KindMap {
			next.Kind, next.Via = frontier.KindMap, rootMap(task.Candidate)
		}
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
	d := decision{kind: decisionAllow, verdict: verdict, attempt: task.Attempts + 1, pace: v.pace}
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
			return err
		}
		d.reason = reasonLease
	}
	v.undo(before)
	v.cut(c)
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
