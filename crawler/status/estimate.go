package status

import (
	"context"
	"fmt"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/storage"
)

// Estimate is how long the rest of a crawl takes, and why: at least, as far as it is known now, and what is likely.
type Estimate struct {
	Known  int64         // URLs discovered so far
	Left   time.Duration // for what is pending now, or until a budget ends the crawl
	Pace   time.Duration // of the host that takes longest
	PaceBy string        // who asked for that pace
	Host   string        // that host

	// Likely is Left with what will still be found, where the growth of the hosts shows how much that is. Open says that it
	// does not: there will be more, and nobody knows how much.
	Likely   time.Duration
	Expected int64 // URLs in all by then
	Open     bool
	Until    string // the budget that ends the crawl before all is done; empty for none
	AtMost   bool   // nobody knows whether it does: all may be done before
	Within   string // the window in which alone hosts are asked, which all of that takes in; empty for any time
}

// Estimate says how long what is pending takes at the pace of the hosts it belongs to. The longest host queue decides, or
// those of an address that several hosts share, or all of them over the workers. Of a crawl with many hosts it looks at
// the first ones, and at the one that Note showed to take longest.
func (l *Live) Estimate(ctx context.Context) (Estimate, error) {
	return l.estimate.get(ctx, l.findEstimate)
}

func (l *Live) findEstimate(ctx context.Context) (Estimate, error) {
	st, err := l.frontier.Stats(ctx)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Known: st.Discovered}
	var total time.Duration
	var f forecast
	err = EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		n, _ := host.Read(h.Memory) // damaged ones are none
		pace := l.settings.Pacing(h, &n)
		total += e.take(h, &n, pace)
		if h.Pending() > 0 {
			f.take(h, &n, pace, l.curve(h.Authority), &l.settings)
		}
		return true
	})
	if err != nil {
		return Estimate{}, err
	}
	e.Left = max(e.Left, total/time.Duration(l.settings.Workers))
	l.mu.Lock()
	a := l.longest.authority
	l.mu.Unlock()
	if h, ok, err := l.frontier.Host(ctx, a); err != nil {
		return Estimate{}, err
	} else if ok {
		n, _ := host.Read(h.Memory)
		e.take(h, &n, l.settings.Pacing(h, &n))
	}
	all, err := l.Sharing(ctx)
	if err != nil {
		return Estimate{}, err
	}
	if addr, need := all.longest(); need > e.Left {
		e.Left, e.Pace, e.PaceBy, e.Host = need, all.every, string(storage.ByAddress), all.word(addr)
	}
	w := l.budget().Window
	e.Left, e.Within = w.Takes(time.Now(), e.Left), w.String()
	l.foretell(&f, st, &e)
	return e, nil
}

// take makes h the host that takes longest, if it is, and returns how long the exchanges with it take. A host that rests
// does not count.
func (e *Estimate) take(h frontier.Host, n *host.State, p Pacing) (exchanges time.Duration) {
	// A turn costs its pace and the exchange itself, which the response times measure.
	exchange := n.Response()
	if h.Width > 1 {
		exchange /= time.Duration(h.Width)
	}
	left := time.Duration(h.Pending())
	if isResting(h, p.Pace) {
		return 0 // for how long in the end nobody knows: the status names it
	}
	if need := left*(p.Pace+exchange) + h.Wait; need > e.Left {
		e.Left, e.Pace, e.PaceBy, e.Host = need, p.Pace, p.By, h.Authority.Origin()
	}
	return left * exchange
}

// isResting reports whether a host is left alone for more than its pace.
func isResting(h frontier.Host, pace time.Duration) bool {
	return h.Hold.Act != 0 || h.Condition != frontier.Open && h.Wait > pace
}

// Rest is how long the rest of the crawl takes, as people are told beside it: what is likely.
func (e Estimate) Rest() time.Duration { return max(e.Likely, e.Left) }

// RestText is Rest in words, and what is to be said with it.
func (e Estimate) RestText() (left, more string) {
	left = e.about() + " " + Roughly(e.Rest()) + " left"
	switch {
	case e.Open:
		more = ", more may be found"
	case e.Until != "":
		more = ", by --" + e.Until
	}
	return left, more
}

// about says which bound of the rest is known.
func (e Estimate) about() string {
	switch {
	case e.Open:
		return "at least"
	case e.AtMost:
		return "at most"
	}
	return "about"
}

// String says it in one line: what is likely, or the least where nobody knows how much will be found.
func (e Estimate) String() string {
	if e.Host == "" {
		return "nothing is pending"
	}
	urls := "1 known URL"
	if e.Known != 1 {
		urls = fmt.Sprintf("%d known URLs", e.Known)
	}
	if e.Within != "" {
		urls += ", within " + e.Within
	}
	switch {
	case e.Until != "":
		urls += ", until --" + e.Until
	case e.Open:
		urls += ", more may be found"
	case e.Expected > e.Known:
		urls += fmt.Sprintf(" and %d expected ones", e.Expected-e.Known)
	}
	return fmt.Sprintf("%s %s for %s; pace %v (%s) at %s", e.about(), Roughly(e.Rest()), urls, e.Pace, e.PaceBy, e.Host)
}

// Roughly rounds a duration to what a person wants to know of it.
func Roughly(d time.Duration) string {
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

// NotDue is why an open host waits for longer than its delay: a back-off of an earlier run, a quota, an address it shares.
const NotDue = "its next request is not due yet"

// Left lists all hosts that have something left to do, with why nothing is done of it now.
func Left(ctx context.Context, f frontier.Reader) ([]Resting, error) {
	var out []Resting
	err := EachHost(ctx, f, 0, func(h frontier.Host) bool {
		r := restingOf(h)
		switch {
		case r.Pending == 0:
			return true
		case h.Condition != frontier.Open || h.Hold.Act != 0:
		case h.Deferred == r.Pending:
			r.Reason = "its URLs wait to be tried again"
		case h.Wait > h.Pace:
			r.Reason = NotDue
		default:
			r.Reason = "its pace"
		}
		out = append(out, r)
		return true
	})
	return out, err
}
