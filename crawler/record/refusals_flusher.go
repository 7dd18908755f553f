package record

import (
	"time"

	"curtsy/storage"
)

// flusher knows that the recorder may hold refusals that are not in the archive yet. While turns end, the frontier's
// commits have them written in time; a crawl that waits for a host has no commits.
type flusher chan struct{}

// newFlusher returns a Flusher that knows of no refusal.
func newFlusher() flusher { return make(flusher, 1) }

// Note says that there is another refusal.
func (f flusher) Note() {
	select {
	case f <- struct{}{}:
	default: // it is known
	}
}

// Run has refusals synced before they are two times storage.MaxGather old, until over is closed or sync fails.
func (f flusher) Run(over <-chan struct{}, sync func() error) error {
	for {
		select {
		case <-f:
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
		if err := sync(); err != nil {
			return err
		}
	}
}
