package crawler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"curtsy/crawler/host"
	"curtsy/crawler/inflight"
	"curtsy/crawler/totals"
	"curtsy/frontier"
)

// errEnd says that the frontier has no more turns for this run.
var errEnd = errors.New("crawler: end of the run")

// oneTurn claims a turn and takes it. It returns how many pages the turn brought.
//
// leave is called when its exchange is slow: another worker goes on then.
func (c *Crawl) oneTurn(ctx context.Context, leave func()) (pages int64, err error) {
	claimed, err := c.cfg.Frontier.Claim(c.draining, frontier.Want{Hosts: 1, Tasks: claimTasks, MaxWait: c.maxWait()})
	switch {
	case err != nil:
		return 0, err
	case len(claimed.Turns) > 0:
		seat, err := c.room.Take(ctx) // at most Workers exchanges that are not slow, those of wide turns among them
		if err != nil {
			return 0, err
		}
		defer seat.Leave()
		seat.OnLoss(leave)
		return c.take(ctx, seat, claimed.Turns[0], c.story)
	case claimed.State == frontier.Waiting && claimed.Due <= c.maxWait():
		return 0, nil // the first answer of all came in meanwhile: there is something to wait for
	case claimed.State == frontier.Drained:
		c.end(EndedDrained)
	case claimed.State == frontier.Full:
		c.end(EndedMaxDBSize)
	default:
		c.end(EndedWaiting)
	}
	return 0, errEnd
}

// take takes a claimed turn: what happens in it is told by story. The turn is finished whatever happens, unless our
// own state fails.
//
// The story's context ends at two thirds of the lease, so that its exchange is over, and there is time left to keep
// it, before anybody else may ask the host.
func (c *Crawl) take(ctx context.Context, seat *inflight.Slot, t frontier.Turn, story func(context.Context, *visit) error) (pages int64, err error) {
	v, err := c.visit(t)
	if err != nil {
		return 0, err
	}
	v.seat = seat
	within, cancel := context.WithTimeoutCause(ctx, t.Length*2/3, errLease)
	defer cancel()
	before := v.mark()
	panicked, err := c.survive(v.turn.Authority, func() error { return story(within, v) })
	if err != nil && late(within, err) {
		// The lease's time was over in the middle of something: what is done is kept, the rest is for the next turn.
		v.cut(c)
		err = nil
	}
	switch {
	case panicked:
		// Not over one task (see attempt) but over what all of them need: the host is left for this run.
		v.undo(before)
		v.state, v.memory.Source = before.state, before.memory.Source
		v.cut(c)
		v.leave(frontier.Retired, reasonPanic, 0)
	case err != nil && !over(ctx, err):
		return 0, errors.Join(fmt.Errorf("crawler: %s: %w", v.turn.Authority, err), c.unlock(v))
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
	if err == nil && v.after != nil {
		err = v.after(ctx)
	}
	return v.pages, err
}

// survive calls run and reports whether it panicked: what a site sends must not stop the crawl of all others, even
// when it finds a defect of ours.
func (c *Crawl) survive(what fmt.Stringer, run func() error) (panicked bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.cfg.Log("%s: a defect of this program, please report it: panic: %v\n%s", what, p, debug.Stack())
			panicked = true
		}
	}()
	return false, run()
}

// finish ends the turn: everything it brought is applied in one step, or, when the lease has run out, nothing.
func (c *Crawl) finish(ctx context.Context, v *visit) (applied bool, err error) {
	if err := c.hostOf(v); err != nil {
		return false, err
	}
	if err := c.unlock(v); err != nil {
		return false, err
	}
	c.carried.give(v.result.Counts)
	defer func() {
		if !applied {
			c.carried.keep(v.result.Counts)
		}
	}()
	first := c.counted.CompareAndSwap(false, true)
	if first {
		v.count(totals.Runs, 1)
		defer func() {
			if !applied {
				c.counted.Store(false) // the next turn counts the run
			}
		}()
	}
	finished, err := c.cfg.Frontier.Finish(ctx, []frontier.Result{v.result})
	switch {
	case err != nil:
		return false, err
	case errors.Is(finished[0].Err, frontier.ErrStale):
		c.cfg.Log("%s: the turn took longer than its lease; its result is dropped, and what it fetched is fetched again", v.turn.Authority.Origin())
		return false, nil
	case finished[0].Err != nil:
		return false, finished[0].Err
	}
	if err := c.tellLate(ctx, v, finished[0]); err != nil {
		return false, err
	}
	if v.dry(finished[0].Added.New) {
		c.cfg.Fetcher.CloseIdle(v.turn.Authority)
	}
	c.applied(v)
	return true, nil
}

// hostOf puts what is known of the host, and how long it waits, into the result.
func (c *Crawl) hostOf(v *visit) error {
	if !v.end.IsZero() {
		v.memory.Due = host.Pace{Pause: v.rest.Wait.Truncate(time.Microsecond), By: v.rest.By}
	}
	v.result.Host = &frontier.HostUpdate{
		Condition: v.rest.Condition, Reason: v.rest.Reason, Pace: v.pace.Pause, Width: c.width(v),
	}
	if err := v.buffer.Update(v.result.Host, v.state, v.memory, v.history); err != nil {
		return fmt.Errorf("crawler: %s: %w", v.turn.Authority, err)
	}
	v.result.Wait = v.wait()
	return nil
}

// applied takes over what may count only now: a turn whose lease ran out has not happened.
func (c *Crawl) applied(v *visit) {
	if v.rest.Condition > frontier.Parked && v.rest.Reason != reasonDryRun {
		c.cfg.Log("%s: left alone: %s", v.turn.Authority.Origin(), v.rest.Reason)
	}
	c.live.Note(v.turn.Authority, v.need())
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range v.result.Extend {
		delete(c.extending, s.URL.Key())
	}
	for _, s := range v.seeds {
		if len(c.seeds) < maxNamedSeeds {
			c.seeds = append(c.seeds, s)
		}
	}
	c.book.take(v.result.Counts)
}
