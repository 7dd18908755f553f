package crawler

import (
	"context"
	"fmt"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Estimate is how long the rest of a crawl takes at least, as far as it is known, and why.
type Estimate struct {
	Known  int64         // URLs discovered so far
	Left   time.Duration // for what is pending now
	Pace   time.Duration // of the host that takes longest
	PaceBy string        // who asked for that pace
	Host   string        // that host
}

// longest is the host that takes longest to be done, of those that turns told of.
type longest struct {
	authority canon.Authority
	need      time.Duration
}

// note takes in a turn. What it found of its own host may be known already: the estimate errs towards the longer.
func (l *longest) note(v *visit) {
	h := v.turn.Host
	n := h.Queued + h.Deferred + int64(len(v.turn.Tasks)-len(v.result.Done))
	for _, next := range v.result.Found {
		if next.URL.Authority() == v.turn.Authority {
			n++
		}
	}
	need := time.Duration(n) * v.pace.Pause
	if v.turn.Authority == l.authority || need > l.need {
		*l = longest{v.turn.Authority, need}
	}
}

// Estimate says how long what is pending takes at the pace of the hosts it belongs to: the longest host queue
// decides, or those of an address that several hosts share, or all of them over the workers. Of a crawl with many hosts it looks at the first ones, and at the one that
// turns of this run showed to take longest. Like Status it may be asked for often.
func (c *Crawl) Estimate(ctx context.Context) (Estimate, error) {
	return c.estimate.ask(ctx, func(ctx context.Context) (Estimate, error) {
		st, err := c.cfg.Frontier.Stats(ctx)
		if err != nil {
			return Estimate{}, err
		}
		e := Estimate{Known: st.Discovered}
		var total time.Duration
		err = eachHost(ctx, c.cfg.Frontier, mostLooked, func(h frontier.Host) bool {
			total += c.estimateHost(&e, h)
			return true
		})
		if err != nil {
			return Estimate{}, err
		}
		e.Left = max(e.Left, total/time.Duration(c.cfg.Workers))
		c.mu.Lock()
		a := c.longest.authority
		c.mu.Unlock()
		if h, ok, err := c.cfg.Frontier.Host(ctx, a); err != nil {
			return Estimate{}, err
		} else if ok {
			c.estimateHost(&e, h)
		}
		all, err := c.sharing.ask(ctx, c.findSharing)
		if err != nil {
			return Estimate{}, err
		}
		if spot, need := all.longest(); need > e.Left {
			e.Left, e.Pace, e.PaceBy, e.Host = need, all.every, string(storage.ByAddress), all.word(spot)
		}
		return e, nil
	})
}

// estimateHost makes h the host that takes longest, if it is, and returns how long the exchanges with it take. A host
// that rests does not count.
func (c *Crawl) estimateHost(e *Estimate, h frontier.Host) (exchanges time.Duration) {
	// A turn costs its pace and the exchange itself, which the response times measure.
	n, _ := host.Read(h.Memory) // damaged ones are none
	exchange := n.Response()
	pace, by := c.cfg.usualPace(h, &n)
	if h.Width > 1 {
		exchange /= time.Duration(h.Width)
	}
	left := time.Duration(h.Pending())
	if isResting(h, pace) {
		return 0 // for how long in the end nobody knows: the status names it
	}
	if need := left*(pace+exchange) + h.Wait; need > e.Left {
		e.Left, e.Pace, e.PaceBy, e.Host = need, pace, by, h.Authority.Origin()
	}
	return left * exchange
}

// usualPace is the pace of a host between two turns, and who asks for it.
func (c Config) usualPace(h frontier.Host, n *host.State) (pace time.Duration, by string) {
	floor := c.floor(h.Authority)
	if c.ownBy(h.Authority, n) {
		floor = c.Delay
	}
	if h.Pace <= floor {
		return floor, string(storage.ByFloor)
	}
	return h.Pace, "asked for by the site"
}

// ownBy reports whether a host is the operator's own, as is remembered of it.
func (c Config) ownBy(a canon.Authority, n *host.State) bool {
	return c.own(a) || c.claimed(a) && n.Proved
}

// isResting reports whether a host is left alone for more than its pace.
func isResting(h frontier.Host, pace time.Duration) bool {
	return h.Hold.Act != 0 || h.Condition != frontier.Open && h.Wait > pace
}

// String says it in one line.
func (e Estimate) String() string {
	if e.Host == "" {
		return "nothing is pending"
	}
	urls := "1 known URL"
	if e.Known != 1 {
		urls = fmt.Sprintf("%d known URLs", e.Known)
	}
	return fmt.Sprintf("about %s for %s; pace %v (%s) at %s", roughly(e.Left), urls, e.Pace, e.PaceBy, e.Host)
}

// roughly rounds a duration to what a person wants to know of it.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24+0.5))
}
