package crawler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"curtsy/crawler/gate"
	"curtsy/crawler/record"
	"curtsy/frontier"
)

// errEnd says that the frontier has no more turns for this run.
var errEnd = errors.New("crawler: end of the run")

// oneTurn claims a turn, as long as going lasts, and takes it. It returns how many pages the turn brought.
//
// leave is called when its exchange is slow: another worker goes on then.
func (c *Crawl) oneTurn(ctx, going context.Context, leave func()) (pages int64, err error) {
	claimed, err := c.cfg.Frontier.Claim(going, frontier.Want{Hosts: 1, Tasks: claimTasks, MaxWait: c.maxWait()})
	switch {
	case err != nil:
		return 0, err
	case len(claimed.Turns) > 0:
		slot, err := c.room.Take(ctx) // at most Workers exchanges that are not slow, those of wide turns among them
		if err != nil {
			return 0, err
		}
		defer slot.Leave()
		slot.OnLoss(leave)
		return c.take(ctx, slot, claimed.Turns[0], c.story)
	case claimed.State == frontier.Waiting && claimed.Due <= c.maxWait():
		return 0, nil // the first answer of all came in meanwhile: there is something to wait for
	case claimed.State == frontier.Drained:
		c.stopper.end(EndedDrained)
	case claimed.State == frontier.Full:
		c.stopper.end(EndedMaxDBSize)
	default:
		c.stopper.end(EndedWaiting)
	}
	return 0, errEnd
}

// take takes a claimed turn: what happens in it is told by story. The turn is finished whatever happens, unless our
// own state fails.
//
// The story's context ends at two thirds of the lease, so that its exchange is over, and there is time left to keep
// it, before anybody else may ask the host.
func (c *Crawl) take(ctx context.Context, slot *record.Slot, t frontier.Turn, story func(context.Context, *visit) (*gate.Request, error)) (pages int64, err error) {
	v, err := c.visit(t)
	if err != nil {
		return 0, err
	}
	v.slot = slot
	within, cancel := context.WithTimeoutCause(ctx, t.Length*2/3, errLease)
	defer cancel()
	var then *gate.Request
	was, err := c.outcomes.guardPanic(v.turn.Authority, func() (err error) {
		then, err = story(within, v)
		return err
	})
	if err != nil && late(within, err) {
		// The lease's time was over in the middle of something: what is done is kept, the rest is for the next turn.
		v.cut()
		err = nil
	}
	switch {
	case was:
		// Not over one task (see outcomes.handle) but over what all of them need: the host is left for this run.
		v.forget()
		v.cut()
		v.leaveAlone(frontier.Retired, reasonPanic, 0)
	case err != nil && !over(ctx, err):
		return 0, errors.Join(fmt.Errorf("crawler: %s: %w", v.turn.Authority, err), c.exchanger.unlock(v))
	}
	// Cut short by an abort, the turn is finished all the same: its wait must not be forgotten.
	applied, ferr := c.finish(context.WithoutCancel(ctx), v)
	if ferr != nil {
		return 0, ferr
	}
	v.buffer.Wipe(v.result)
	c.buffers.Put(v.buffer)
	if !applied {
		return 0, err
	}
	if err == nil && then != nil {
		err = c.hop(ctx, slot, *then)
	}
	return v.pages, err
}

// story is what happens in one turn, from the robots gate to the outcome of at most one URL that needs an exchange.
// Tasks it does not come to return to the head of their queue.
func (c *Crawl) story(ctx context.Context, v *visit) (then *gate.Request, err error) {
	if err := c.policies.recall(ctx, v); err != nil {
		return nil, err
	}
	tasks, err := c.settler.leaveOptedOut(ctx, v)
	if err != nil || len(tasks) < len(v.turn.Tasks) && len(tasks) == 0 {
		return nil, err
	}
	v.brief = c.cfg.LinkCheck && len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t frontier.Task) bool { return !c.bounds.isLeaf(t) })
	admitted, err := c.policies.admit(ctx, v)
	if err == nil {
		err = c.linker.nameSitemaps(ctx, v)
	}
	if err != nil || !admitted.ready {
		return admitted.then, err
	}
	if c.cfg.DryRun {
		return nil, c.look(ctx, v, tasks)
	}
	if why := c.quotas.exhausted(&c.cfg, v); why != "" {
		v.leaveAlone(frontier.Retired, why, 0)
		return nil, nil
	}
	return nil, c.exchanges(ctx, v, tasks)
}

// look is what happens in a turn of a dry run, once its host's policy is known: a sitemap is asked for, or the host is left
// when there is none to ask for. Sitemaps come before seeds in the order by depth alone.
func (c *Crawl) look(ctx context.Context, v *visit, tasks []frontier.Task) error {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t frontier.Task) bool { return t.Kind != frontier.KindMap })
	named := slices.ContainsFunc(v.result.Found, func(n frontier.Candidate) bool {
		return n.Kind == frontier.KindMap && n.URL.Authority() == v.turn.Authority
	})
	enough := v.memory.Sitemaps >= uint64(c.cfg.DryMaps)
	switch {
	case len(tasks) > 0 && !enough:
		return c.exchanges(ctx, v, tasks)
	case !named || enough:
		v.leaveAlone(frontier.Retired, reasonDryRun, 0)
	}
	return nil
}

// guardPanic calls run and reports whether it panicked: what a site sends must not stop the crawl of all others, even
// when it finds a defect of ours.
func (c *outcomes) guardPanic(what fmt.Stringer, run func() error) (was bool, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		stack := debug.Stack()
		if before, ok := p.(*panicked); ok { // it has happened beside this goroutine
			p, stack = before.value, before.stack
		}
		c.cfg.Log("%s: a bug in curtsy, please report it: panic: %v\n%s", what, p, stack)
		was = true
	}()
	return false, run()
}

// errLease is why a turn's context ends before its lease does.
var errLease = errors.New("crawler: the lease is nearly over")

// late reports whether err means that the lease's time is over, and not that somebody aborts.
func late(ctx context.Context, err error) bool {
	return over(ctx, err) && errors.Is(context.Cause(ctx), errLease)
}

// aborted has a line written for an exchange that an abort cut short: the host was asked, though nothing came of it, and
// its own log may say so.
func (v *visit) aborted(ctx context.Context, err error, line func(context.Context) error) error {
	if err == nil || !over(ctx, err) || v.end.IsZero() {
		return nil // nobody was asked, or it is a failure of our own state
	}
	return line(context.WithoutCancel(ctx))
}
