package crawler

import (
	"context"
	"time"

	"curtsy/storage"
)

// gathered tells that the recorder may hold refusals that are not in the archive yet. While turns end, the frontier's commits
// have them written in time; a crawl that waits for a host has no commits.
type gathered chan struct{}

func newGathered() gathered { return make(gathered, 1) }

// note tells that there is a refusal more.
func (g gathered) note() {
	select {
	case g <- struct{}{}:
	default: // it is known
	}
}

// syncGathered has refusals written before they are two times storage.MaxGather old, until the run is over.
func (c *Crawl) syncGathered(ctx context.Context, over <-chan struct{}) error {
	for {
		select {
		case <-c.gathered:
		case <-over:
			return nil
		}
		t := time.NewTimer(storage.MaxGather)
		select {
		case <-t.C:
		case <-over:
			t.Stop()
			return nil
		}
		if err := c.cfg.Recorder.Sync(ctx); err != nil {
			c.end(EndedInterrupted)
			return err
		}
	}
}
