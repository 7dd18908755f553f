package crawltest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Referee logs the requests to a Web and judges them. Its methods may be called concurrently and during the crawl.
type Referee struct {
	web *Web

	mu    sync.Mutex
	log   []*Exchange
	count uint64         // events so far
	hops  map[place]bool // where redirects of a robots.txt led
}

// Request is one logged request and its response.
type Request struct {
	Host      string // the site's authority, whatever name the client used
	Method    string
	Target    string // path and query as sent
	UserAgent string
	Remote    string      // the client's address and port; "pipe" over pipes
	Header    http.Header // of the request

	// Start is when the first byte of the request had arrived, End just before the last bytes of the response were
	// written; zero before.
	Start, End time.Time

	Status int         // of the response; 0 without one
	Answer http.Header // header of the response
	Cut    bool        // the response was broken off
	Octets int64       // written bytes of the body; of the whole response if a Raw made it
}

// Exchange is an entry of the log. The referee's mutex guards it until it is copied.
type Exchange struct {
	Request
	Key       string    // of Target
	ForRobots bool      // for a robots.txt, hops of redirects included: the body is kept
	by        string    // the Host field
	began     uint64    // which event the start was, and
	ended     uint64    // the end: they order events at one instant of virtual time
	over      bool      // the handler has returned
	wrote     time.Time // just before bytes of the response were last written; zero before
	failed    bool      // answered by Page.FailFirst
	body      []byte    // as sent
}

// maxKept bounds a kept robots.txt: more than the 500 KiB that count (RFC 9309 2.5).
const maxKept = 1 << 20

func (r *Referee) arrived(c *wire, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.latest = now; c.arrived.IsZero() {
		c.arrived = now
	}
}

// wrote records that bytes are about to be written to c. It returns the previous record, for unwrote.
func (r *Referee) wrote(c *wire, now time.Time) (x *Exchange, wrote time.Time, ended uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x = c.taken; x != nil {
		wrote, ended = x.wrote, x.ended
		r.count++
		x.wrote, x.ended = now, r.count
	}
	return x, wrote, ended
}

// unwrote restores the record before bytes that could not be written.
func (r *Referee) unwrote(x *Exchange, wrote time.Time, ended uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x != nil {
		x.wrote, x.ended = wrote, ended
	}
}

func (r *Referee) begin(h *host, k string, req *http.Request) *Exchange {
	x := &Exchange{Key: k, by: req.Host, Request: Request{
		Host: h.name, Method: req.Method, Target: targetOf(req), UserAgent: req.UserAgent(),
		Remote: req.RemoteAddr, Header: req.Header.Clone(),
	}}
	c := req.Context().Value(wireKey{}).(*wire)
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.Start = c.arrived; x.Start.IsZero() {
		x.Start = c.latest // sent together with the request before it
	}
	c.arrived, c.taken = time.Time{}, x
	r.count++
	x.began = r.count
	x.ForRobots = k == RobotsPath || r.hops[place{h.name, k}]
	r.log = append(r.log, x)
	return x
}

func (r *Referee) answered(x *Exchange, status int, head http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.Status, x.Answer = status, head.Clone()
	if x.ForRobots && status >= 300 && status < 400 {
		if to, ok := r.web.resolve(place{x.Host, x.Key}, head.Get("Location")); ok {
			r.hops[to] = true
		}
	}
}

// took counts n written bytes and keeps the body of a robots.txt.
func (r *Referee) took(x *Exchange, n int, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.Octets += int64(n)
	if x.ForRobots {
		x.body = append(x.body, body[:min(len(body), maxKept-len(x.body))]...)
	}
}

func (r *Referee) end(x *Exchange, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.over, x.Cut = true, !whole
	if x.End = time.Now(); x.wrote.IsZero() { // bytes may still be written
		r.count++
		x.ended = r.count
	}
}

func (r *Referee) exchanges() []*Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Exchange, len(r.log))
	for i, x := range r.log {
		x := *x
		switch {
		case !x.over:
			x.End = time.Time{}
		case !x.wrote.IsZero():
			x.End = x.wrote
		}
		all[i] = &x
	}
	slices.SortStableFunc(all, func(a, b *Exchange) int { return a.Start.Compare(b.Start) })
	return all
}

// Requests returns the log in order of arrival.
func (r *Referee) Requests() []Request {
	all := r.exchanges()
	requests := make([]Request, len(all))
	for i, x := range all {
		requests[i] = x.Request
	}
	return requests
}

// text returns the kept body, decoded.
func (x *Exchange) text() []byte {
	if x.Answer.Get("Content-Encoding") != "gzip" {
		return x.body
	}
	z, err := gzip.NewReader(bytes.NewReader(x.body))
	if err != nil {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(z, maxKept)) // an error leaves the bytes before it
	return body
}

// Before reports whether x had ended when y began.
func (x *Exchange) Before(y *Exchange) bool {
	return !x.End.IsZero() && (x.End.Before(y.Start) || x.End.Equal(y.Start) && x.ended < y.began)
}

// Asks reports whether a request is for a target, in any spelling.
func (x *Exchange) Asks(target string) bool { return x.Key == Key(target) }

// AsRobots describes the response to a request for robots.txt: "answered 503".
func (x *Exchange) AsRobots() string { return policyOf(x.Status, nil, x.Cut).why }

func byEnd(a, b *Exchange) int {
	if a.End.IsZero() != b.End.IsZero() {
		if a.End.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.ended, b.ended))
}

// noting is a ResponseWriter that reports to the referee.
type noting struct {
	http.ResponseWriter
	x       *Exchange
	referee *Referee
	headed  bool
}

func (n *noting) WriteHeader(status int) {
	if !n.headed && status >= 200 {
		n.headed = true
		n.referee.answered(n.x, status, n.Header())
	}
	n.ResponseWriter.WriteHeader(status)
}

func (n *noting) Write(p []byte) (int, error) {
	if !n.headed {
		n.WriteHeader(http.StatusOK)
	}
	n.referee.took(n.x, 0, p) // before the client can have it
	taken, err := n.ResponseWriter.Write(p)
	n.referee.took(n.x, taken, nil)
	return taken, err
}

// finish records the empty response of a handler.
func (n *noting) finish() {
	if !n.headed {
		n.referee.answered(n.x, http.StatusOK, n.Header())
	}
}

func (n *noting) Flush() {
	_ = http.NewResponseController(n.ResponseWriter).Flush() // an error means that the client disconnected
}

// Unwrap is for http.ResponseController.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
