package crawler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// finish ends the turn: everything it brought is applied in one step, or, when the lease has run out, nothing.
func (c *Crawl) finish(ctx context.Context, v *visit) (applied bool, err error) {
	if err := c.hostOf(v); err != nil {
		return false, err
	}
	if err := c.exchanger.unlock(v); err != nil {
		return false, err
	}
	c.carried.Give(v.result.Counts)
	defer func() {
		if !applied {
			c.carried.Keep(v.result.Counts)
		}
	}()
	first := c.counted.CompareAndSwap(false, true)
	if first {
		v.count(budget.Runs, 1)
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
		c.cfg.Log("%s: the turn took longer than its lease; its result is dropped, and its requests are repeated", v.turn.Authority.Origin())
		return false, nil
	case finished[0].Err != nil:
		return false, finished[0].Err
	}
	if err := c.settler.recordDropped(ctx, v, finished[0]); err != nil {
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
	if v.rest.Condition > frontier.Parked && v.rest.Reason != reasonDryRun && !strings.HasPrefix(v.rest.Reason, storage.RuleOfBudget) { // the status counts those
		switch n := c.closings.count(v.rest.Condition); {
		case n <= mostClosings:
			c.cfg.Log("%s: closed: %s", v.turn.Authority.Origin(), plainly.Reason(v.rest.Reason))
		case n == mostClosings+1:
			c.cfg.Log("more hosts are closed; curtsy status lists them")
		}
	}
	c.pages.Applied(v.turn.Authority)
	c.live.Note(v.turn.Authority, v.need())
	c.live.Grown(v.turn.Host)
	c.book.Applied(v.result, v.seeds)
}

// mostClosings is how many retired hosts the log names, and how many refused ones.
const mostClosings = 5

// closings counts closed hosts. Its zero value is ready for use, also concurrently.
type closings struct {
	mu sync.Mutex
	by map[frontier.Condition]int
}

func (c *closings) count(as frontier.Condition) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[frontier.Condition]int{}
	}
	c.by[as]++
	return c.by[as]
}

// extendTurn finishes what a turn has brought so far and keeps its lease. ok is false when that is lost.
func (c *Crawl) extendTurn(ctx context.Context, v *visit, want int) (tasks []frontier.Task, ok bool, err error) {
	if err := c.hostOf(v); err != nil {
		return nil, false, err
	}
	v.result.Keep, v.result.Want = true, want
	finished, err := c.cfg.Frontier.Finish(context.WithoutCancel(ctx), []frontier.Result{v.result})
	switch {
	case err != nil:
		return nil, false, err
	case finished[0].Err != nil:
		v.result.Keep, v.result.Want = false, 0 // the end of the turn is answered likewise, and says what that means
		return nil, false, nil
	}
	if err := c.settler.recordDropped(ctx, v, finished[0]); err != nil {
		return nil, false, err
	}
	c.applied(v)
	v.turn.Tasks = append(unsettled(v.turn.Tasks, v.result), finished[0].Tasks...)
	v.turn.Host.Queued = max(v.turn.Host.Queued+int64(finished[0].Added.New-len(finished[0].Tasks)), 0)
	v.turn.Host.Deferred += int64(len(v.result.Deferred))
	v.buffer.Wipe(v.result)
	v.begin()
	return finished[0].Tasks, true, nil
}

// unsettled are the tasks that r does not name.
func unsettled(tasks []frontier.Task, r frontier.Result) (left []frontier.Task) {
	named := map[frontier.Fingerprint]bool{}
	for _, d := range r.Done {
		named[d.Print] = true
	}
	for _, d := range r.Deferred {
		named[d.Print] = true
	}
	for _, t := range tasks {
		if !named[t.Print] {
			left = append(left, t)
		}
	}
	return left
}
