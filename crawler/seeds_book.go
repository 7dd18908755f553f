// A seedBook keeps what a run knows of its seeds beyond their tasks: which got no usable answer, where their redirects
// led, and to what the scope is being extended because of them.
//
// It never counts itself: it says by how much totals of the frontier change, and learns with Applied what became
// durable.

package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"curtsy/crawler/budget"
	"curtsy/crawler/found"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// The seeds that got no usable answer are totals of the frontier, each under a name of its own, so that a seed which an
// operator has tried again is not counted twice, and no more once it is answered. The names are bounded: over that, a seed
// stays counted once it was.
const (
	maxRemembered = 512
	maxChains     = 10_000 // redirecting seeds of which the whole way is known
	maxNamed      = 20     // failed seeds that a run names
)

// seedBook is what a run knows of its seeds. Its methods may be called concurrently.
type seedBook struct {
	mu        sync.Mutex
	failed    map[string]int64    // by name of the total: more than zero while the seed is unanswered
	chains    map[string][]string // by seed: the keys that its redirects led through in this run
	named     []string            // seeds of this run that got no usable answer, with why
	extending map[string]struct{} // keys that the scope was extended to in a turn that has not been applied yet
}

// newSeedBook returns the book of a run that begins with those totals.
func newSeedBook(counts map[string]int64) *seedBook {
	b := &seedBook{failed: map[string]int64{}, chains: map[string][]string{}, extending: map[string]struct{}{}}
	b.take(counts)
	return b
}

// take adds what a turn changed. The caller holds mu, or is alone.
func (b *seedBook) take(counts map[string]int64) {
	for name, n := range counts {
		if strings.HasPrefix(name, budget.PrefixUnanswered) {
			b.failed[name] += n
		}
	}
}

// Applied takes over the result of a turn that is durable, and the seeds that it found to be without a usable answer.
func (b *seedBook) Applied(r frontier.Result, unanswered []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range r.Extend {
		delete(b.extending, s.URL.Key())
	}
	b.named = append(b.named, unanswered[:min(len(unanswered), maxNamed-len(b.named))]...)
	b.take(r.Counts)
}

// Named are the seeds of this run that got no usable answer, with why, as many as a run names.
func (b *seedBook) Named() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.named
}

// totalOf is the name of a seed's total.
func totalOf(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return budget.PrefixUnanswered + hex.EncodeToString(sum[:8])
}

// Unanswered gives count what changes since a seed got no usable answer.
func (b *seedBook) Unanswered(seed string, count func(total string, n int64)) {
	name := totalOf(seed)
	b.mu.Lock()
	defer b.mu.Unlock()
	n, known := b.failed[name]
	if n > 0 {
		return
	}
	count(budget.SeedsUnanswered, 1)
	if known || len(b.failed) < maxRemembered {
		count(name, 1)
	}
}

// Answered gives count what changes since a seed is answered: if it was not, an operator had it tried again.
func (b *seedBook) Answered(seed string, count func(total string, n int64)) {
	name := totalOf(seed)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed[name] > 0 {
		count(budget.SeedsUnanswered, -1)
		count(name, -1)
	}
}

// Circles reports whether a seed's redirect leads back to where its redirects came from, and remembers the way if not.
// A circle would end by itself, since each URL of it is a candidate once, but that of a seed must not pass for an answer.
func (b *seedBook) Circles(task frontier.Task, target canon.URL) bool {
	if !found.SeedChain(task.Candidate) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	way := b.chains[task.Seed]
	if slices.Contains(way, target.Key()) {
		return true
	}
	if (way != nil || len(b.chains) < maxChains) && !slices.Contains(way, task.URL.Key()) {
		b.chains[task.Seed] = append(way, task.URL.Key())
	}
	return false
}

// EndOfChain forgets the way of a seed that leads no further.
func (b *seedBook) EndOfChain(task frontier.Task) {
	if task.Kind == frontier.KindRedirect && found.SeedChain(task.Candidate) {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.chains, task.Seed)
	}
}

// Extend calls extend, unless u is covered already and no turn under way extends the scope to it: what such a turn says may
// come to nothing.
func (b *seedBook) Extend(u canon.URL, covered func() bool, extend func()) {
	key := u.Key()
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, again := b.extending[key]; !again && covered() {
		return
	}
	b.extending[key] = struct{}{}
	extend()
}
