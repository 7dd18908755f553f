package crawler

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"curtsy/robots"
)

// ourToken is the product token that binds whatever the user calls the crawler (politeness rule 1).
const ourToken = "curtsy"

// blobs gives bodies by their SHA-256: of a frontier, what the gate needs.
type blobs interface {
	Blob(ctx context.Context, sum [32]byte) ([]byte, error)
}

// gate gives the robots policies that hold for a host. It keeps parsed ones, by the digest of their file; the files
// themselves are in the frontier. What a host's policy is now is not the gate's to remember: it is in the host's
// frontier record.
type gate struct {
	blobs  blobs
	tokens []string
	terms  robots.Terms
	hops   *hops

	mu     sync.Mutex
	parsed map[[32]byte]*entry
	size   int
	tick   uint64
}

// entry is one parsed file.
type entry struct {
	book *robots.Rulebook
	size int
	used uint64
}

// maxParsed bounds what the parsed rulebooks take, in octets; entrySize is what one takes beside its policies.
const (
	maxParsed = 16 << 20
	entrySize = 256
)

func newGate(b blobs, token string, standard robots.Standard) *gate {
	terms := robots.Terms{Standard: standard, Strict: true} // politeness rule 6: another standard only adds refusals
	g := &gate{blobs: b, terms: terms, tokens: []string{token}, parsed: map[[32]byte]*entry{}, hops: newHops()}
	if token != ourToken {
		g.tokens = append(g.tokens, ourToken)
	}
	return g
}

// rules are what binds us at one host: a rulebook for all of our tokens, or a verdict on everything. The zero rules
// allow nothing.
type rules struct {
	book *robots.Rulebook
	all  robots.Verdict
}

// of returns the rules that a state holds; of one that holds none, those that allow nothing.
func (g *gate) of(ctx context.Context, s robots.State) (rules, error) {
	if v, ok := s.Verdict(); ok {
		return rules{all: v}, nil
	}
	digest, ok := s.Body()
	if !ok {
		return rules{}, nil
	}
	if book := g.known(digest); book != nil {
		return rules{book: book}, nil
	}
	if digest == emptyDigest {
		return rules{book: g.learn(digest, nil)}, nil
	}
	body, err := g.blobs.Blob(ctx, digest)
	if err != nil {
		return rules{}, fmt.Errorf("crawler: robots.txt %x: %w", digest[:6], err)
	}
	return rules{book: g.learn(digest, body)}, nil
}

// emptyDigest is that of a robots.txt without an octet, which the frontier need not keep.
var emptyDigest = sha256.Sum256(nil)

func (g *gate) known(digest [32]byte) *robots.Rulebook {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.parsed[digest]
	if e == nil {
		return nil
	}
	g.tick++
	e.used = g.tick
	return e.book
}

// learn parses a file and keeps the result, at the cost of those used longest ago.
func (g *gate) learn(digest [32]byte, body []byte) *robots.Rulebook {
	e := &entry{book: g.terms.Parse(body, g.binding(body)...)}
	e.size = entrySize + e.book.Size()
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.parsed[digest]; old != nil {
		return old.book
	}
	g.tick++
	e.used = g.tick
	g.parsed[digest] = e
	if g.size += e.size; g.size > maxParsed {
		g.forget()
	}
	return e.book
}

// binding returns the tokens that bind us in a file: our name, and ourToken where a group names it. Where none does, the
// groups of "*" bind our name alone, and only if none names that: a site that lets one crawler in and shuts all others
// out means what it says.
func (g *gate) binding(body []byte) []string {
	if len(g.tokens) == 1 {
		return g.tokens
	}
	for _, standard := range []robots.Standard{robots.RFC9309, g.terms.Standard} {
		if robots.Parse(body, robots.Options{Token: ourToken, Standard: standard}).Named() {
			return g.tokens
		}
	}
	return g.tokens[:1]
}

// forget drops the half that was used longest ago; called with mu held.
func (g *gate) forget() {
	used := make([]uint64, 0, len(g.parsed))
	for _, e := range g.parsed {
		used = append(used, e.used)
	}
	slices.Sort(used)
	middle := used[len(used)/2]
	for d, e := range g.parsed {
		if e.used < middle {
			delete(g.parsed, d)
			g.size -= e.size
		}
	}
}

// judge decides about a request target. All of our tokens must be allowed, by every document that binds.
func (r rules) judge(target string) robots.Verdict {
	if r.book == nil {
		return r.all
	}
	return r.book.Match(target)
}
