package crawler

import (
	"context"

	"curtsy/crawler/gate"
	"curtsy/frontier"
)

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
	admitted, err := c.policies.admit(ctx, v)
	if err == nil {
		err = c.linker.nameMaps(ctx, v)
	}
	if err != nil || !admitted.ready {
		return admitted.then, err
	}
	if c.cfg.DryRun {
		v.leave(frontier.Retired, reasonDryRun, 0)
		return nil, nil
	}
	if c.cfg.MaxPerHost > 0 && int64(v.memory.Pages) >= c.cfg.MaxPerHost {
		v.leave(frontier.Retired, reasonMaxPerHost, 0)
		return nil, nil
	}
	return nil, c.exchanges(ctx, v, tasks)
}
