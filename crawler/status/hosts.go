package status

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// standing is what a status says of single hosts.
type standing struct {
	longest []Queue
	resting []Resting
	why     map[string]map[string]int64
}

func (o standing) into(s *Status) { s.Longest, s.Resting, s.Why = o.longest, o.resting, o.why }

// standingOut asks the frontier what stands out among its hosts, and what is remembered of the few that do.
func standingOut(ctx context.Context, f frontier.Reader) (o standing, err error) {
	survey, err := f.Survey(ctx, MaxResting)
	if err != nil {
		return o, err
	}
	now := time.Now()
	for _, h := range survey.Longest[:min(len(survey.Longest), MaxLongest)] {
		whole, ok, err := f.Host(ctx, h.Authority) // a survey has no memory
		if err != nil {
			return o, err
		}
		if ok {
			o.longest = append(o.longest, queueOf(whole, now))
		}
	}
	for _, h := range survey.Shut {
		o.resting = append(o.resting, restingOf(h))
	}
	o.why = map[string]map[string]int64{}
	for c, reasons := range survey.Why {
		o.why[c.String()] = reasons
	}
	for act, n := range survey.Holds {
		if n > 0 {
			o.why[HoldName(act)] = map[string]int64{frontier.ReasonOperator: n}
		}
	}
	return o, nil
}

func queueOf(h frontier.Host, now time.Time) Queue {
	q := Queue{
		Host: h.Authority.Origin(), Pending: h.Pending(), Fetched: h.Outcomes[frontier.Fetched],
		Pace: h.Pace.Seconds(),
	}
	n, err := host.Read(h.Memory)
	if err == nil && n.LastEnd != 0 {
		ago := max(now.Sub(time.UnixMicro(n.LastEnd)), 0).Seconds()
		q.Last = &ago
	}
	q.Addr = n.Spot
	wait := h.Wait
	switch {
	case h.Hold.Act != 0:
		q.State = HoldName(h.Hold.Act)
		wait = max(wait, h.Hold.Wait)
	case h.Condition != frontier.Open:
		q.State = h.Condition.String()
	}
	if q.Never = wait == frontier.Never; !q.Never {
		q.Wait = wait.Seconds()
	}
	return q
}

// restingOf says why a host rests. What the operator commanded comes first: it outlasts what turns say.
func restingOf(h frontier.Host) Resting {
	r := Resting{Host: h.Authority.Origin(), Condition: h.Condition.String(), Reason: h.Reason, Pending: h.Pending()}
	wait := h.Wait
	if h.Hold.Act != 0 {
		r.Condition, r.Reason, wait = HoldName(h.Hold.Act), h.Hold.Reason, h.Hold.Wait
	}
	if wait != frontier.Never {
		r.Wait = wait.Seconds()
	}
	return r
}

// HoldName is what an operator's command makes of a host.
func HoldName(a frontier.Act) string {
	if a == frontier.Drop {
		return "dropped by operator"
	}
	return "parked by operator"
}

// One is one host in full.
type One struct {
	Known bool `json:"known"`
	Row
	Queued   int64            `json:"queued"`
	Deferred int64            `json:"deferred"`
	InFlight int64            `json:"in_flight"`
	Outcomes map[string]int64 `json:"outcomes"`
	Robots   string           `json:"robots,omitempty"` // its robots.txt, at most MaxRobotsText octets of it
	Cut      bool             `json:"robots_cut,omitempty"`
}

// MaxRobotsText is how much of a robots.txt is shown.
const MaxRobotsText = 128 << 10

// One returns what there is to say of one host.
func (l *Live) One(ctx context.Context, a canon.Authority) (One, error) {
	h, ok, err := l.Host(ctx, a)
	if err != nil || !ok {
		return One{Row: Row{Host: a.Origin()}}, err
	}
	o := One{
		Known: true, Row: l.settings.Row(h, time.Now()), Queued: h.Queued, Deferred: h.Deferred, InFlight: h.InFlight,
		Outcomes: map[string]int64{},
	}
	for outcome, n := range h.Outcomes {
		if n > 0 {
			o.Outcomes[frontier.Outcome(outcome).String()] = n
		}
	}
	if len(h.Robots) == 0 {
		return o, nil
	}
	var s robots.State
	if err := s.UnmarshalBinary(h.Robots); err != nil {
		return o, fmt.Errorf("status: %s: robots state: %w", a, err)
	}
	digest, has := s.Body()
	if !has || digest == sha256.Sum256(nil) {
		return o, nil
	}
	body, err := l.frontier.Blob(ctx, digest)
	if err != nil {
		return o, fmt.Errorf("status: %s: robots.txt: %w", a, err)
	}
	o.Cut = len(body) > MaxRobotsText
	o.Robots = string(body[:min(len(body), MaxRobotsText)])
	return o, nil
}

// Look is a running crawl at a glance.
type Look struct {
	Status   Status   `json:"status"`
	Estimate Estimate `json:"estimate"`
	Waits    Waits    `json:"waits"`
	Memory   int64    `json:"memory_bytes,omitempty"` // that the process has of the system
	Workers  int      `json:"workers,omitempty"`      // exchanges at a time, at most
}

