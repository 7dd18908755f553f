package gate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
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

// Request is an exchange for robots.txt that a host needs.
type Request struct {
	From    canon.Authority // whose policy it is for
	Need    robots.Need
	URL     canon.URL // Need.URL
	Attempt int
	Kind    storage.Kind      // how a task with this URL was found, which the exchange settles; empty for none
	Holds   *storage.Original // what the host has, for a 304; nil when that is not known
	ByAsked bool              // the redirects led through the robots.txt of the host that is asked
}

const (
	maxAnswers  = 16 << 20  // octets of bodies that wait for their hosts
	staleAnswer = time.Hour // for which they do when others need the room: the host may have nothing left to do
)

// Redirects holds the requests that wait for another authority, and the answers that wait for their hosts. A host has at
// most one of either.
type Redirects struct {
	mu      sync.Mutex
	queues  map[canon.Authority]*queue    // by the authority that is to be asked
	waiting map[canon.Authority]canon.URL // what the hosts ask for, until it is answered
	answers map[canon.Authority]answered
	octets  int // of answers
}

// answered is an answer, and when it came.
type answered struct {
	Answer
	at time.Time
}

// queue holds the requests before one authority.
type queue struct {
	requests []Request
	served   bool // by the last turn: the next one is the authority's own, so that a crowd does not shut it out
}

// NewRedirects returns an empty one.
func NewRedirects() *Redirects {
	return &Redirects{
		queues:  map[canon.Authority]*queue{},
		waiting: map[canon.Authority]canon.URL{},
		answers: map[canon.Authority]answered{},
	}
}

// Add queues a request, unless it is there, or its host has just been answered. It takes the place of what the host asked
// for before.
func (h *Redirects) Add(w Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.answers[w.From]; there || h.waiting[w.From] == w.URL {
		return
	}
	h.waiting[w.From] = w.URL
	a := w.URL.Authority()
	if h.queues[a] == nil {
		h.queues[a] = &queue{}
	}
	h.queues[a].requests = append(h.queues[a].requests, w)
}

// Next takes out the first request before a, on every other turn of a at most.
func (h *Redirects) Next(a canon.Authority) (Request, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.queues[a]
	if l == nil {
		return Request{}, false
	}
	if l.served || !h.fits() {
		l.served = false
		return Request{}, false
	}
	for len(l.requests) > 0 {
		w := l.requests[0]
		if l.requests = l.requests[1:]; h.waiting[w.From] == w.URL {
			l.served = true
			return w, true
		}
	}
	delete(h.queues, a)
	return Request{}, false
}

// PutBack puts a request back to the head of its queue: the turn that served it ended without an exchange, and the next
// one with that authority is for it.
func (h *Redirects) PutBack(w Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.answers[w.From]; there {
		return
	}
	a := w.URL.Authority()
	if h.queues[a] == nil {
		h.queues[a] = &queue{}
	}
	l := h.queues[a]
	l.requests, l.served = slices.Insert(l.requests, 0, w), false
	h.waiting[w.From] = w.URL
}

// SkipOnce makes the next turn of a its own: this one was, and ended without an exchange.
func (h *Redirects) SkipOnce(a canon.Authority) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.queues[a]; l != nil {
		l.served = true
	}
}

// HasRoom reports whether the answer to another request can be kept.
func (h *Redirects) HasRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fits()
}

// fits is HasRoom with mu held. An answer that nobody has collected for long makes room, and is asked for again if it is
// needed after all: a host whose URLs were all dropped meanwhile has no turn to collect anything in.
func (h *Redirects) fits() bool {
	if h.octets < maxAnswers {
		return true
	}
	for a, b := range h.answers {
		if time.Since(b.at) > staleAnswer {
			delete(h.answers, a)
			h.octets -= len(b.Body)
		}
	}
	return h.octets < maxAnswers
}

// Deliver keeps the answer for a host.
func (h *Redirects) Deliver(from canon.Authority, ex Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.octets += len(ex.Body) - len(h.answers[from].Body)
	h.answers[from] = answered{ex, time.Now()}
	delete(h.waiting, from)
}

// Collect takes out the answer for a, if it is what a needs: an exchange with url.
func (h *Redirects) Collect(a canon.Authority, url string) (Answer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ex, ok := h.answers[a]
	delete(h.answers, a)
	h.octets -= len(ex.Body)
	return ex.Answer, ok && ex.URL == url
}

// Answer is an exchange for robots.txt, and where it is archived.
type Answer struct {
	robots.Exchange
	Record string // id of its record; empty when there is none
	Date   time.Time
}
