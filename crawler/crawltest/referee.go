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

// Referee logs the requests that a Web is asked, and judges them. Its methods may be called concurrently, also while
// the crawl goes on: it then judges what there is.
type Referee struct {
	web *Web

	mu    sync.Mutex
	log   []*Exchange
	count uint64         // events so far
	hops  map[place]bool // where redirects of a robots.txt led
}

// Request is one request of the log and how it was answered.
type Request struct {
	Host      string // the site that was asked, whatever name it was asked by
	Method    string
	Target    string // path and query, the bytes that were sent
	UserAgent string
	Remote    string      // the client's address and port; "pipe" over pipes
	Header    http.Header // of the request

	// Start is when the first byte of the request had arrived. End is just before the last bytes of the answer were
	// written; zero while there is no answer.
	Start, End time.Time

	Status int         // of the answer; 0 while there is none, or if it was broken off before
	Answer http.Header // header of the answer
	Cut    bool        // the answer was broken off
	Octets int64       // of the body that the connection took; of the whole answer if a Raw made it
}

// Exchange is an entry of the log. The referee's mutex guards it until it is copied.
type Exchange struct {
	Request
	key    string
	by     string    // the name that the host was asked by
	began  uint64    // which event the start was, and
	ended  uint64    // the end: they order what happens at one instant, as it does in virtual time
	over   bool      // the handler has returned
	wrote  time.Time // just before bytes of the answer were last written; zero before
	failed bool      // answered by Page.FailFirst
	robots bool      // may be a robots.txt: the body is kept
	body   []byte    // as sent
}

// maxKept is how much of a robots.txt is kept: more than the 500 KiB that count (RFC 9309 2.5).
const maxKept = 1 << 20

// arrived notes that bytes came over c.
func (r *Referee) arrived(c *wire, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.latest = now; c.arrived.IsZero() {
		c.arrived = now
	}
}

// wrote notes that bytes are about to go over c. It returns what stood there before.
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

// unwrote puts back what stood there before bytes that could not be written: the client had left by then.
func (r *Referee) unwrote(x *Exchange, wrote time.Time, ended uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x != nil {
		x.wrote, x.ended = wrote, ended
	}
}

func (r *Referee) begin(h *host, k string, req *http.Request) *Exchange {
	x := &Exchange{key: k, by: req.Host, Request: Request{
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
	x.robots = k == RobotsPath || r.hops[place{h.name, k}]
	r.log = append(r.log, x)
	return x
}

func (r *Referee) answered(x *Exchange, status int, head http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.Status, x.Answer = status, head.Clone()
	if x.robots && status >= 300 && status < 400 {
		if to, ok := r.web.resolve(place{x.Host, x.key}, head.Get("Location")); ok {
			r.hops[to] = true
		}
	}
}

// took notes that so many bytes of the answer were taken by the connection, and keeps those of the body of a robots.txt.
func (r *Referee) took(x *Exchange, n int, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.Octets += int64(n)
	if x.robots {
		x.body = append(x.body, body[:min(len(body), maxKept-len(x.body))]...)
	}
}

// end notes that the handler has returned. whole says that it was not broken off.
func (r *Referee) end(x *Exchange, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.over, x.Cut = true, !whole
	if x.End = time.Now(); x.wrote.IsZero() { // bytes may still be written
		r.count++
		x.ended = r.count
	}
}

// exchanges returns a copy of the log, in order of arrival.
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

// Requests returns the log, in order of arrival.
func (r *Referee) Requests() []Request {
	all := r.exchanges()
	requests := make([]Request, len(all))
	for i, x := range all {
		requests[i] = x.Request
	}
	return requests
}

// text returns the kept body, its gzip coding undone.
func (x *Exchange) text() []byte {
	if x.Answer.Get("Content-Encoding") != "gzip" {
		return x.body
	}
	z, err := gzip.NewReader(bytes.NewReader(x.body))
	if err != nil {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(z, maxKept)) // what is cut short is whatever came before
	return body
}

// Before reports whether x had ended when y began.
func (x *Exchange) Before(y *Exchange) bool {
	return !x.End.IsZero() && (x.End.Before(y.Start) || x.End.Equal(y.Start) && x.ended < y.began)
}

// Asks reports whether a request is for a target, in whatever spelling.
func (x *Exchange) Asks(target string) bool { return x.key == Key(target) }

// Key is the spelling of the target under which all equivalent ones are found.
func (x *Exchange) Key() string { return x.key }

// ForRobots reports whether a request is for a robots.txt, hops of redirects included.
func (x *Exchange) ForRobots() bool { return x.robots }

// AsRobots says what an answer means for a robots.txt: "answered 503".
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

// noting is a ResponseWriter that tells the referee what is answered.
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

// finish notes the answer of a handler that has written nothing.
func (n *noting) finish() {
	if !n.headed {
		n.referee.answered(n.x, http.StatusOK, n.Header())
	}
}

// Flush is for handlers that stream.
func (n *noting) Flush() {
	_ = http.NewResponseController(n.ResponseWriter).Flush() // an error means that nobody is listening any more
}

// Unwrap is for http.ResponseController.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
