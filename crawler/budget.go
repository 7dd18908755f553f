package crawler

import (
	"context"
	"sync"
	"time"

	"curtsy/crawler/totals"
)

// budget keeps the caps of politeness rule 15 over all runs of a crawl, exactly: a worker takes a ticket for one
// page before it claims a turn, so that pages under way are never more than the budget has left.
type budget struct {
	maxPages, maxBytes int64

	mu      sync.Mutex
	pages   int64         // counted
	tickets int64         // out
	bytes   int64         // counted
	answers int64         // exchanges that brought an answer of any kind
	changed chan struct{} // closed and replaced when a ticket comes back

	press func() // called again and again while somebody waits for a ticket; may be nil
}

// pressAfter is how long tickets are waited for before slow exchanges have to give theirs back.
const pressAfter = 30 * time.Second

func newBudget(cfg Config, counts map[string]int64) *budget {
	return &budget{
		maxPages: cfg.MaxPages, maxBytes: cfg.MaxBytes,
		pages: counts[totals.Pages], bytes: counts[totals.Bytes], answers: counts[totals.Answers],
		changed: make(chan struct{}),
	}
}

// take waits for a ticket. It returns the name of the budget that is used up, or "" with a ticket or when ctx ends.
func (b *budget) take(ctx context.Context) string {
	for {
		b.mu.Lock()
		changed := b.changed
		switch {
		case b.maxBytes > 0 && b.bytes >= b.maxBytes:
			b.mu.Unlock()
			return EndedMaxBytes
		case b.maxPages > 0 && b.pages >= b.maxPages:
			b.mu.Unlock()
			return EndedMaxPages
		case b.maxPages == 0 || b.pages+b.tickets < b.maxPages:
			b.tickets++
			b.mu.Unlock()
			return ""
		}
		b.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(pressAfter):
			b.press()
		case <-ctx.Done():
			return ""
		}
	}
}

// more takes a ticket if there is one: for a worker that has one already.
func (b *budget) more() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maxBytes > 0 && b.bytes >= b.maxBytes || b.maxPages > 0 && b.pages+b.tickets >= b.maxPages {
		return false
	}
	b.tickets++
	return true
}

// hold corrects how many tickets are out, for one that is given back at once.
func (b *budget) hold(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tickets += int64(n)
}

// give returns a ticket with the pages it was used for.
func (b *budget) give(pages int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tickets--
	b.pages += pages
	close(b.changed)
	b.changed = make(chan struct{})
}

// spend counts octets received and whether they were an answer.
func (b *budget) spend(octets int64, answer bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += octets
	if answer {
		b.answers++
	}
}

// answered reports whether any host has ever answered anything.
func (b *budget) answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answers > 0
}
