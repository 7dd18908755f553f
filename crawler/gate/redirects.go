package gate

import (
	"slices"
	"sync"
	"time"

	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

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
