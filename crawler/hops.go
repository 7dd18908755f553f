package crawler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"curtsy/crawler/host"
	"curtsy/crawler/inflight"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// A robots.txt may redirect to another authority, whose lease, pace and Crawl-delay then hold for that exchange. No
// worker holds two leases: the turn of the host that asks is finished first. If the other authority is due, the worker
// leases it and makes the exchange; if not, it leaves a want, and the other authority's own next turn serves it. What
// the exchange brings waits for the host's next turn. All of that is memory: lost in a crash, it is asked for again.
//
// Wants are what keeps two hosts that redirect to each other from blocking each other: each makes itself wait when it
// finds the other at work, and would be found waiting in turn, for ever.

// want is an exchange for robots.txt.
type want struct {
	from    canon.Authority // whose policy it is for
	need    robots.Need
	url     canon.URL // need.URL
	attempt int
	holds   *storage.Original // what the host has, for a 304; nil when that is not known
	ofAsked bool              // the redirects led through the robots.txt of the host that is asked
}

const (
	maxBrought  = 16 << 20               // octets of bodies that wait for their hosts
	longBrought = time.Hour              // for which they do when others need the room: the host may have nothing left to do
	leastPoll   = 100 * time.Millisecond // between two looks at another authority, whatever its pace
	reasonMoved = "robots.txt redirects to "
)

// hops holds wants, and what hops brought. There is at most one of either for a host.
type hops struct {
	mu      sync.Mutex
	wanted  map[canon.Authority]*line     // by the authority that is to be asked
	waiting map[canon.Authority]canon.URL // what the hosts want, until it is brought
	brought map[canon.Authority]brought
	octets  int // of brought
}

// brought is what a hop brought, and when.
type brought struct {
	archived
	at time.Time
}

// line is a line of wants before one authority.
type line struct {
	wants  []want
	served bool // by the last turn: the next one is the authority's own, so that a crowd does not shut it out
}

func newHops() *hops {
	return &hops{
		wanted:  map[canon.Authority]*line{},
		waiting: map[canon.Authority]canon.URL{},
		brought: map[canon.Authority]brought{},
	}
}

// want adds a want, unless it is there, or something has just been brought for its host. It takes the place of what
// the host wanted before.
func (h *hops) want(w want) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.brought[w.from]; there || h.waiting[w.from] == w.url {
		return
	}
	h.waiting[w.from] = w.url
	a := w.url.Authority()
	if h.wanted[a] == nil {
		h.wanted[a] = &line{}
	}
	h.wanted[a].wants = append(h.wanted[a].wants, w)
}

// serve takes the first want before a out, on every other turn of a at most.
func (h *hops) serve(a canon.Authority) (want, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.wanted[a]
	if l == nil {
		return want{}, false
	}
	if l.served || !h.fits() {
		l.served = false
		return want{}, false
	}
	for len(l.wants) > 0 {
		w := l.wants[0]
		if l.wants = l.wants[1:]; h.waiting[w.from] == w.url {
			l.served = true
			return w, true
		}
	}
	delete(h.wanted, a)
	return want{}, false
}

// again puts a want back to the head of its line: the turn that served it ended without an exchange, and the next one
// with that authority is for it.
func (h *hops) again(w want) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.brought[w.from]; there {
		return
	}
	a := w.url.Authority()
	if h.wanted[a] == nil {
		h.wanted[a] = &line{}
	}
	l := h.wanted[a]
	l.wants, l.served = slices.Insert(l.wants, 0, w), false
	h.waiting[w.from] = w.url
}

// ownTurn makes the next turn of a its own: this one was, and ended without an exchange.
func (h *hops) ownTurn(a canon.Authority) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.wanted[a]; l != nil {
		l.served = true
	}
}

// room reports whether what another hop brings can be kept.
func (h *hops) room() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fits()
}

// fits is room for who holds mu. What nobody has collected for long makes room, and is asked for again if it is wanted
// after all: a host whose URLs were all dropped meanwhile has no turn to collect anything in.
func (h *hops) fits() bool {
	if h.octets < maxBrought {
		return true
	}
	for a, b := range h.brought {
		if time.Since(b.at) > longBrought {
			delete(h.brought, a)
			h.octets -= len(b.Body)
		}
	}
	return h.octets < maxBrought
}

// bring keeps what a hop brought for a host.
func (h *hops) bring(from canon.Authority, ex archived) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.octets += len(ex.Body) - len(h.brought[from].Body)
	h.brought[from] = brought{ex, time.Now()}
	delete(h.waiting, from)
}

