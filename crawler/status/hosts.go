package status

import (
	"context"
	"crypto/sha256"
	"fmt"
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
