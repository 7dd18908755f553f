package crawler

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
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
	if c.cfg.MaxPerHost > 0 && int64(v.memory.Pages) >= c.cfg.MaxPerHost {
		v.leave(frontier.Retired, reasonMaxPerHost, 0)
		return nil
	}
	suspect := slices.ContainsFunc(tasks, func(t frontier.Task) bool { return t.Stops > 0 })
	alone := suspect || v.due().Pause > 0 // a suspect has its turn alone, and so has what comes first after a rest
	if c.width(v) > 1 && v.turn.Width > 1 && !alone {
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
	verdict = v.rules.Judge(task.URL.RequestURI())
	switch {
	case !judged.In:
		return verdict, true, c.settle(ctx, v, task, decision{kind: storage.DecisionRefuse, reason: judged.Rule, outcome: frontier.Dropped})
	case !verdict.Allowed:
		d := decision{kind: storage.DecisionDisallow, reason: string(verdict.Reason), verdict: verdict, outcome: frontier.Disallowed}
		return verdict, true, c.settle(ctx, v, task, d)
	case task.Kind == frontier.KindMap && v.memory.Sitemaps >= maxMaps:
		return verdict, true, c.settle(ctx, v, task, decision{kind: storage.DecisionRefuse, reason: reasonMaps, outcome: frontier.Dropped})
	}
	if rule := c.held(v, task); rule != "" {
		return verdict, true, c.hold(ctx, v, task, verdict, rule)
	}
	settled, err = c.spared(ctx, v, task, verdict)
	return verdict, settled, err
}

// exchange fetches one task and settles it by what came back.
func (c *Crawl) exchange(ctx context.Context, v *visit, task frontier.Task, verdict robots.Verdict) (err error) {
	d := decision{kind: storage.DecisionAllow, verdict: verdict, attempt: task.Attempts + 1}
	v.was, v.listed = task.Candidate, listed{}
	maps := v.memory.Sitemaps
	task = c.prepare(v, task)
	r := c.request(v.turn.Width, task)
	if d.before, err = c.follows(ctx, task, &r); err != nil {
		return err
	}
	within, end := asking(ctx)
	defer end()
	ex, err := c.ask(within, v, r)
	err = instead(ctx, within, err)
	if errors.Is(err, errNotYet) {
		v.memory.Sitemaps = maps
	}
	if err != nil {
		return err
	}
	return c.tell(ctx, v, task, ex, d)
}

// tell settles a task by what its exchange brought. An abort that comes before that was read leaves it in the archive, and
// the task as it was.
func (c *Crawl) tell(ctx context.Context, v *visit, task frontier.Task, ex *fetch.Exchange, d decision) (err error) {
	defer ex.Close()
	if hit := entryOf(ex.Failure); hit != nil {
		return c.settle(ctx, v, task, optedOut(hit))
	}
	d.ex, d.page, d.found = ex, true, v.was
	d.pace, d.gap = v.kept, v.gap(c, ex.Start)
	if outlasted(ex) {
		return c.tellOutlasted(ctx, v, task, ex, d)
	}
	if stopped(ex) {
		return c.tellStopped(ctx, v, task, ex, d)
	}
	err = c.tellWhole(ctx, v, task, ex, d)
	if err != nil && over(ctx, err) && !late(ctx, err) {
		return c.keepUntold(ctx, v, task, ex, d)
	}
	return err
}

// tellWhole is tell for an exchange that the end of the crawl did not cut. Once it knows what to make of it, nothing keeps
// it from being written down.
func (c *Crawl) tellWhole(ctx context.Context, v *visit, task frontier.Task, ex *fetch.Exchange, d decision) (err error) {
	m := c.meaning(task, ex, &d)
	defer func() { err = errors.Join(err, m.close()) }()
	v.exchanged(c, ex, m.answer, m.why, host.ObeysRetryAfter(m.answer, ex.Status))
	if task.Kind != frontier.KindMap {
		v.meet(task)
	}

	if m.answer == host.Answered && task.Kind == frontier.KindRedirect && found.SeedChain(task.Candidate) {
		c.extend(v, task)
	}
	page, isHTML, err := c.page(ctx, v, task, m.Exchange, m.answer, d.ahead)
	if err != nil {
		return err
	}
	d.outlinks = outlinksOf(ex, page)
	c.wishes(v, m.Exchange, page.Robots, &d)
	c.conclude(v, task, m.Exchange, m.answer, m.why, &d)
	c.changed(v, m, &d)
	if err := c.refuse(ctx, v); err != nil {
		return err
	}
	if isHTML {
		v.pages++
		v.memory.Pages++
		v.count(totals.Pages, 1)
	}
	return c.settle(context.WithoutCancel(ctx), v, task, d)
}

// wanted looks at a head before its body is asked for.
func (c *Crawl) wanted(task frontier.Task) func(int, http.Header) string {
	return func(status int, h http.Header) string {
		if status < 200 || status > 299 || found.SeedChain(task.Candidate) {
			return ""
		}
		if ok, rule := c.scope.AcceptType(mediatype.Value(h), task.URL.Path()); !ok {
			return rule
		}
		return ""
	}
}
