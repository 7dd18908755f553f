package crawler

import (
	"context"
	"errors"
	"time"

	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/robots"
)

const (
	leastPoll   = 100 * time.Millisecond // between two looks at another authority, whatever its pace
	reasonMoved = "robots.txt redirects to "
)

// fetchElsewhere sees to it that a hop which leads to another authority is made there. It is ready where that
// cannot be now, and the policy at hand holds for a while yet.
func (c *policies) fetchElsewhere(ctx context.Context, v *visit, w gate.Request) (adm admission, err error) {
	a := w.URL.Authority()
	there, known, err := c.cfg.Frontier.Host(ctx, a)
	if err != nil {
		return adm, err
	}
	ready := w.Need.Action == robots.Refresh
	again := max(there.Wait, c.cfg.floor(a), leastPoll)
	switch {
	case there.Elsewhere: // its owner does not lend it
		if !ready {
			v.leaveAlone(frontier.Retired, reasonMoved+a.Origin()+", which another member of the fleet owns", 0)
		}
	case known && there.Condition > frontier.Parked:
		if !ready {
			v.leaveAlone(frontier.Retired, reasonMoved+a.Origin()+", which is closed: "+there.Reason, 0)
		}
	case known && there.Hold.Act != 0:
		if !ready { // it may be let go at any time
			v.leaveAlone(frontier.Parked, reasonMoved+a.Origin()+", which the operator holds", holdRest(there.Hold))
		}
	case known && (there.Wait > 0 || there.Leased) || !c.redirects.HasRoom():
		c.redirects.Add(w)
		if there.Condition == frontier.Parked && !ready {
			v.leaveAlone(frontier.Parked, reasonMoved+a.Origin()+", which rests: "+there.Reason, 0)
		}
	default:
		adm.then, ready = &w, false
	}
	if !ready {
		v.rest.Wait = max(v.rest.Wait, again)
	}
	adm.ready = ready
	return adm, nil
}

// holdRest is how long a host rests whose robots.txt leads to one that the operator holds.
func holdRest(h frontier.Hold) time.Duration {
	if h.Act == frontier.Park {
		return min(h.Wait, host.LongestRest)
	}
	return host.LongestRest
}

// hop leases the authority that a request leads to and makes the exchange.
func (c *Crawl) hop(ctx context.Context, slot *record.Slot, w gate.Request) error {
	turn, err := c.cfg.Frontier.ClaimAuthority(ctx, w.URL.Authority())
	if errors.Is(err, frontier.ErrNotDue) {
		c.policies.redirects.Add(w)
		return nil
	}
	if err != nil {
		return err
	}
	_, err = c.take(ctx, slot, turn, func(ctx context.Context, there *visit) (*gate.Request, error) {
		return nil, c.policies.serve(ctx, there, w)
	})
	return err
}

// serve makes the exchange of another host's request in the turn of the host that it leads to, if that is due.
func (c *policies) serve(ctx context.Context, there *visit, w gate.Request) error {
	if err := c.recall(ctx, there); err != nil {
		return err
	}
	if left, ok := c.rests.Left(there.turn.Authority, &there.memory, there.clock); ok { // as in admit
		there.rest = left
		c.redirects.PutBack(w)
		return nil
	}
	if owed := there.owed(); owed > 0 {
		there.rest.Wait = owed
		c.redirects.PutBack(w)
		return nil
	}
	return c.fetchFor(ctx, there, w)
}

// fetchFor makes the exchange of another host's want under the lease of v.
func (c *policies) fetchFor(ctx context.Context, v *visit, w gate.Request) error {
	got, err := c.askPolicy(ctx, v, w)
	switch {
	case err != nil:
		return err
	case got.asked:
		c.heedPace(v, w, got.Exchange)
		c.redirects.Deliver(w.From, got.Answer)
	default:
		c.redirects.PutBack(w)
	}
	return nil
}

// heedPace keeps the pace that the robots.txt of the host asked has, which was read for another host: the host's own policy may
// be unknown yet, or an older one. A redirect makes it no policy (RFC 9309 2.3.1.2 speaks of the initial authority alone).
func (c *policies) heedPace(v *visit, w gate.Request, ex robots.Exchange) {
	a, now := v.turn.Authority.Origin(), v.end
	if !w.ByAsked && w.Need.URL != c.gate.Terms.Need(v.state, a, now).URL {
		return
	}
	ex.URL = gate.PolicyURL(v.turn.Authority)
	read, _ := c.gate.Terms.Next(robots.State{}, a, ex, now)
	digest, ruled := read.Body()
	if !ruled {
		v.hearsay(read, now)
		v.setRules(v.rules)
		return
	}
	book := c.gate.Learn(digest, ex.Body)
	v.memory.Hearsay.Hear(host.Asked(book), read.Expires())
	v.setRules(gate.Rules{Book: book})
	v.rest.AtLeast(v.pace)
	c.leaveIfTooSlow(v)
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
