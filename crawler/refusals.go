package crawler

import (
	"context"

	"curtsy/storage"
)

// writeRefusals writes the lines that the limiter let through. It has forgotten its counts, so that these are written
// though ctx be over.
func (c *Crawl) writeRefusals(ctx context.Context, all []storage.Line) error {
	for _, l := range all {
		within := ctx
		if l.Count > 0 {
			within = context.WithoutCancel(ctx)
		}
		if err := c.writeRefusal(within, l); err != nil {
			return err
		}
	}
	return nil
}

// countRest writes the counting lines of the run's end, and makes them durable.
func (c *Crawl) countRest(ctx context.Context) error {
	rest := c.limiter.Rest()
	if len(rest) == 0 {
		return nil
	}
	if err := c.writeRefusals(ctx, rest); err != nil {
		return err
	}
	return Barrier(c.cfg.Recorder, c.cfg.Ledger)(ctx)
}

// syncRefusals has the recorder write its refusals while nothing else does, until the run is over.
func (c *Crawl) syncRefusals(ctx context.Context, over <-chan struct{}) error {
	err := c.flusher.Run(over, func() error { return c.cfg.Recorder.Sync(ctx) })
	if err != nil {
		c.end(EndedInterrupted)
	}
	return err
}
