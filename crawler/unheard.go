package crawler

import (
	"fmt"
	"time"

	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// Archive and ledger are durable before the frontier's commit (Barrier), so that a kill between the two leaves exchanges
// which the frontier does not know of. That they are made again cannot be helped; but what their answers asked for, a
// Retry-After above all, is in the ledger and binds the run that follows (politeness rule 17: no park is forgotten).

// unheard is the last rest of a host by the ledger.
type unheard struct {
	end  time.Time // of the exchange that imposed it
	rest host.Pace
	why  string
}

// until is when it is over.
func (u unheard) until() time.Time { return u.end.Add(u.rest.Pause) }

// maxUnheard bounds how many hosts are remembered. A ledger of ours names far fewer within an hour of its end.
const maxUnheard = 1 << 18

// readUnheard reads, after a kill, which hosts rest by the ledger. Whether the frontier knows is seen at each host's turn.
func (c *Crawl) readUnheard() (map[canon.Authority]unheard, error) {
	if !c.unclean || c.cfg.Rests == nil {
		return nil, nil
	}
	now := time.Now()
	hosts := map[canon.Authority]unheard{}
	for l, err := range c.cfg.Rests {
		if err != nil {
			return nil, fmt.Errorf("crawler: what hosts asked for before the kill: %w", err)
		}
		if l.Status > 0 { // somebody answers, whatever the frontier knows: there is something to wait for
			c.patient.Store(true)
		}
		u, err := canon.Parse(l.URL)
		if err != nil || l.Rest <= 0 || l.Rest > host.LongestAfter {
			continue
		}
		said := unheard{endOf(l), host.Pace{Pause: l.Rest, By: l.RestBy}, whyRests(l)}
		if said.end.After(now) { // a clock was set back
			said.end = now
		}
		a := u.Authority()
		if had, known := hosts[a]; said.until().After(now) && (known && said.until().After(had.until()) || !known && len(hosts) < maxUnheard) {
			hosts[a] = said
		}
	}
	return hosts, nil
}

// endOf is when the attempt of a line was over: of one that reached nobody, when that was decided.
func endOf(l storage.Line) time.Time {
	if l.Began.IsZero() {
		return l.Time
	}
	return l.Began.Add(l.Took)
}

// whyRests says why a host rests, from the line of the exchange that imposed it.
func whyRests(l storage.Line) string {
	why := fmt.Sprintf("status %d", l.Status)
	if l.Status == 0 {
		why = l.Reason
	}
	return why + " before the kill"
}

// recollect sets down in the memory of the host the exchange that the frontier does not know of, if there was one.
func (c *Crawl) recollect(v *visit) {
	said, ok := c.unheard[v.turn.Authority]
	if end := c.clock.Micros(said.end); ok && end > v.memory.LastEnd+roundingOfLines {
		v.memory.LastEnd, v.memory.Due = end, said.rest
	}
}

// roundingOfLines is by how many microseconds the end of an exchange may differ between ledger and frontier.
const roundingOfLines = 10

// rests makes the host wait for what is left of its rest, if nothing was asked of it since, and reports whether any is:
// then the turn is over.
func (c *Crawl) rests(v *visit) bool {
	said, ok := c.unheard[v.turn.Authority]
	left := min(time.Until(said.until()), said.rest.Pause)
	if !ok || left <= 0 || v.memory.LastEnd > c.clock.Micros(said.end)+roundingOfLines {
		return false
	}
	v.rest.Condition, v.rest.Reason = frontier.Parked, said.why
	if left > host.Day {
		v.rest.Condition = frontier.Retired // politeness rule 11
	}
	v.rest.AtLeast(host.Pace{Pause: left, By: said.rest.By})
	return true
}

// imposes puts into a line the rest that its exchange was followed by, as far as it is more than the pace.
func (v *visit) imposes(l *storage.Line) {
	switch v.rest.By {
	case storage.ByRetryAfter, storage.ByErrors, storage.ByRateLimit:
		l.Rest, l.RestBy = v.rest.Wait, v.rest.By
	}
}

// postpones puts into the line of an exchange for robots.txt how long that is left alone, where it cannot be had and its
// schedule asks for more than the answer did (politeness rule 6).
func (c *Crawl) postpones(v *visit, l *storage.Line, w gate.Request, ex robots.Exchange) {
	if w.From != v.turn.Authority {
		return // a hop: the host that it is for rests, not this one
	}
	_, need := c.gate.Terms.Next(v.state, w.From.Origin(), ex, v.end)
	if need.Action == robots.Wait && need.After > l.Rest {
		l.Rest, l.RestBy = need.After, storage.ByRobots
	}
}
