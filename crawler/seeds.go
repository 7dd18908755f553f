package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"curtsy/crawler/found"
	"curtsy/crawler/scope"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// extend widens the scope to where a seed's redirects ended. The links of that very page are judged by it already; it
// becomes durable with the turn, and is said again should the turn come to nothing.
func (c *Crawl) extend(f *findings, task frontier.Task) {
	key := task.URL.Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.extending[key]; !again && c.scope.Judge(scope.Candidate{URL: task.URL}).In {
		return
	}
	c.extending[key] = struct{}{}
	c.scope.Extend(task.URL)
	f.extend = append(f.extend, frontier.Seed{URL: task.URL, Tag: task.Tag, From: task.Seed})
	c.cfg.Log("seed %s redirects to %s: the scope now includes it", task.Seed, task.URL)
}

// The seeds that got no usable answer are totals of the frontier, each under a name of its own, so that one which is
// tried again by the operator is not counted twice, and no more once it is answered. The names are bounded: over that,
// a seed stays counted once it was.
const (
	maxRememberedSeeds = 512
	maxChains          = 10_000 // redirecting seeds of which the whole way is known
)

// seedBook is what a run knows of its seeds beyond their tasks.
type seedBook struct {
	failed map[string]int64    // by name of the total: more than zero while the seed is unanswered
	chains map[string][]string // by seed: the keys that its redirects led through in this run
}

func newSeedBook(counts map[string]int64) seedBook {
	b := seedBook{failed: map[string]int64{}, chains: map[string][]string{}}
	b.take(counts)
	return b
}

// take adds what a turn changed.
func (b *seedBook) take(counts map[string]int64) {
	for name, n := range counts {
		if strings.HasPrefix(name, totals.PrefixUnanswered) {
			b.failed[name] += n
		}
	}
}

// seedTotal is the name of a seed's total.
func seedTotal(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return totals.PrefixUnanswered + hex.EncodeToString(sum[:8])
}

// unanswered notes that a seed got no usable answer.
func (c *Crawl) unanswered(f *findings, task frontier.Candidate, why string) {
	f.seeds = append(f.seeds, task.Seed+": "+why)
	name := seedTotal(task.Seed)
	c.mu.Lock()
	defer c.mu.Unlock()
	n, known := c.book.failed[name]
	if n > 0 {
		return
	}
	f.count(totals.SeedsUnanswered, 1)
	if known || len(c.book.failed) < maxRememberedSeeds {
		f.count(name, 1)
	}
}

// answeredSeed takes back that a seed is unanswered: the operator had it tried again.
func (c *Crawl) answeredSeed(f *findings, task frontier.Candidate) {
	name := seedTotal(task.Seed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.book.failed[name] > 0 {
		f.count(totals.SeedsUnanswered, -1)
		f.count(name, -1)
	}
}

// circles reports whether a seed's redirect leads back to where its redirects came from, and remembers the way if not.
// A circle would end by itself, since each URL of it is a candidate once, but that of a seed must not pass for an answer.
func (c *Crawl) circles(task frontier.Task, target canon.URL) bool {
	if !found.SeedChain(task.Candidate) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	way := c.book.chains[task.Seed]
	if slices.Contains(way, target.Key()) {
		return true
	}
	if (way != nil || len(c.book.chains) < maxChains) && !slices.Contains(way, task.URL.Key()) {
		c.book.chains[task.Seed] = append(way, task.URL.Key())
	}
	return false
}

// settleSeed notes what became of a seed, or of the end of its redirects.
func (c *Crawl) settleSeed(task frontier.Task, d decision, f *findings) {
	switch d.outcome {
	case frontier.Redirected:
		return
	case frontier.Fetched:
		c.answeredSeed(f, task.Candidate)
	default:
		c.unanswered(f, task.Candidate, d.outcome.String()+": "+d.reason)
	}
	c.endOfChain(task)
}

// endOfChain forgets the way of a seed that leads no further.
func (c *Crawl) endOfChain(task frontier.Task) {
	if task.Kind == frontier.KindRedirect && found.SeedChain(task.Candidate) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.book.chains, task.Seed)
	}
}