// collect takes out what was brought for a, if it is what a needs: an exchange with url.
func (h *hops) collect(a canon.Authority, url string) (archived, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ex, ok := h.brought[a]
	delete(h.brought, a)
	h.octets -= len(ex.Body)
	return ex.archived, ok && ex.URL == url
}

// fetchElsewhere sees to it that a hop which leads to another authority is made there. ready says that it cannot be
// now, and that the policy at hand holds for a while yet.
func (c *Crawl) fetchElsewhere(ctx context.Context, v *visit, w want) (ready bool, err error) {
	a := w.url.Authority()
	there, known, err := c.cfg.Frontier.Host(ctx, a)
	if err != nil {
		return false, err
	}
	ready = w.need.Action == robots.Refresh
	again := max(there.Wait, c.cfg.floor(a), leastPoll)
	switch {
	case known && there.Condition > frontier.Parked:
		if !ready {
			v.leave(frontier.Retired, reasonMoved+a.Origin()+", which is left alone: "+there.Reason, 0)
		}
	case known && there.Hold.Act != 0:
		if !ready { // it may be let go at any time
			v.leave(frontier.Parked, reasonMoved+a.Origin()+", which the operator holds", holdRest(there.Hold))
		}
	case known && (there.Wait > 0 || there.Leased) || !c.gate.hops.room():
		c.gate.hops.want(w)
		if there.Condition == frontier.Parked && !ready {
			v.leave(frontier.Parked, reasonMoved+a.Origin()+", which rests: "+there.Reason, 0)
		}
	default:
		v.after = func(ctx context.Context) error { return c.hop(ctx, v.seat, w) }
		ready = false
	}
	if !ready {
		v.rest.Wait = max(v.rest.Wait, again)
	}
	return ready, nil
}

// holdRest is how long a host rests whose robots.txt leads to one that the operator holds.
func holdRest(h frontier.Hold) time.Duration {
	if h.Act == frontier.Park {
		return min(h.Wait, host.LongestRest)
	}
	return host.LongestRest
}

// hop leases the authority that a want leads to and makes the exchange.
func (c *Crawl) hop(ctx context.Context, seat *inflight.Slot, w want) error {
	turn, err := c.cfg.Frontier.ClaimAuthority(ctx, w.url.Authority())
	if errors.Is(err, frontier.ErrNotDue) {
		c.gate.hops.want(w)
		return nil
	}
	if err != nil {
		return err
	}
	_, err = c.take(ctx, seat, turn, func(ctx context.Context, there *visit) error {
		if err := c.recall(ctx, there); err != nil {
			return err
		}
		if c.rests(there) { // as in admit
			c.gate.hops.again(w)
			return nil
		}
		if owed := there.owed(c); owed > 0 {
			there.rest.Wait = owed
			c.gate.hops.again(w)
			return nil
		}
		return c.fetchFor(ctx, there, w)
	})
	return err
}

// fetchFor makes the exchange of another host's want under the lease of v.
func (c *Crawl) fetchFor(ctx context.Context, v *visit, w want) error {
	ex, ok, err := c.askPolicy(ctx, v, w)
	switch {
	case err != nil:
		return err
	case ok:
		c.heed(v, w, ex.Exchange)
		c.gate.hops.bring(w.from, ex)
	default:
		c.gate.hops.again(w)
	}
	return nil
}

// heed keeps the pace that the robots.txt of the host asked has, which was read for another host: the host's own policy may
// be unknown yet, or an older one. A redirect makes it no policy (RFC 9309 2.3.1.2 speaks of the initial authority alone).
func (c *Crawl) heed(v *visit, w want, ex robots.Exchange) {
	a, now := v.turn.Authority.Origin(), v.end
	if !w.ofAsked && w.need.URL != c.gate.terms.Need(v.state, a, now).URL {
		return
	}
	ex.URL = policyURL(v.turn.Authority)
	read, _ := c.gate.terms.Next(robots.State{}, a, ex, now)
	digest, ruled := read.Body()
	if !ruled {
		v.hearsay(read, now)
		v.knows(v.rules)
		return
	}
	book := c.gate.learn(digest, ex.Body)
	v.memory.Hearsay.Hear(host.Asked(book), read.Expires())
	v.knows(rules{book: book})
	v.rest.AtLeast(v.pace)
	c.bear(v)
}

// hearsay forgets what robots.txt asked for when it was read for another host, if s says that no such text holds any more.
func (v *visit) hearsay(s robots.State, now time.Time) {
	switch {
	case s.Failures() > 0:
		v.memory.Hearsay.Fail(now)
	case s.Hops() == 0:
		v.memory.Hearsay.Forget()
	}
}
