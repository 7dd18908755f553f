package record

import (
	"context"
	"runtime"
)

// CPU bounds how much work for a processor is done at one time: of Workers that all have an answer in hand, those that
// the processors have no time for would only hold memory, a tree or the tables of a compressor each. What waits for
// others (the network, the pace) has no need of it.
type CPU chan struct{}

// NewCPU returns as many tokens as keep the processors busy though one or the other waits for a disk.
func NewCPU() CPU { return make(CPU, 2*runtime.GOMAXPROCS(0)) }

// Acquire waits for a free token, or for the end of ctx, whose error it returns. Whoever has one takes no other.
func (c CPU) Acquire(ctx context.Context) error {
	select {
	case c <- struct{}{}: // even if ctx is over: what came whole is kept
		return nil
	default:
	}
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release gives a token back.
func (c CPU) Release() { <-c }