// Waits says what keeps the hosts of a crawl that have something pending from their next turn, and which rate their paces
// permit. Each such host is counted once.
type Waits struct {
	Looked int64 `json:"looked"` // hosts that were looked at, the first of the crawl
	Hosts  int64 `json:"hosts"`  // of these, those with something pending: the sum of all below

	InTurn   int64 `json:"in_turn"`  // has its turn now
	Due      int64 `json:"due"`      // may have a turn: it waits for a worker
	Pace     int64 `json:"pace"`     // keeps its pace
	Address  int64 `json:"address"`  // waits for its address, which other hosts share
	Retry    int64 `json:"retry"`    // all that is left of it failed, and is tried again later
	Rest     int64 `json:"rest"`     // rests: Retry-After, failures in a row
	Robots   int64 `json:"robots"`   // its robots.txt cannot be had
	Operator int64 `json:"operator"` // held by the operator
	Shut     int64 `json:"shut"`     // retired or refused

	// Permitted is how many exchanges a second politeness permits now: what the paces of all hosts that are not left alone
	// come to, where hosts at one address share one rate.
	Permitted float64 `json:"permitted_per_s"`
}

// Waits looks at the first hosts of the crawl, of which limited wait for their address.
func (l *Live) Waits(ctx context.Context, limited int64) (Waits, error) {
	w, err := l.waits.get(ctx, l.findWaits)
	if err != nil {
		return w, err
	}
	w.Address = min(limited, w.Pace)
	w.Pace -= w.Address
	return w, nil
}

func (l *Live) findWaits(ctx context.Context) (Waits, error) {
	var w Waits
	rates := map[netip.Prefix]float64{} // by address; those of hosts that share none are under the zero one
	err := EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		w.Looked++
		if h.Pending() == 0 {
			return true
		}
		w.Hosts++
		n, _ := host.Read(h.Memory) // damaged ones are none
		p := l.settings.pacing(h, &n)
		*w.of(h)++
		if takesTurns(h) {
			at := n.Spot
			if p.Own {
				at = netip.Prefix{}
			}
			rates[at] += perSecond(p.Pace, n.Response(), h.Width)
		}
		return true
	})
	for at, rate := range rates {
		if at.IsValid() && l.settings.IPDelay > 0 {
			rate = min(rate, 1/l.settings.IPDelay.Seconds())
		}
		w.Permitted += rate
	}
	return w, err
}

// of is the count that a host belongs to.
func (w *Waits) of(h frontier.Host) *int64 {
	switch {
	case h.Hold.Act != 0:
		return &w.Operator
	case h.Condition == frontier.Retired || h.Condition == frontier.Refused:
		return &w.Shut
	case h.Leased:
		return &w.InTurn
	case h.Wait <= 0:
		return &w.Due
	case h.Condition == frontier.Parked && strings.HasPrefix(h.Reason, "robots"):
		return &w.Robots
	case h.Condition == frontier.Parked:
		return &w.Rest
	case h.Deferred == h.Pending():
		return &w.Retry
	}
	return &w.Pace
}

// takesTurns reports whether a host has its turns at its pace, as far as is known.
func takesTurns(h frontier.Host) bool {
	return h.Hold.Act == 0 && (h.Condition == frontier.Open && h.Deferred < h.Pending() || h.Leased)
}

// perSecond is how many exchanges a second a pace permits. The exchange itself takes its time, which counts from its end.
func perSecond(pace, response time.Duration, width int) float64 {
	each := pace + response
	if each <= 0 {
		return 0 // as fast as it answers: nothing limits it, and nothing is known
	}
	return float64(max(width, 1)) / each.Seconds()
}

// Why says in a sentence why a crawl in that state is no faster, which of late made so many exchanges a second of those that
// were permitted.
func (w Waits) Why(state string, exchanges, permitted float64) string {
	switch {
	case state == "paused":
		return "The crawl is paused: no request starts until you unpause it."
	case state == OutsideWindow:
		return "The crawl is outside its window (--window): no request starts until the window opens."
	case state == "draining":
		return "The crawl is ending: it finishes the requests in flight and starts no others."
	case w.Hosts == 0:
		return "No host has URLs left."
	case w.Due > w.InTurn && w.Due*4 > w.Hosts:
		return "Hosts are due and wait for a worker: the machine or --workers limits, not politeness."
	case permitted > 0 && exchanges >= 0.9*permitted:
		return "The crawl is as fast as politeness permits: only more hosts would make it faster."
	case w.Address*2 > w.Hosts:
		return "Most hosts share addresses, and each address has its own delay (--ip-delay)."
	case w.Robots*2 > w.Hosts:
		return "The robots.txt of most hosts is unavailable, and without it nothing may be fetched."
	case (w.Rest+w.Retry)*2 > w.Hosts:
		return "Most hosts back off after failures, or because they required it."
	case (w.Operator+w.Shut)*2 > w.Hosts:
		return "Most hosts with URLs left are paused by you, retired or refused."
	}
	return "Hosts wait for their delays: see the reason for each."
}
