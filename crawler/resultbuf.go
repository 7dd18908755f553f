// A resultPool lends the memory that the result of a turn is written on, and takes it back when the turn is finished,
// so that the next turn needs no new one. That is safe because a frontier keeps nothing of a result that it was given.

package crawler

import (
	"fmt"
	"sync"

	"curtsy/crawler/host"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/robots"
)

// resultPool has the buffers that are not in use. Its methods may be called concurrently.
type resultPool struct{ free sync.Pool }

// resultBuffer is what the result of a turn is written on.
type resultBuffer struct {
	found           []frontier.Candidate
	counts          map[string]int64
	robots, history []byte
	memory          []byte
}

// maxFound bounds the candidates that a buffer which is not in use has room for: those of some dozens of pages, which a
// wide turn hands in together. A turn that finds more has a larger one, once.
const maxFound = 2048

// Get returns a buffer for one turn.
func (p *resultPool) Get() *resultBuffer {
	if b, ok := p.free.Get().(*resultBuffer); ok {
		return b
	}
	return &resultBuffer{counts: map[string]int64{}}
}

// Put takes b back. Nothing that was written on it may be used any more.
func (p *resultPool) Put(b *resultBuffer) { p.free.Put(b) }

// Begin begins the result of a turn, or of what is left of it.
func (b *resultBuffer) Begin(t frontier.Turn) frontier.Result {
	return frontier.Result{Authority: t.Authority, Token: t.Token, Found: b.found, Counts: b.counts}
}

// Update writes into u what is known of the host: its robots state, and the memory with the history in it.
func (b *resultBuffer) Update(u *frontier.HostUpdate, s robots.State, memory host.State, history trap.History) error {
	var err error
	if b.robots, err = s.AppendBinary(b.robots[:0]); err != nil {
		return fmt.Errorf("robots state: %w", err)
	}
	b.history = history.Append(b.history[:0])
	memory.History = b.history
	b.memory = memory.Append(b.memory[:0])
	u.Robots, u.Memory = b.robots, b.memory
	return nil
}

// Wipe takes back what r was written on, once it is finished.
func (b *resultBuffer) Wipe(r frontier.Result) {
	b.found = nil
	if cap(r.Found) <= maxFound {
		clear(r.Found[:cap(r.Found)]) // else it would hold on to the URLs
		b.found = r.Found[:0]
	}
	clear(r.Counts)
	b.counts = r.Counts
}
