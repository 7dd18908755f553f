package crawler

import (
	"context"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Steer obeys an operator's command. What it closes is told by Frontier, which was opened with record.Closed.
func (c *Crawl) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	defer c.live.Forget()
	return c.cfg.Frontier.Steer(ctx, s)
}

// Retry opens what was closed.
func (c *Crawl) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	defer c.live.Forget()
	return c.cfg.Frontier.Retry(ctx, r)
}

// Add adds seeds to the run: its scope is extended to them.
func (c *Crawl) Add(ctx context.Context, seeds []frontier.Candidate) (frontier.Added, error) {
	for _, s := range seeds {
		c.scope.Extend(s.URL)
	}
	defer c.live.Forget()
	added, err := c.addGiven(ctx, seeds)
	if err == nil {
		c.cfg.Log("seeds added by the operator: %d; the scope includes them now", len(seeds))
	}
	return added, err
}

// Reaches reports whether this run may reach a: the network guard is settled when a run begins, for the addresses that it
// begins with.
func (c *Crawl) Reaches(a canon.Authority) bool { return !notPublic(a) || c.reachable[a] }

// notPublic reports whether a is written as an address that is not public.
func notPublic(a canon.Authority) bool {
	addr, ok := a.Addr()
	return a.Host() == "localhost" || ok && (!addr.IsGlobalUnicast() || addr.IsPrivate())
}
