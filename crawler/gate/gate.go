package gate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"curtsy/frontier/canon"
	"curtsy/robots"
)

// OurToken is the product token that binds whatever the user calls the crawler (politeness rule 1).
const OurToken = "curtsy"

// blobs gives bodies by their SHA-256: of a frontier, what the gate needs.
type blobs interface {
	Blob(ctx context.Context, sum [32]byte) ([]byte, error)
}

// Gate gives the robots policies that hold for a host.
type Gate struct {
	blobs  blobs
	tokens []string
	Terms  robots.Terms

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

// New returns a gate for a crawler that calls itself token.
func New(b blobs, token string, standard robots.Standard) *Gate {
	terms := robots.Terms{Standard: standard, Strict: true} // politeness rule 6: another standard only adds refusals
	g := &Gate{blobs: b, Terms: terms, tokens: []string{token}, parsed: map[[32]byte]*entry{}}
	if token != OurToken {
		g.tokens = append(g.tokens, OurToken)
	}
	return g
}

// Rules are what binds us at one host: a rulebook for all of our tokens, or a verdict on everything. The zero rules
// allow nothing.
type Rules struct {
	Book *robots.Rulebook
	All  robots.Verdict
}

// Of returns the rules that a state holds; of one that holds none, those that allow nothing.
func (g *Gate) Of(ctx context.Context, s robots.State) (Rules, error) {
	if v, ok := s.Verdict(); ok {
		return Rules{All: v}, nil
	}
	digest, ok := s.Body()
	if !ok {
		return Rules{}, nil
	}
	if book := g.known(digest); book != nil {
		return Rules{Book: book}, nil
	}
	if digest == emptyDigest {
		return Rules{Book: g.Learn(digest, nil)}, nil
	}
	body, err := g.blobs.Blob(ctx, digest)
	if err != nil {
		return Rules{}, fmt.Errorf("crawler: robots.txt %x: %w", digest[:6], err)
	}
	return Rules{Book: g.Learn(digest, body)}, nil
}

// emptyDigest is that of a robots.txt without an octet, which the frontier need not keep.
var emptyDigest = sha256.Sum256(nil)

func (g *Gate) known(digest [32]byte) *robots.Rulebook {
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

// Learn parses a file and keeps the result, at the cost of those used longest ago.
func (g *Gate) Learn(digest [32]byte, body []byte) *robots.Rulebook {
	e := &entry{book: g.Terms.Parse(body, g.binding(body)...)}
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

// binding returns the tokens that bind us in a file: our name, and OurToken where a group names it. Where none does, the
// groups of "*" bind our name alone, and only if none names that: a site that lets one crawler in and shuts all others
// out means what it says.
func (g *Gate) binding(body []byte) []string {
	if len(g.tokens) == 1 {
		return g.tokens
	}
	for _, standard := range []robots.Standard{robots.RFC9309, g.Terms.Standard} {
		if robots.Parse(body, robots.Options{Token: OurToken, Standard: standard}).Named() {
			return g.tokens
		}
	}
	return g.tokens[:1]
}

// forget drops the half that was used longest ago; called with mu held.
func (g *Gate) forget() {
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

// Judge decides about a request target. All of our tokens must be allowed, by every document that binds.
func (r Rules) Judge(target string) robots.Verdict {
	if r.Book == nil {
		return r.All
	}
	return r.Book.Match(target)
}

// PolicyURL is where the robots.txt of a host is.
func PolicyURL(a canon.Authority) string { return a.Origin() + "/robots.txt" }
