package crawler

import (
	"context"
	"time"

	"curtsy/crawler/host"
	"curtsy/crawler/status"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Status is the state of this run. It may be asked for often: single hosts in it may be some seconds old.
func (c *Crawl) Status(ctx context.Context) (status.Status, error) {
	s, err := c.live.Status(ctx)
	if !c.counted.Load() {
		s.Runs++
	}
	s.Exchanges += c.carried.Total(totals.Exchanges)
	s.Robots += c.carried.Total(totals.Robots)
	s.Bytes += c.carried.Total(totals.Bytes)
	s.LimitedByIP = c.exchanger.pacer.Waiting()
	s.Elapsed = c.clock.Elapsed().Seconds()
	s.State, s.Killed = "running", false
	if c.stopper.paused() {
		s.State = "paused"
	}
	if c.stopper.draining.Err() != nil {
		s.State = "draining"
	}
	return s, err
}

// Estimate says how long the rest takes at least. Like Status it may be asked for often.
func (c *Crawl) Estimate(ctx context.Context) (status.Estimate, error) { return c.live.Estimate(ctx) }

// Live is what else there is to ask about this run.
func (c *Crawl) Live() *status.Live { return c.live }

// Pause has the run begin no turn until Pause(false): exchanges under way go on, and so does the time of Config.MaxTime.
func (c *Crawl) Pause(on bool) {
	if c.stopper.paused() == on {
		return
	}
	c.stopper.hold(on)
	if on {
		c.cfg.Log("paused by the operator: no new exchange begins")
	} else {
		c.cfg.Log("going on, as the operator says")
	}
}

// Answers lists the hosts of a dry run with what their robots.txt said.
func (c *Crawl) Answers(ctx context.Context) ([]status.HostAnswer, error) {
	return status.Answers(ctx, c.cfg.Frontier, c.cfg.pacing)
}

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
	added, err := c.settler.addGiven(ctx, seeds)
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

// newLive returns the status of a crawl over cfg.Frontier.
func (c Config) newLive() *status.Live {
	return status.NewLive(c.Frontier, status.Settings{Workers: c.Workers, IPDelay: c.IPDelay, Pacing: c.pacing})
}

// pacing is how a host is dealt with between two turns.
func (c Config) pacing(h frontier.Host, memory *host.State) status.Pacing {
	p := status.Pacing{Pace: c.floor(h.Authority), By: string(storage.ByFloor)}
	if p.Own = c.own(h.Authority) || c.claimed(h.Authority) && memory.Proved; p.Own {
		p.Pace = c.Delay
	}
	if h.Pace > p.Pace {
		p.Pace, p.By = h.Pace, "asked for by the site"
	}
	return p
}

// need is how long what is left of the host takes at its pace. What the turn found there may be known already.
func (v *visit) need() time.Duration {
	h := v.turn.Host
	n := h.Queued + h.Deferred + int64(len(v.turn.Tasks)-len(v.result.Done))
	for _, next := range v.result.Found {
		if next.URL.Authority() == v.turn.Authority {
			n++
		}
	}
	return time.Duration(n) * v.pace.Pause
}
