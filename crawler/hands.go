package crawler

import (
	"context"
	"runtime"
)

// hands bounds how much work for a processor is done at one time: of Workers that all have an answer in hand, those that
// the processors have no time for would only hold memory, a tree or the tables of a compressor each. What waits for
// others (the network, the pace) has no need of it.
type hands chan struct{}

// newHands returns as many as keep the processors busy though one or the other waits for a disk.
func newHands() hands { return make(hands, 2*runtime.GOMAXPROCS(0)) }

// take waits for a free hand, or for the end of ctx, whose error it returns. Whoever has one takes no other.
func (h hands) take(ctx context.Context) error {
	select {
	case h <- struct{}{}: // even if ctx is over: what came whole is kept
		return nil
	default:
	}
	select {
	case h <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h hands) give() { <-h }
