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

// OurToken is the product token that always binds (politeness rule 1).
const OurToken = "curtsy"

type blobs interface {
	Blob(ctx context.Context, sum [32]byte) ([]byte, error)
}

// Gate returns the robots rules of hosts.
type Gate struct {
	blobs  blobs
	tokens []string
	Terms  robots.Terms

	mu     sync.Mutex
	parsed map[[32]byte]*entry
	size   int
	tick   uint64
}

type entry struct {
	book *robots.Rulebook
	size int
	used uint64
}

const (
	maxParsed = 16 << 20 // bytes of all rulebooks
	entrySize = 256      // bytes of one without its policies
)

// New returns a gate for a crawler with that product token.
func New(b blobs, token string, standard robots.Standard) *Gate {
	terms := robots.Terms{Standard: standard, Strict: true} // politeness rule 6: another standard only adds refusals
	g := &Gate{blobs: b, Terms: terms, tokens: []string{token}, parsed: map[[32]byte]*entry{}}
	if token != OurToken {
		g.tokens = append(g.tokens, OurToken)
	}
	return g
}

// Rules are those of a host: a rulebook for all binding tokens, or a verdict on everything. The zero value allows none.
type Rules struct {
	Book *robots.Rulebook
	All  robots.Verdict
}

// Of returns the rules of a state. Without a policy they allow no URL.
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

// emptyDigest is that of an empty robots.txt, which the frontier need not keep.
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

// Learn parses and caches a file.
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

// binding returns the tokens that bind in a file: the crawler's, and OurToken if a group names it. Otherwise the groups of "*"
// bind only if no group names the crawler: a site may allow one crawler and disallow all others.
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

// forget drops the half that was used longest ago. It needs mu.
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

// Judge decides about a request target, which all tokens and standards must allow.
func (r Rules) Judge(target string) robots.Verdict {
	if r.Book == nil {
		return r.All
	}
	return r.Book.Match(target)
}

// PolicyURL returns the URL of a host's robots.txt.
func PolicyURL(a canon.Authority) string { return a.Origin() + "/robots.txt" }

// Request is an exchange for robots.txt that a host needs.
type Request struct {
	From    canon.Authority // of the policy
	Need    robots.Need
	URL     canon.URL // Need.URL
	Attempt int
	Kind    storage.Kind      // of a task that the exchange settles; may be empty
	Holds   *storage.Original // the archived file, for a 304; may be nil
	ByAsked bool              // the redirects passed the robots.txt of the requested host
}

const (
	maxAnswers  = 16 << 20  // bytes of waiting bodies
	staleAnswer = time.Hour // after which an answer may be dropped for others: its host may have finished
)

// Redirects holds the requests that wait for another authority, and the answers that wait for their hosts. A host has at
// most one of either.
type Redirects struct {
	mu      sync.Mutex
	queues  map[canon.Authority]*queue    // by the requested authority
	waiting map[canon.Authority]canon.URL // by the asking host
	answers map[canon.Authority]answered
	octets  int // of answers
}

type answered struct {
	Answer
	at time.Time
}

type queue struct {
	requests []Request
	served   bool // by the last turn: the next one is the authority's own
}

func NewRedirects() *Redirects {
	return &Redirects{queues: map[canon.Authority]*queue{}, waiting: map[canon.Authority]canon.URL{}, answers: map[canon.Authority]answered{}}
}

// Add queues a request, unless it is there or has an answer. It replaces an earlier request of its host.
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

// Next takes the first request for a, at most on every other turn of a.
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

// PutBack returns a request to the head of its queue, after a turn without an exchange. The next turn serves it.
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

// SkipOnce reserves the next turn of a for a itself, after a turn without an exchange.
func (h *Redirects) SkipOnce(a canon.Authority) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.queues[a]; l != nil {
		l.served = true
	}
}

// HasRoom reports whether there is room for another answer.
func (h *Redirects) HasRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fits()
}

// fits is HasRoom with mu held. It drops stale answers, whose hosts may have no further turn; others request theirs again.
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

// Collect takes the answer for a, if it is an exchange with url.
func (h *Redirects) Collect(a canon.Authority, url string) (Answer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ex, ok := h.answers[a]
	delete(h.answers, a)
	h.octets -= len(ex.Body)
	return ex.Answer, ok && ex.URL == url
}

// Answer is an archived exchange for robots.txt.
type Answer struct {
	robots.Exchange
	Record string // id; may be empty
	Date   time.Time
}
