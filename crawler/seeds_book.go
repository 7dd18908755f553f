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

const (
	maxRemembered = 512    // unanswered seeds with their own total
	maxChains     = 10_000 // redirecting seeds whose whole way is known
	maxNamed      = 20     // failed seeds that a run names
)

// seedBook knows which seeds have no usable response, where their redirects led, and how they extend the scope. Each unanswered
// seed has a total in the frontier, so that a second attempt does not count twice and a response takes it back; seeds over
// maxRemembered stay counted. The book returns changes of totals, and Applied marks them as durable. Its methods may be
// called concurrently.
type seedBook struct {
	mu        sync.Mutex
	failed    map[string]int64    // by name of the total: above zero while the seed is unanswered
	chains    map[string][]string // by seed: the keys of its redirects in this run
	named     []string            // unanswered seeds of this run, with reasons
	extending map[string]struct{} // keys by which turns under way extend the scope
}

func newSeedBook(counts map[string]int64) *seedBook {
	b := &seedBook{failed: map[string]int64{}, chains: map[string][]string{}, extending: map[string]struct{}{}}
	b.take(counts)
	return b
}

// take adds the changes of a turn. It needs mu.
func (b *seedBook) take(counts map[string]int64) {
	for name, n := range counts {
		if strings.HasPrefix(name, budget.PrefixUnanswered) {
			b.failed[name] += n
		}
	}
}

// Applied adds a durable turn with its unanswered seeds.
func (b *seedBook) Applied(r frontier.Result, unanswered []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range r.Extend {
		delete(b.extending, s.URL.Key())
	}
	b.named = append(b.named, unanswered[:min(len(unanswered), maxNamed-len(b.named))]...)
	b.take(r.Counts)
}

// Named returns the first unanswered seeds of this run, with reasons.
func (b *seedBook) Named() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.named
}

func totalOf(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return budget.PrefixUnanswered + hex.EncodeToString(sum[:8])
}

// Unanswered gives count the changes of totals by an unanswered seed.
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

// Answered gives count the changes of totals by a seed that has a response after all.
func (b *seedBook) Answered(seed string, count func(total string, n int64)) {
	name := totalOf(seed)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed[name] > 0 {
		count(budget.SeedsUnanswered, -1)
		count(name, -1)
	}
}

// Circles reports whether a seed's redirect leads back to one of its redirects, and otherwise adds it to the way. A circle ends
// in any case, but must not count as a response of the seed.
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

// EndOfChain forgets the way of a seed.
func (b *seedBook) EndOfChain(task frontier.Task) {
	if task.Kind == frontier.KindRedirect && found.SeedChain(task.Candidate) {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.chains, task.Seed)
	}
}

// Extend calls extend, unless u is covered and not only by a turn under way, which may be lost.
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
